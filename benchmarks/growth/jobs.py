"""Jobs of any size on this project's server and worker, by the clock and by the processor."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.engines.ours import Ours
from benchmarks.engines.processes import cpu_seconds
from benchmarks.growth import library
from benchmarks.growth.library import Shape
from console.client.jobs import fetch_report
from workflows.config.settings import EMBEDDED
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.contracts.result import ResearchResult
from workflows.coordinator import ResearchWorkflow

_LIMIT = 600.0
_PARALLEL = 50
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Took:
    seconds: float
    cpu: float
    """Of server and worker."""
    result: ResearchResult


class Jobs(Ours):
    """The embedded server and a worker with the library at its wire."""

    def open(self, folder: Path) -> None:
        library.write_documents(folder / "towns")
        super().open(folder)

    def _program(self) -> Sequence[str]:
        return ("benchmarks.growth.worker",)

    def jobs(self, names: object, seconds: float) -> list[float]:
        """What warms the engine up: small jobs of this kind."""
        return [self.job(Shape(2, 10, 1)).seconds]

    def job(self, shape: Shape, corpus: Path | None = None) -> Took:
        async def run() -> Took:
            request = ResearchRequest(
                question=library.QUESTION,
                corpus=str(corpus or self._folder / "towns"),
                model=shape.model,
                max_facets=shape.facets,
                max_claims=library.MOST_CLAIMS,
                max_passes=shape.passes,
                parallel=_PARALLEL,
            )
            used, began = self._cpu(), time.perf_counter()
            async with asyncio.timeout(_LIMIT):
                job = await self._client.start_workflow(
                    ResearchWorkflow.run,
                    request,
                    id=f"grow-{next(_numbers)}",
                    task_queue=TASK_QUEUE,
                    task_timeout=EMBEDDED.task,
                )
                result = await fetch_report(job)
            return Took(time.perf_counter() - began, self._cpu() - used, result)

        took = self._do(run())
        _as_large_as(took.result, shape)
        return took

    def _cpu(self) -> float:
        return sum(cpu_seconds(pid) for pid in self.pids().values())


def _as_large_as(result: ResearchResult, shape: Shape) -> None:
    """A job that took a short cut must not be taken for a fast one."""
    found = (len(result.plan.facets), len(result.claims), len(result.passes) - 1)
    wanted = (shape.facets, shape.facets * shape.claims, shape.passes)
    if found[0] != wanted[0] or found[1] < wanted[1] or found[2] != wanted[2]:
        raise RuntimeError(f"facets, claims and passes were {found}, wanted {wanted}")
