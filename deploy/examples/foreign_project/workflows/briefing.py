"""Research as a child workflow: the workers are in the same namespace."""

from __future__ import annotations

from temporalio import workflow

# The contracts are plain pydantic models: the sandbox need not load them for every workflow.
with workflow.unsafe.imports_passed_through():
    from durable_research_contracts.facets import Effort
    from durable_research_contracts.request import TASK_QUEUE, ResearchRequest
    from durable_research_contracts.result import ResearchSummary


@workflow.defn
class Briefing:
    """Needs something looked up on its way, and cancels the research if it is cancelled itself."""

    @workflow.run
    async def run(self, question: str, corpus: str) -> ResearchSummary:
        summary: ResearchSummary = await workflow.execute_child_workflow(
            "ResearchWorkflow",
            ResearchRequest(question=question, corpus=corpus, effort=Effort.QUICK),
            id=f"{workflow.info().workflow_id}-research",
            task_queue=TASK_QUEUE,
            result_type=ResearchSummary,
        )
        return summary
