"""Publishing: put the result together; for a scheduled job, compare it with the last run's."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow

from workflows.config.policies import ActivityPolicy
from workflows.config.store_keys import previous_key
from workflows.contracts.activity_io import CompareBrief, KeepPrevious, PublishBrief
from workflows.contracts.messages import FINISHED
from workflows.contracts.result import ResearchResult
from workflows.contracts.state import Phase, PreviousRef
from workflows.stages.activity_interfaces import RecordActivities
from workflows.stages.checkpoints import notify_callers
from workflows.stages.execution import SHORT_WRITE, Execution

PUBLISHING = ActivityPolicy(
    start_to_close=timedelta(minutes=10),
    schedule_to_close=timedelta(minutes=40),
    attempts=10,
    queue="coordinator",
)


async def keep_previous_result(execution: Execution) -> None:
    """Store the result of a schedule's last run, which `publish` compares with.

    It has to be in the store: a restart or a continued run does not receive it again.
    """
    state = execution.state
    if not state.request.report_changes or state.previous is not None:
        return
    if workflow.has_last_completion_result():
        key = previous_key(state.id, workflow.info().run_id)
        last = workflow.get_last_completion_result(dict)
        await execution.call_local(
            RecordActivities.keep_previous,
            KeepPrevious(key=key, result=last or {}),
            SHORT_WRITE,
            "keep the last run's result",
        )
        state.previous = PreviousRef(key=key)


async def publish(execution: Execution, seconds: float) -> ResearchResult:
    state = execution.state
    state.phase = Phase.FINISHED
    result = await execution.call_mechanical(
        RecordActivities.publish,
        PublishBrief(state=state, seconds=seconds),
        PUBLISHING,
        "put the report together",
    )
    if state.previous is not None:
        result = await execution.call(
            RecordActivities.compare,
            CompareBrief(previous=state.previous, result=result),
            PUBLISHING,
            "compare with the last run",
        )
    await notify_callers(execution, FINISHED)
    return result
