"""Workflows beside the jobs: indexing, clarifying a question, asking reports, webhooks, retention.

None of them is a part of a job's history: a report may be asked after its job has ended, and a
message to a webhook is delivered when its receiver is there again.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy

with workflow.unsafe.imports_passed_through():
    from workflows.config.policies import SUBAGENT_QUEUE, ActivityPolicy
    from workflows.contracts.activity_io import Job, OpenCorpus, RetentionBrief, RetentionResult
    from workflows.contracts.asking import (
        Answer,
        AskRequest,
        Clarification,
        ClarifyRequest,
        CompareReports,
        Comparison,
    )
    from workflows.contracts.messages import WEBHOOK_WORKFLOW, Delivery
    from workflows.contracts.request import TASK_QUEUE
    from workflows.contracts.spend import Allowance
    from workflows.contracts.state import CorpusReady, ResearchState, Timing
    from workflows.stages.activity_interfaces import (
        AskingActivities,
        PlanningActivities,
        RecordActivities,
        WebhookActivities,
    )
    from workflows.stages.planning import index_corpus

ASKING = ActivityPolicy(
    start_to_close=timedelta(minutes=5), schedule_to_close=timedelta(minutes=10), attempts=4
)
CLARIFYING = ActivityPolicy(
    start_to_close=timedelta(seconds=30), schedule_to_close=timedelta(minutes=1), attempts=3
)
MAX_CLARIFYING = Allowance(usd=0.05, tokens=40_000)
# An attempt that was cut off left less to do for the next one.
RETENTION = ActivityPolicy(
    start_to_close=timedelta(hours=12),
    schedule_to_close=timedelta(hours=20),
    attempts=5,
    queue="coordinator",
)
REFUSED = "webhook_refused"
"""The error type of a delivery that no attempt can make."""
_HEARTBEAT = timedelta(seconds=Timing().heartbeat_seconds)


@workflow.defn(name="CorpusWorkflow")
class CorpusWorkflow:
    """Indexes a version of a corpus ahead of the jobs that read it."""

    @workflow.init
    def __init__(self, brief: OpenCorpus) -> None:
        self._progress = CorpusReady()

    @workflow.run
    async def run(self, brief: OpenCorpus) -> CorpusReady:
        return await index_corpus(_call, brief, self._report)

    @workflow.query
    def progress(self) -> CorpusReady:
        return self._progress

    def _report(self, files: int, parsed: int) -> None:
        self._progress = CorpusReady(files=files, files_parsed=parsed)


@workflow.defn(name="AskWorkflow")
class AskWorkflow:
    @workflow.run
    async def run(self, request: AskRequest) -> Answer:
        answer: Answer = await _call_soon(
            AskingActivities.ask, request, ASKING, "answer from the ledger", request.tenant
        )
        return answer


@workflow.defn(name="CompareWorkflow")
class CompareWorkflow:
    @workflow.run
    async def run(self, request: CompareReports) -> Comparison:
        found: Comparison = await _call(
            RecordActivities.compare_reports, request, ASKING, "compare two reports"
        )
        return found


@workflow.defn(name="ClarifyWorkflow")
class ClarifyWorkflow:
    @workflow.run
    async def run(self, asked: ClarifyRequest) -> Clarification:
        request = asked.request
        # The job finds the documents indexed.
        ready = await index_corpus(
            _call,
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
        brief = Job.of(state, MAX_CLARIFYING)
        what = "find what the question leaves open"
        clarification: Clarification = await _call_soon(
            PlanningActivities.clarify, brief, CLARIFYING, what, request.tenant
        )
        return clarification


@workflow.defn(name="RetentionWorkflow")
class RetentionWorkflow:
    """Deletes what is too old in the store; started by a schedule that workers create."""

    @workflow.run
    async def run(self, brief: RetentionBrief) -> RetentionResult:
        deleted: RetentionResult = await _call(
            RecordActivities.delete_old_objects, brief, RETENTION, "delete what is too old"
        )
        return deleted


@workflow.defn(name=WEBHOOK_WORKFLOW)
class WebhookWorkflow:
    @workflow.run
    async def run(self, delivery: Delivery) -> int:
        """The HTTP status that the receiver accepted it with."""
        return await workflow.execute_activity_method(
            WebhookActivities.deliver,
            delivery,
            start_to_close_timeout=timedelta(seconds=30),
            schedule_to_close_timeout=timedelta(days=3),
            retry_policy=RetryPolicy(
                initial_interval=timedelta(seconds=1),
                maximum_interval=timedelta(hours=1),
                non_retryable_error_types=[REFUSED],
            ),
            summary=f"tell {delivery.host} of {delivery.event.checkpoint}",
        )


async def _call_soon(
    activity: Any, brief: Any, policy: ActivityPolicy, summary: str, tenant: str
) -> Any:
    """A person waits for the answer: it goes before the work of jobs, which has priority 3, and a
    worker that died is noticed sooner."""
    priority = Priority(priority_key=2, fairness_key=tenant or None)
    return await _call(activity, brief, policy, summary, priority, timedelta(seconds=10))


async def _call(
    activity: Any,
    brief: Any,
    policy: ActivityPolicy,
    summary: str,
    priority: Priority = Priority.default,
    heartbeat: timedelta = _HEARTBEAT,
) -> Any:
    own = workflow.info().task_queue
    # Another queue than that of all workers belongs to one worker, which runs everything on it.
    is_shared = own == TASK_QUEUE and policy.queue == "subagents"
    return await workflow.execute_activity_method(
        activity,
        brief,
        task_queue=SUBAGENT_QUEUE if is_shared else own,
        start_to_close_timeout=policy.start_to_close,
        schedule_to_close_timeout=policy.schedule_to_close,
        heartbeat_timeout=heartbeat,
        retry_policy=policy.retry_policy,
        summary=summary,
        priority=priority,
    )
