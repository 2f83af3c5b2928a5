"""Stages that overlap: `python -m benchmarks.engines.pipelining [--json FILE]`.

A job with simulated latencies: planning 0.5 s, research 5 s, verification 2 s, how the claims of
all facets relate 1 s, writing 3 s. One stage after the other that is 11.5 s. With facets of one
length there is nothing to overlap; where they differ, each is verified as it returns, and the
critical path is shorter.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.engines import stub, topology
from benchmarks.engines.topology import TurnLog
from console.devserver.server import run_dev_server
from console.runtime.connection import connect
from worker import build_context, build_worker
from workflows.config.settings import EMBEDDED, Settings
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.coordinator import ResearchWorkflow

PLAN, RESEARCH, VERIFY, RELATE, WRITE = 0.5, 5.0, 2.0, 1.0, 3.0
STAGED = PLAN + RESEARCH + VERIFY + RELATE + WRITE
ALIKE = dict.fromkeys(stub.SUBJECTS, RESEARCH)
DIFFERING = {s: RESEARCH * (n + 1) / len(stub.SUBJECTS) for n, s in enumerate(stub.SUBJECTS)}


def critical(facets: Mapping[str, float]) -> float:
    """The longest way through: the last facets may be those without anything to verify."""
    verified = stub.SUBJECTS[: topology.VERIFIED]
    ready = max(took + (VERIFY if facet in verified else 0) for facet, took in facets.items())
    return PLAN + ready + RELATE + WRITE


async def timed(home: Path, facets: Mapping[str, float], jobs: int) -> list[float]:
    def seconds(schema: str, brief: dict[str, Any]) -> float:
        match schema:
            case "ResearchAnswer":
                return facets[brief["facet"]["title"].lower()] / topology.RESEARCH_TURNS
            case "PlanDraft":
                return PLAN
            case "EntailmentAnswer":
                return VERIFY
            case "RelationsAnswer":
                return RELATE
            case "DraftAnswer":
                return WRITE
            case _:
                return 0.0

    stub.write_documents(home / "documents")
    settings = Settings.read({"RESEARCH_HOME": str(home)})
    context = build_context(settings, stub.Stub(TurnLog(home / "turns.log"), seconds))
    took = []
    with run_dev_server(home) as running:
        client = await connect(settings, running.address)
        async with build_worker(client, settings, context):
            for n in range(jobs):
                began = time.perf_counter()
                await client.execute_workflow(
                    ResearchWorkflow.run,
                    ResearchRequest(
                        question=stub.QUESTION,
                        corpus=str(home / "documents"),
                        model=f"{stub.MODEL}@job-{n}@0",
                        max_facets=topology.RESEARCHERS,
                        max_passes=0,
                    ),
                    id=f"job-{n}",
                    task_queue=TASK_QUEUE,
                    task_timeout=EMBEDDED.task,
                )
                took.append(time.perf_counter() - began)
        await context.close()
    return took[1:]


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines.pipelining")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--jobs", type=int, default=3)
    given = parser.parse_args()
    rows = []
    for name, facets in (("alike", ALIKE), ("differing", DIFFERING)):
        with tempfile.TemporaryDirectory() as home:
            # The first one warms up: imports, the index, the server's caches.
            took = await timed(Path(home), facets, given.jobs + 1)
        best = critical(facets)
        rows.append({"facets": name, "staged": STAGED, "critical": best,
                     "seconds": sorted(round(t, 3) for t in took),
                     "ratio": round(sorted(took)[len(took) // 2] / best, 3)})  # fmt: skip
        print(f"facets {name}: {rows[-1]['seconds']} s, critical path {best:g} s, "
              f"staged {STAGED:g} s, ratio {rows[-1]['ratio']}")  # fmt: skip
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    os.environ.setdefault("ANTHROPIC_API_KEY", "none-needed")
    asyncio.run(main())
