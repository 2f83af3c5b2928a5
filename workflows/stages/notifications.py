"""What others are told of a job: lists and the Temporal UI, callers, webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception

from workflows.contracts.messages import WEBHOOK_ID, WEBHOOK_WORKFLOW, CheckpointReached, Delivery
from workflows.contracts.state import Blocked, ResearchState
from workflows.rules.gaps import open_gaps
from workflows.rules.status import render_details, summarize_status

PHASE = SearchAttributeKey.for_keyword("ResearchPhase")
STATUS = SearchAttributeKey.for_keyword("ResearchStatus")
MODEL = SearchAttributeKey.for_keyword("ResearchModel")
TENANT = SearchAttributeKey.for_keyword("ResearchTenant")
LABELS_MEMO = "labels"
"""Who may not see all of a job's labels may not see the job."""
BLOCKED_MEMO = "blocked"
"""Why a job waits. Lists read it from the memo, so no worker has to answer a query."""


class Visibility:
    """Shows the state of a job. Search attributes are not encrypted: nothing secret goes there."""

    def __init__(self) -> None:
        self._shown: dict[SearchAttributeKey[str], str] = {}
        self._blocked: Blocked | None = None

    def update(self, state: ResearchState) -> None:
        workflow.set_current_details(render_details(state))
        if state.request.labels and LABELS_MEMO not in workflow.memo():
            workflow.upsert_memo({LABELS_MEMO: list(state.request.labels)})
        if state.blocked != self._blocked:
            self._blocked = state.blocked
            blocked = state.blocked.model_dump(mode="json") if state.blocked else None
            workflow.upsert_memo({BLOCKED_MEMO: blocked})
        self._set(
            {
                PHASE: state.phase,
                STATUS: summarize_status(state),
                MODEL: state.request.model,
                TENANT: state.request.tenant,
            }
        )

    @contextmanager
    def record_end(self) -> Iterator[None]:
        """Set the status to how the body ended: lists must not show a closed job as running."""
        try:
            yield
        except (asyncio.CancelledError, FailureError) as error:
            self._set({STATUS: "cancelled" if is_cancelled_exception(error) else "failed"})
            raise
        self._set({STATUS: "completed"})

    def _set(self, values: dict[SearchAttributeKey[str], str]) -> None:
        """Set what differs; an empty value is not set at all."""
        changed = {
            key: value for key, value in values.items() if value and self._shown.get(key) != value
        }
        if changed:
            self._shown |= changed
            workflow.upsert_search_attributes(
                [key.value_set(value) for key, value in changed.items()]
            )


async def notify_callers(state: ResearchState, checkpoint: str) -> None:
    """Signal the callers who asked for it. A caller that is gone does not stop the job."""
    callers = (*((state.request.notify,) if state.request.notify else ()), *state.listeners)
    reached = _describe(state, checkpoint)
    for caller in callers:
        handle = workflow.get_external_workflow_handle(caller.workflow_id, run_id=caller.run_id)
        try:
            await handle.signal(caller.signal, reached)
        except ApplicationError as error:
            workflow.logger.info("a caller was not reached at %s: %s", checkpoint, error)
    await send_webhook(state, checkpoint)


async def send_webhook(state: ResearchState, event: str) -> None:
    """Start a delivery, which is retried by itself: the job does not wait for it."""
    if state.request.webhook is None:
        return
    delivery = Delivery(
        id=str(workflow.uuid4()), url=state.request.webhook, event=_describe(state, event)
    )
    await workflow.start_child_workflow(
        WEBHOOK_WORKFLOW,
        delivery,
        id=f"{state.id}{WEBHOOK_ID}{delivery.id}",
        parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        static_summary=f"tell {delivery.host} of {event}",
    )


def _describe(state: ResearchState, event: str) -> CheckpointReached:
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
