"""Research that reports back: the caller is signalled at every checkpoint.

python -m deploy.examples.watched "QUESTION" --corpus DIR
"""

from __future__ import annotations

from argparse import ArgumentParser

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from deploy.examples.asking import TEAM, connected, new_id, parsed, run, team
    from workflows.contracts.facets import Effort
    from workflows.contracts.messages import CheckpointReached, Notify
    from workflows.contracts.request import TASK_QUEUE, ResearchRequest
    from workflows.coordinator import ResearchWorkflow


@workflow.defn
class Editor:
    def __init__(self) -> None:
        self._heard: list[str] = []

    @workflow.signal
    def research_checkpoint(self, reached: CheckpointReached) -> None:
        self._heard.append(f"{reached.checkpoint}: {reached.turns} turns, ${reached.usd:.2f}")

    @workflow.run
    async def run(self, question: str, corpus: str) -> list[str]:
        request = ResearchRequest(
            question=question,
            corpus=corpus,
            effort=Effort.QUICK,
            notify=Notify(workflow_id=workflow.info().workflow_id),
        )
        await workflow.execute_child_workflow(
            ResearchWorkflow.run,
            args=[request],
            id=f"{workflow.info().workflow_id}/research",
            task_queue=TASK_QUEUE,
        )
        return self._heard


async def main() -> None:
    asked = parsed(ArgumentParser())
    client = await connected()
    async with team(client, Editor):
        heard = await client.execute_workflow(
            Editor.run, args=[asked.question, asked.corpus], id=new_id("editor"), task_queue=TEAM
        )
    print("\n".join(heard))


if __name__ == "__main__":
    run(main)
