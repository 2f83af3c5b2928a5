"""Workflows of other teams, for the tests: one that listens, and one that meddles."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from workflows.contracts.messages import Notify
    from workflows.contracts.nexus import ENDPOINT, ResearchId, ResearchService, StartResearch
    from workflows.contracts.request import ResearchRequest


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
