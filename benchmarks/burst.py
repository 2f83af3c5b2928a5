"""A burst of facets, by percentile: `python -m benchmarks.burst [--jobs 5] [--json FILE]`.

Jobs of 25 facets with the default limit of five subagents at once, on an embedded server, with a
model that answers at once: what is left is what coordination costs a facet. What a facet costs in
money is measured by `benchmarks.economy`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import quantiles

from benchmarks.growth import library
from console.client.jobs import fetch_report
from console.devserver.server import run_dev_server
from console.runtime.connection import connect
from worker import build_context, build_worker
from workflows.config.settings import EMBEDDED, Settings
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.contracts.result import ResearchResult
from workflows.coordinator import ResearchWorkflow

SHAPE = library.Shape(25, 10, 0)
PERCENTILES = (50, 95, 99)


def percentiles(values: Iterable[float]) -> dict[str, float]:
    """The percentiles and the largest of at least two values."""
    found = sorted(values)
    cuts = quantiles(found, n=100, method="inclusive")
    return {f"p{n}": round(cuts[n - 1], 3) for n in PERCENTILES} | {"max": round(found[-1], 3)}


async def run_jobs(count: int) -> list[ResearchResult]:
    """One after the other."""
    results = []
    with tempfile.TemporaryDirectory() as home, run_dev_server(Path(home)) as running:
        towns = Path(home, "towns")
        await asyncio.to_thread(library.write_documents, towns)
        settings = Settings.read({"RESEARCH_HOME": home})
        client = await connect(settings, running.address)
        context = build_context(settings, library.Library())
        request = ResearchRequest(
            question=library.QUESTION,
            corpus=str(towns),
            model=SHAPE.model,
            max_facets=SHAPE.facets,
            max_passes=SHAPE.passes,
        )
        async with build_worker(client, settings, context):
            for n in range(count):
                handle = await client.start_workflow(
                    ResearchWorkflow.run,
                    request,
                    id=f"burst-{n}",
                    task_queue=TASK_QUEUE,
                    task_timeout=EMBEDDED.task,
                )
                results.append(await fetch_report(handle))
        await context.close()
    return results


def measure(results: Sequence[ResearchResult]) -> dict[str, dict[str, float]]:
    steps = [step for result in results for step in result.timeline if step.facet_id]
    researched = [step for step in steps if step.step == "research"]
    verified = [step for step in steps if step.step == "verify"]
    if len(verified) != len(results) * SHAPE.facets:
        raise RuntimeError(f"{len(verified)} facets were verified, not {SHAPE.facets} a job")
    return {
        "seconds a facet is researched": percentiles(s.ended - s.began for s in researched),
        "seconds a facet is verified": percentiles(s.ended - s.began for s in verified),
        "seconds until a facet is verified": percentiles(s.ended for s in verified),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    os.environ["ANTHROPIC_API_KEY"] = "sk-ant-scripted"  # which goes nowhere
    figures = measure(asyncio.run(run_jobs(options.jobs)))
    for name, found in figures.items():
        print(f"{name:36}", " · ".join(f"{key} {value:.2f}" for key, value in found.items()))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
