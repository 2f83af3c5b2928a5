"""Short workflows over finished reports: a question answered, two reports compared.

They are no part of a job's history: a job may be asked after it has ended, as often as people like.
"""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority

with workflow.unsafe.imports_passed_through():
    from workflows.config.policies import ActivityPolicy
    from workflows.contracts.asking import Answer, AskRequest, CompareReports, Comparison
    from workflows.corpus_indexing import call_activity
    from workflows.stages.activity_interfaces import AskingActivities, RecordActivities

ASKING = ActivityPolicy(
    start_to_close=timedelta(minutes=5), schedule_to_close=timedelta(minutes=10), attempts=4
)
_SOONER, _HEARTBEAT = 2, timedelta(seconds=10)
"""A person waits for the answer: it goes before the work of jobs, which has priority 3, and a
worker that died is noticed sooner."""


@workflow.defn(name="AskWorkflow")
class AskWorkflow:
    @workflow.run
    async def run(self, request: AskRequest) -> Answer:
        priority = Priority(priority_key=_SOONER, fairness_key=request.tenant or None)
        answer: Answer = await call_activity(
            AskingActivities.ask, request, ASKING, "answer from the ledger", priority, _HEARTBEAT
        )
        return answer


@workflow.defn(name="CompareWorkflow")
class CompareWorkflow:
    @workflow.run
    async def run(self, request: CompareReports) -> Comparison:
        found: Comparison = await call_activity(
            RecordActivities.compare_reports, request, ASKING, "compare two reports"
        )
        return found
