"""Research over Nexus: the workers are in another namespace, behind an endpoint."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from durable_research_contracts.facets import Effort
    from durable_research_contracts.nexus import (
        ENDPOINT,
        GetReport,
        ResearchService,
        StartResearch,
    )
    from durable_research_contracts.request import ResearchRequest
    from durable_research_contracts.result import ResearchResult


@workflow.defn
class Inquiry:
    """Reads the report in pages, and returns its text."""

    @workflow.run
    async def run(self, question: str, corpus: str) -> str:
        service = workflow.create_nexus_client(service=ResearchService, endpoint=ENDPOINT)
        job = workflow.info().workflow_id
        request = ResearchRequest(question=question, corpus=corpus, effort=Effort.QUICK)
        summary = await service.execute_operation(
            ResearchService.start,
            StartResearch(request=request, id=job),
            schedule_to_close_timeout=timedelta(hours=6),
        )
        pages = [
            await service.execute_operation(
                ResearchService.report,
                GetReport(id=job, page=page),
                schedule_to_close_timeout=timedelta(minutes=5),
            )
            for page in range(summary.report.pages)
        ]
        report = ResearchResult.model_validate_json("".join(page.text for page in pages))
        return report.report_markdown
