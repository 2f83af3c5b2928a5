"""Indexing a version of a corpus ahead of the jobs that read it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import Priority

with workflow.unsafe.imports_passed_through():
    from workflows.config.policies import SUBAGENT_QUEUE, ActivityPolicy
    from workflows.contracts.activity_io import OpenCorpus
    from workflows.contracts.request import TASK_QUEUE
    from workflows.contracts.state import CorpusReady, Timing
    from workflows.stages import corpus_opening


_HEARTBEAT = timedelta(seconds=Timing().heartbeat_seconds)


@workflow.defn(name="CorpusWorkflow")
class CorpusWorkflow:
    @workflow.init
    def __init__(self, brief: OpenCorpus) -> None:
        self._progress = CorpusReady()

    @workflow.run
    async def run(self, brief: OpenCorpus) -> CorpusReady:
        return await corpus_opening.open_corpus(call_activity, brief, self._report)

    @workflow.query
    def progress(self) -> CorpusReady:
        return self._progress

    def _report(self, files: int, parsed: int) -> None:
        self._progress = CorpusReady(files=files, files_parsed=parsed)


async def call_activity(
    activity: Any,
    brief: Any,
    policy: ActivityPolicy,
    summary: str,
    priority: Priority = Priority.default,
    heartbeat: timedelta = _HEARTBEAT,
) -> Any:
    """Call an activity for a workflow that is no job."""
    # Another queue than that of all workers belongs to one worker, which runs everything on it.
    own = workflow.info().task_queue
    return await workflow.execute_activity_method(
        activity,
        brief,
        task_queue=SUBAGENT_QUEUE if own == TASK_QUEUE else own,
        start_to_close_timeout=policy.start_to_close,
        schedule_to_close_timeout=policy.schedule_to_close,
        heartbeat_timeout=heartbeat,
        retry_policy=policy.retry_policy,
        summary=summary,
        priority=priority,
    )
