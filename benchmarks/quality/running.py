"""Running the cases of a set: side by side, each kept as soon as it is done.

A case that fails is said and left out of the figures; it is tried again by the next run. Nothing
else stops for it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass

from benchmarks.quality.results import Result, Results
from benchmarks.quality.sets import Case, QualitySet


@dataclass(frozen=True)
class RunResult:
    """A set's results, in the order of its cases, and what went wrong."""

    results: tuple[Result, ...]
    kept: int
    """How many were there already."""
    failed: tuple[str, ...]
    seconds: float


async def run(kind: QualitySet, cases: list[Case], results: Results, parallel: int) -> RunResult:
    """All cases, those that are done already from their files."""
    begun = time.perf_counter()
    done: dict[str, Result] = {}
    for case in cases:
        if kept := results.find(case):
            done[case.id] = kept
    waiting = [case for case in cases if case.id not in done]
    kept_before = len(done)
    failed: list[str] = []
    if waiting:
        progress = _Progress(kind.name, len(cases), len(done))
        few = asyncio.Semaphore(parallel)
        async with kind.start() as one:

            async def finish(case: Case) -> None:
                async with few:
                    try:
                        outcome = await one(case)
                    except Exception as error:
                        failed.append(f"{case.id}: {type(error).__name__}: {_cause(error)}")
                    else:
                        done[case.id] = await asyncio.to_thread(results.keep, case, outcome)
                    progress.step()

            async with asyncio.TaskGroup() as group:
                for case in waiting:
                    group.create_task(finish(case))
    ordered = tuple(done[case.id] for case in cases if case.id in done)
    return RunResult(ordered, kept_before, tuple(failed), time.perf_counter() - begun)


def _cause(error: BaseException) -> str:
    """The innermost message: what a failed workflow failed of."""
    while (inner := getattr(error, "cause", None) or error.__cause__) is not None:
        error = inner
    return str(error)[:300]


class _Progress:
    """A line that counts, where someone watches."""

    def __init__(self, name: str, whole: int, done: int) -> None:
        self._name, self._whole, self._done = name, whole, done
        self._shown = sys.stderr.isatty()

    def step(self) -> None:
        self._done += 1
        if self._shown:
            end = "\n" if self._done == self._whole else ""
            print(f"\r{self._name}: {self._done} of {self._whole}", end=end, file=sys.stderr)
            sys.stderr.flush()
