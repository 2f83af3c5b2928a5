"""Workflows of other teams, for the tests: two that ask, one that listens, and one that meddles."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from workflows.contracts.facets import Effort
    from workflows.contracts.messages import Notify
    from workflows.contracts.nexus import (
        ENDPOINT,
        GetReport,
        ResearchId,
        ResearchService,
        StartResearch,
    )
    from workflows.contracts.request import TASK_QUEUE, ResearchRequest
    from workflows.coordinator import ResearchWorkflow


@workflow.defn
class Briefing:
    """Another team's workflow, which needs something looked up on its way."""

    @workflow.run
    async def run(self, question: str, corpus: str) -> str:
        result = await workflow.execute_child_workflow(
            ResearchWorkflow.run,
            args=[ResearchRequest(question=question, corpus=corpus, effort=Effort.QUICK)],
            id=f"{workflow.info().workflow_id}/research",
            task_queue=TASK_QUEUE,
        )
        return f"{result.status}: {result.claims} claims, {result.sources} sources"


@workflow.defn
class Inquiry:
    """A workflow of another team. It knows the contract and the endpoint, nothing else."""

    def __init__(self) -> None:
        self._seen = ""

    @workflow.run
    async def run(self, question: str, corpus: str) -> str:
        service = workflow.create_nexus_client(service=ResearchService, endpoint=ENDPOINT)
        request = ResearchRequest(question=question, corpus=corpus, effort=Effort.QUICK)
        # Its own id names the research too, for `status` and for whoever looks at both namespaces.
        name = workflow.info().workflow_id
        research = await service.start_operation(
            ResearchService.start,
            StartResearch(request=request, id=name),
            schedule_to_close_timeout=timedelta(hours=6),
        )
        status = await service.execute_operation(
            ResearchService.status,
            ResearchId(id=name),
            schedule_to_close_timeout=timedelta(minutes=5),
        )
        self._seen = f"research {name} is {status.phase}"
        result = await research
        report = await self._read_report(service, name, result.report.pages)
        return f"{result.status}: {result.claims} claims, {len(report['sources'])} sources"

    async def _read_report(
        self, service: workflow.NexusClient[ResearchService], name: str, pages: int
    ) -> dict[str, Any]:
        """The full report, as JSON text in pages."""
        parts = [
            await service.execute_operation(
                ResearchService.report,
                GetReport(id=name, page=page),
                schedule_to_close_timeout=timedelta(minutes=5),
            )
            for page in range(pages)
        ]
        report: dict[str, Any] = json.loads("".join(part.text for part in parts))
        return report

    @workflow.update
    async def begun(self) -> str:
        """Waits until the research has begun, and says where it stood then."""
        await workflow.wait_condition(lambda: bool(self._seen))
        return self._seen


@workflow.defn
class Listener:
    """Writes down what it hears until the job is finished."""

    def __init__(self) -> None:
        self._heard: list[str] = []

    @workflow.signal
    def research_checkpoint(self, reached: dict[str, Any]) -> None:
        self._heard.append(reached["checkpoint"])

    @workflow.run
    async def run(self) -> list[str]:
        await workflow.wait_condition(lambda: "finished" in self._heard)
        return self._heard


@workflow.defn
class Meddler:
    """Says one word to the service, about a job that may not be its own."""

    @workflow.run
    async def run(self, word: str, about: str) -> str:
        service = workflow.create_nexus_client(service=ResearchService, endpoint=ENDPOINT)
        soon = timedelta(seconds=60)
        if word == "status":
            status = await service.execute_operation(
                ResearchService.status, ResearchId(id=about), schedule_to_close_timeout=soon
            )
            return status.phase
        if word == "cancel":
            cancelled = await service.execute_operation(
                ResearchService.cancel, ResearchId(id=about), schedule_to_close_timeout=soon
            )
            return cancelled.id
        notify = Notify(workflow_id="somebody") if word == "notify" else None
        request = ResearchRequest(question="What is known?", notify=notify)
        started = StartResearch(request=request, id=about)
        result = await service.execute_operation(
            ResearchService.start, started, schedule_to_close_timeout=soon
        )
        return result.status
