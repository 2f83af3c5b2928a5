"""The same question asked twice joins the running job: one job, one bill.

python -m deploy.examples.join "QUESTION" --corpus DIR
"""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser

from temporalio.client import Client, WithStartWorkflowOperation
from temporalio.common import WorkflowIDConflictPolicy

from deploy.examples.asking import connected, parsed, run
from workflows.contracts.facets import Effort
from workflows.contracts.messages import Join
from workflows.contracts.request import TASK_QUEUE, ResearchRequest, shared_id
from workflows.coordinator import ResearchWorkflow


async def ask(client: Client, who: str, request: ResearchRequest) -> None:
    start = WithStartWorkflowOperation(
        ResearchWorkflow.run,
        args=[request],
        id=shared_id(request, scope="newsroom"),
        task_queue=TASK_QUEUE,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
    )
    joined = await client.execute_update_with_start_workflow(
        ResearchWorkflow.join, Join(), start_workflow_operation=start
    )
    print(f"{who} {'started' if joined.started else 'joined'} {joined.id}", flush=True)
    result = await (await start.workflow_handle()).result()
    print(f"{who} got {result.claims} claims; {result.turns} turns were bought")


async def main() -> None:
    asked = parsed(ArgumentParser())
    client = await connected()
    request = ResearchRequest(question=asked.question, corpus=asked.corpus, effort=Effort.QUICK)
    again = request.model_copy(update={"question": f"{asked.question.lower().rstrip('?')} ?"})
    await asyncio.gather(ask(client, "Ada", request), ask(client, "Ben", again))


if __name__ == "__main__":
    run(main)
