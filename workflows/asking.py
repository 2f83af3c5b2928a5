"""Short workflows beside a job: what a vague question leaves open, before it starts; a question to
its report answered, two reports compared, after it has ended.

They are no part of the job's history.
"""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority

with workflow.unsafe.imports_passed_through():
    from workflows.config.policies import ActivityPolicy
    from workflows.contracts.activity_io import Job, OpenCorpus
    from workflows.contracts.asking import (
        Answer,
        AskRequest,
        Clarification,
        ClarifyRequest,
        CompareReports,
        Comparison,
    )
    from workflows.contracts.spend import Allowance
    from workflows.contracts.state import ResearchState
    from workflows.corpus_indexing import call_activity
    from workflows.stages import corpus_opening
    from workflows.stages.activity_interfaces import (
        AskingActivities,
        PlanningActivities,
        RecordActivities,
    )

ASKING = ActivityPolicy(
    start_to_close=timedelta(minutes=5), schedule_to_close=timedelta(minutes=10), attempts=4
)
CLARIFYING = ActivityPolicy(
    start_to_close=timedelta(seconds=30), schedule_to_close=timedelta(minutes=1), attempts=3
)
MAX_CLARIFYING = Allowance(usd=0.05, tokens=40_000)
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


@workflow.defn(name="ClarifyWorkflow")
class ClarifyWorkflow:
    @workflow.run
    async def run(self, asked: ClarifyRequest) -> Clarification:
        request = asked.request
        # The job finds the documents indexed.
        ready = await corpus_opening.open_corpus(
            call_activity,
            OpenCorpus(corpus=request.corpus, labels=request.labels),
            lambda _files, _parsed: None,
        )
        state = ResearchState(
            id=workflow.info().workflow_id,
            journal=asked.job_id,
            request=request,
            started_at=workflow.now().isoformat(),
            corpus=ready,
        )
        priority = Priority(priority_key=_SOONER, fairness_key=request.tenant or None)
        clarification: Clarification = await call_activity(
            PlanningActivities.clarify,
            Job.of(state, MAX_CLARIFYING),
            CLARIFYING,
            "find what the question leaves open",
            priority,
            _HEARTBEAT,
        )
        return clarification
