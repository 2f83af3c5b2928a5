"""A worker that does what the coordinator does, without research; for tests of the front desk.

What it is asked steers it: `hold` keeps it busy until there is a file `go` in the
state folder, `block` parks it until it is resumed, `fail` fails
it, `nothing` finds nothing, `big` returns a result far over the payload threshold.
"""

from __future__ import annotations

import asyncio
import os
import signal
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from console.connection import connect
from workflows.contracts import (
    TASK_QUEUE,
    Blocked,
    FacetStatus,
    Phase,
    PlanOut,
    ResearchRequest,
    ResearchResult,
    Resume,
    Status,
)
from workflows.settings import Settings


@activity.defn
async def released() -> bool:
    return (Path(os.environ["RESEARCH_HOME"]) / "go").exists()


@workflow.defn(name="ResearchWorkflow")
class StandIn:
    @workflow.init
    def __init__(self, request: ResearchRequest) -> None:
        self._request = request
        self._blocked: Blocked | None = None
        self._facet = "waiting"

    @workflow.run
    async def run(self, request: ResearchRequest) -> ResearchResult:
        asked = request.question
        self._facet = "running"
        await workflow.sleep(0.3)
        while "hold" in asked and not await workflow.execute_activity(
            released, start_to_close_timeout=timedelta(seconds=5)
        ):
            await workflow.sleep(0.2)
        if "fail" in asked:
            raise ApplicationError("the moon is in the way", non_retryable=True)
        if "block" in asked:
            self._blocked = Blocked(
                step="planning", reason="no key", remedy="Set a key.", since="now"
            )
            await workflow.wait_condition(lambda: self._blocked is None)
        self._facet = "found"
        return ResearchResult(
            id=workflow.info().workflow_id,
            question=asked,
            status="nothing_found" if "nothing" in asked else "complete",
            model=request.model,
            plan=PlanOut(kind="fact"),
            report_markdown="# Report\n\n" + ("Words. " * (50_000 if "big" in asked else 5)),
        )

    @workflow.query
    def status(self) -> Status:
        return Status(
            id=workflow.info().workflow_id,
            phase=Phase.RESEARCHING,
            question=self._request.question,
            model=self._request.model,
            facets=(FacetStatus(id="f", title="The one facet", status=self._facet),),
            blocked=self._blocked,
        )

    @workflow.update
    async def resume(self, request: Resume) -> str:
        self._blocked = None
        return "resumed"


async def main() -> None:
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    client = await connect(Settings.read(os.environ))
    async with Worker(
        client,
        task_queue=TASK_QUEUE,
        workflows=[StandIn],
        activities=[released],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main())
