"""Whole jobs on company files: `python -m benchmarks.enterprise [TASK …]`.

Each DRBench task in `shared/data` (beside the repository; skipped where it is absent) is one real
job on the offline model: an embedded server, a worker, the documents as a company has them.

    insights     share of the files that hold an insight which the report cites
    distractors  share of distractor files among the cited files
    figures      share of the gold answers' figures that stand in the report
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from temporalio.client import Client

from console.connection import connect
from console.embedded import server
from worker import build_worker, build_workshop
from workflows.contracts import TASK_QUEUE, ResearchRequest, ResearchResult
from workflows.coordinator import ResearchWorkflow
from workflows.quantities import quantities
from workflows.settings import Settings

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "drbench"
SIDE_BY_SIDE = 2


def main() -> None:
    wanted = sys.argv[1:]
    tasks = [p for p in sorted(DATA.glob("*/truth.json")) if not wanted or p.parent.name in wanted]
    if not tasks:
        print(f"skipped: no tasks in {DATA}")
        return
    scores = asyncio.run(measure(tasks))
    print(f"{'task':8} insights distractors figures seconds claims contradictions")
    for name, row in scores.items():
        print(f"{name:8} " + " ".join(f"{value:>8.2f}" for value in row))
    means = (statistics.mean(column) for column in zip(*scores.values(), strict=True))
    print(f"{'mean':8} " + " ".join(f"{value:>8.2f}" for value in means))


async def measure(tasks: list[Path]) -> dict[str, tuple[float, ...]]:
    with tempfile.TemporaryDirectory() as home, server(Path(home)) as running:
        settings = Settings.read({"RESEARCH_HOME": home})
        client = await connect(settings, running.address)
        few = asyncio.Semaphore(SIDE_BY_SIDE)

        async def one(task: Path) -> tuple[float, ...]:
            async with few:
                return await score(client, task)

        async with build_worker(client, settings, build_workshop(settings)):
            rows = await asyncio.gather(*(one(task) for task in tasks))
        return {task.parent.name: row for task, row in zip(tasks, rows, strict=True)}


async def score(client: Client, task: Path) -> tuple[float, ...]:
    truth: dict[str, Any] = json.loads(await asyncio.to_thread(task.read_text, "utf-8"))
    result: ResearchResult = await client.execute_workflow(
        ResearchWorkflow.run,
        ResearchRequest(question=truth["question"], corpus=str(task.parent / "corpus")),
        id=truth["id"],
        task_queue=TASK_QUEUE,
    )
    cited = {source.uri.partition("#")[0] for source in result.sources if source.n is not None}
    insights = [item for item in truth["items"] if item["kind"] == "insight"]
    useful = {file for item in insights for file in item["files"]}
    other = {f for item in truth["items"] if item["kind"] != "insight" for f in item["files"]}
    gold = [q for item in insights for q in quantities(item["answer"]) if not q.label]
    said = {q.value for q in quantities(result.report_markdown)}
    return (
        len(cited & useful) / max(1, len(useful)),
        len(cited & (other - useful)) / max(1, len(cited)),
        sum(q.value in said for q in gold) / max(1, len(gold)),
        result.telemetry.seconds,
        len(result.claims),
        len(result.contradictions),
    )


if __name__ == "__main__":
    main()
