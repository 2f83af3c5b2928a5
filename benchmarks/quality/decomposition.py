"""How well questions are split, by kind of question: the cases of `tests/decomposition`.

The facets a person would want were written down by hand before the first plan was seen; half of the
questions were not looked at while the planner was improved. Coverage is the share of the wanted
sub-domains that have a facet.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.quality.sets import Case, Measure, MissingData, Options, Outcome, Run, draw_cases

_HOME = "tests.decomposition.measure"


class Decomposition:
    name = "decomposition"
    pooled = True
    measures: tuple[Measure, ...] = (
        Measure("coverage"),
        Measure("coverage, kept half", whole=True),
        Measure("right kind", whole=True),
        Measure("fits", whole=True),
        Measure("off topic", "lower", whole=True),
        Measure("beside", "lower", whole=True),
        Measure("overlap", "lower", whole=True),
    )

    def __init__(self, options: Options) -> None:
        self._known: dict[str, Any] = {}

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        try:
            measuring = importlib.import_module(_HOME)
        except ModuleNotFoundError as missing:
            raise MissingData(
                f"{missing.name} is not here: run in the project's own folder"
            ) from None
        self._measuring = measuring
        self._known = {one.id: one for one in measuring.cases() if one.folder.exists()}
        if not self._known:
            raise MissingData(f"none of the corpora of {_HOME} are on this machine")
        found = [
            Case(one.id, str(one.kind), [one.question, one.expected, one.must_not])
            for one in self._known.values()
        ]
        return draw_cases(found, limit, seed)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Run]:
        async def run(case: Case) -> Outcome:
            (row,) = await asyncio.to_thread(self._measuring.rows, [self._known[case.id]])
            measures = {
                name: (getattr(row, name.replace(" ", "_")), 1)
                for name in ("coverage", "right kind", "fits", "off topic", "beside", "overlap")
            }
            if row.case.half == "kept":
                measures["coverage, kept half"] = (row.coverage, 1)
            facets = [facet.title for facet in row.plan.facets]
            return Outcome(measures, {"facets": facets, "missed": list(row.missed)})

        yield run
