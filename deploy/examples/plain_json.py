"""Research by name, with plain JSON in and out: nothing of the contract is imported.

python -m deploy.examples.plain_json "QUESTION" --corpus DIR

A workflow in any language can do the same. Fields are those of `ResearchRequest`; a name that is
not among them is refused. The result is a summary with counts; the full report is where `report`
says, and the query `report_page` returns it in pages, as JSON text after
workflows/contracts/report.schema.json.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from deploy.examples.asking import TEAM, connected, new_id, parsed, run, team


@workflow.defn
class Clipping:
    @workflow.run
    async def run(self, question: str, corpus: str) -> str:
        result: dict[str, Any] = await workflow.execute_child_workflow(
            "ResearchWorkflow",
            {"question": question, "corpus": corpus, "effort": "quick"},
            id=f"{workflow.info().workflow_id}/research",
            task_queue="research",
        )
        return f"{result['status']}: {result['claims']} claims"


async def main() -> None:
    asked = parsed(ArgumentParser())
    client = await connected()
    async with team(client, Clipping):
        print(
            await client.execute_workflow(
                Clipping.run,
                args=[asked.question, asked.corpus],
                id=new_id("clipping"),
                task_queue=TEAM,
            )
        )


if __name__ == "__main__":
    run(main)
