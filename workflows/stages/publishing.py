"""Publishing: the report is put together, compared with a schedule's last one, and stored."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow

from workflows.config.policies import ActivityPolicy
from workflows.config.store_keys import report_key
from workflows.contracts.activity_io import PublishBrief
from workflows.contracts.messages import FINISHED
from workflows.contracts.result import ResearchResult, ResearchSummary
from workflows.contracts.state import Phase
from workflows.rules.report_paging import summarize_result
from workflows.stages.activity_interfaces import RecordActivities
from workflows.stages.execution import Execution
from workflows.stages.notifications import notify_callers

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
    if not state.request.report_changes or state.previous:
        return
    if workflow.has_last_completion_result():
        last = workflow.get_last_completion_result(dict) or {}
        state.previous = (last.get("report") or {}).get("key") or ""


async def publish(execution: Execution, seconds: float) -> tuple[ResearchResult, ResearchSummary]:
    """The full report, which is stored, and what the workflow returns."""
    state = execution.state
    state.phase = Phase.FINISHED
    key = report_key(state.id, state.version, workflow.info().run_id)
    published = await execution.call_mechanical(
        RecordActivities.publish,
        PublishBrief(state=state, seconds=seconds, key=key),
        PUBLISHING,
        "put the report together and store it",
    )
    await notify_callers(state, FINISHED)
    return published.result, summarize_result(published.result, published.report)
