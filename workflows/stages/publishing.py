"""Publishing: put the report together, compare a scheduled one with the last, and store it."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow

from workflows.config.policies import ActivityPolicy
from workflows.config.store_keys import report_key
from workflows.contracts.activity_io import CompareBrief, KeepReport, PublishBrief
from workflows.contracts.messages import FINISHED
from workflows.contracts.result import ResearchResult, ResearchSummary
from workflows.contracts.state import Phase, PreviousRef
from workflows.rules.report_pages import summarize_result
from workflows.stages.activity_interfaces import RecordActivities
from workflows.stages.checkpoints import notify_callers
from workflows.stages.execution import SHORT_WRITE, Execution

PUBLISHING = ActivityPolicy(
    start_to_close=timedelta(minutes=10),
    schedule_to_close=timedelta(minutes=40),
    attempts=10,
    queue="coordinator",
)


def find_previous_report(execution: Execution) -> None:
    """Note where the report of a schedule's last run is, which `publish` compares with.

    In the state, because a restart or a continued run is not told again.
    """
    state = execution.state
    if not state.request.report_changes or state.previous is not None:
        return
    if workflow.has_last_completion_result():
        last = workflow.get_last_completion_result(dict) or {}
        if key := (last.get("report") or {}).get("key"):
            state.previous = PreviousRef(key=key)


async def publish(execution: Execution, seconds: float) -> tuple[ResearchResult, ResearchSummary]:
    """Put the full report together and store it; also returns what the workflow returns."""
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
    report = await execution.call_local(
        RecordActivities.keep_report,
        KeepReport(key=report_key(state.id, state.version, workflow.info().run_id), result=result),
        SHORT_WRITE,
        "store the report",
    )
    await notify_callers(execution, FINISHED)
    return result, summarize_result(result, report)
