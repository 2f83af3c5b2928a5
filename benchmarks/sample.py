"""The sample job by the clock: `python -m benchmarks.sample`.

One job over `sample_corpus/` on an embedded server, and how much of its time passed with no
activity running: what coordination itself costs, in the parent's and the passes' histories.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHandle

from console.client.jobs import fetch_report
from console.devserver.server import run_dev_server
from console.runtime.connection import connect
from worker import build_context, build_worker
from workflows.config.settings import Settings
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.coordinator import ResearchWorkflow

ROOT = Path(__file__).resolve().parents[1]
Span = tuple[datetime, datetime]


async def main() -> None:
    truth = json.loads((ROOT / "tests" / "sample_truth.json").read_text("utf-8"))
    with tempfile.TemporaryDirectory() as home, run_dev_server(Path(home)) as running:
        settings = Settings.read({"RESEARCH_HOME": home})
        client = await connect(settings, running.address)
        async with build_worker(client, settings, build_context(settings)):
            handle = await client.start_workflow(
                ResearchWorkflow.run,
                ResearchRequest(question=truth["question"], corpus=str(ROOT / "sample_corpus")),
                id="sample",
                task_queue=TASK_QUEUE,
            )
            result = await fetch_report(handle)
        whole, busy = await spans(handle)
        for done in result.passes[1:]:
            busy += (await spans(client.get_workflow_handle(f"sample/pass-{done.n}")))[1]
        history = await handle.fetch_history()
    seconds = (whole[1] - whole[0]).total_seconds()
    outside = 1 - covered(busy) / seconds
    print(f"job {seconds:.1f} s, {outside:.0%} of it with no activity running")
    print(f"{result.telemetry.turns} turns, {len(result.claims)} claims, "
          f"{len(result.contradictions)} contradictions, status {result.status}")  # fmt: skip
    print(
        f"history {len(history.events)} events, {sum(e.ByteSize() for e in history.events)} bytes"
    )


async def spans(handle: WorkflowHandle[Any, Any]) -> tuple[Span, list[Span]]:
    """From first to last event, and from when to when each activity was under way."""
    begun: dict[int, datetime] = {}
    busy: list[Span] = []
    times: list[datetime] = []
    async for event in handle.fetch_history_events():
        times.append(event.event_time.ToDatetime())
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            begun[event.event_id] = times[-1]
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            scheduled = event.activity_task_completed_event_attributes.scheduled_event_id
            busy.append((begun[scheduled], times[-1]))
    return (times[0], times[-1]), busy


def covered(busy: list[Span]) -> float:
    """Seconds in which at least one span was open."""
    total, end = 0.0, datetime.min
    for start, stop in sorted(busy):
        if stop > end:
            total += (stop - max(start, end)).total_seconds()
            end = stop
    return total


if __name__ == "__main__":
    asyncio.run(main())
