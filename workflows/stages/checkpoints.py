"""Checkpoints: the whole state stored under a name, and the callers who are told of it."""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows.config.store_keys import checkpoint_key
from workflows.contracts.activity_io import KeepCheckpoint
from workflows.contracts.messages import WEBHOOK_ID, WEBHOOK_WORKFLOW, CheckpointReached, Delivery
from workflows.contracts.state import Checkpoint
from workflows.rules.gaps import open_gaps
from workflows.stages.activity_interfaces import RecordActivities
from workflows.stages.execution import SHORT_WRITE, Execution


async def save_checkpoint(execution: Execution, name: str) -> None:
    """Store the state under a name that `restart` and `fork` can start from."""
    state = execution.state
    key = checkpoint_key(state.id, workflow.info().run_id, len(state.checkpoints), name)
    state.checkpoints += (
        Checkpoint(
            name=name,
            phase=state.phase,
            at=workflow.now().isoformat(),
            turns=state.spend.turns,
            usd=state.spend.usd,
            key=key,
        ),
    )
    kept_at = await execution.call_local(
        RecordActivities.keep_checkpoint,
        KeepCheckpoint(key=key, state=state),
        SHORT_WRITE,
        f"save the checkpoint {name}",
    )
    # A run that was reset replays this: the checkpoint is under the run that stored it.
    state.checkpoints = tuple(
        point.model_copy(update={"key": kept_at}) if point.key == key else point
        for point in state.checkpoints
    )
    await notify_callers(execution, name)


async def notify_callers(execution: Execution, checkpoint: str) -> None:
    """Signal the callers who asked for it. A caller that is gone does not stop the job."""
    state = execution.state
    callers = (*((state.request.notify,) if state.request.notify else ()), *state.listeners)
    reached = _describe(execution, checkpoint)
    for caller in callers:
        handle = workflow.get_external_workflow_handle(caller.workflow_id, run_id=caller.run_id)
        try:
            await handle.signal(caller.signal, reached)
        except ApplicationError as error:
            workflow.logger.info("a caller was not reached at %s: %s", checkpoint, error)
    await send_webhook(execution, checkpoint)


async def send_webhook(execution: Execution, event: str) -> None:
    """Start a delivery, which is retried by itself: the job does not wait for it."""
    state = execution.state
    if state.request.webhook is None:
        return
    delivery = Delivery(
        id=str(workflow.uuid4()), url=state.request.webhook, event=_describe(execution, event)
    )
    await workflow.start_child_workflow(
        WEBHOOK_WORKFLOW,
        delivery,
        id=f"{state.id}{WEBHOOK_ID}{delivery.id}",
        parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        static_summary=f"tell {delivery.host} of {event}",
    )


def _describe(execution: Execution, event: str) -> CheckpointReached:
    state = execution.state
    return CheckpointReached(
        job_id=state.id,
        run_id=workflow.info().run_id,
        checkpoint=event,
        phase=state.phase,
        at=workflow.now().isoformat(),
        turns=state.spend.turns,
        usd=state.spend.usd,
        gaps_open=len(open_gaps(state.gaps)),
    )
