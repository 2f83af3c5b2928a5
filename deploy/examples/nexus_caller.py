"""Research over Nexus: the caller's workflow lives in another namespace.

temporal operator namespace create --namespace other-team
temporal operator nexus endpoint create --name research \
    --target-namespace default --target-task-queue research
TEMPORAL_NAMESPACE=other-team python -m deploy.examples.nexus_caller "QUESTION" --corpus DIR

With --cancel the caller is cancelled when its research has begun; the research is cancelled too.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.client import WorkflowFailureError

with workflow.unsafe.imports_passed_through():
    from deploy.examples.asking import TEAM, connected, new_id, parsed, run, team
    from workflows.contracts.facets import Effort
    from workflows.contracts.nexus import (
        ENDPOINT,
        GetReport,
        ResearchId,
        ResearchService,
        StartResearch,
    )
    from workflows.contracts.request import ResearchRequest


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


async def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("--cancel", action="store_true", help="cancel it while it runs")
    asked = parsed(parser)
    client = await connected()
    async with team(client, Inquiry):
        inquiry = await client.start_workflow(
            Inquiry.run,
            args=[asked.question, asked.corpus],
            id=new_id("inquiry"),
            task_queue=TEAM,
        )
        if asked.cancel:
            print(await inquiry.execute_update(Inquiry.begun))
            await inquiry.cancel()
        try:
            print(await inquiry.result())
        except WorkflowFailureError as error:
            print(f"{inquiry.id} was cancelled, and its research with it ({error.cause})")


if __name__ == "__main__":
    run(main)
