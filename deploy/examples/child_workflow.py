"""Research as a child workflow, by its typed contract.

python -m deploy.examples.child_workflow "QUESTION" --corpus DIR
"""

from __future__ import annotations

from argparse import ArgumentParser

from temporalio import workflow

# The contract is plain pydantic, the same for all: the sandbox need not load it for every workflow.
with workflow.unsafe.imports_passed_through():
    from deploy.examples.asking import TEAM, connected, new_id, parsed, run, team
    from workflows.contracts.facets import Effort
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


async def main() -> None:
    asked = parsed(ArgumentParser())
    client = await connected()
    async with team(client, Briefing):
        print(
            await client.execute_workflow(
                Briefing.run,
                args=[asked.question, asked.corpus],
                id=new_id("briefing"),
                task_queue=TEAM,
            )
        )


if __name__ == "__main__":
    run(main)
