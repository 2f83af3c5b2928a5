"""Whether real contradictions are told: every `wikicontradict*.jsonl` of the data folder.

A line has two passages `a` and `b` {title,text} of an encyclopedia that contradict each other, and
the `question` on which they do. Both become files of their own in a folder with eight passages of
other lines, drawn by the seed; the question is one job over it.

    told          share of the lines for which an entry of `contradictions` has the two passages on
                  different sides
    both cited    share of the lines whose report cites both passages: more cannot be told
    other pairs   contradictions told that are not between the two passages, a line
    precision     share of the contradictions told that are between the two passages

How much is preserved on the way, side by side; each share is of what the step before it had:

    sides claimed       sides (passages) that a claim quotes
    sides in ledger     of these, sides that stand against another in a contradiction or difference
    sides in report     of these, sides whose source the report cites

`precision` is also counted over all sets that know which contradictions are real.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import combinations
from pathlib import Path

from benchmarks.quality.intervals import Pair
from benchmarks.quality.job_runner import start_runner
from benchmarks.quality.passages import name_sources, write_passages
from benchmarks.quality.report_text import drop_sources
from benchmarks.quality.sets import (
    PRECISION,
    Case,
    JsonObject,
    Measure,
    MissingData,
    Options,
    Outcome,
    Run,
    draw_cases,
)
from workflows.contracts.result import ResearchResult

DISTRACTORS = 8
_PAIR = frozenset({"a", "b"})
PRESERVED = (Measure("sides claimed"), Measure("sides in ledger"), Measure("sides in report"))

Sides = tuple[frozenset[str], ...]


class Contradictions:
    name = "contradictions"
    pooled = True
    measures: tuple[Measure, ...] = (
        Measure("told", wanted=0.25),
        Measure("both cited"),
        Measure("other pairs", "lower", share=False),
        PRECISION,
        *PRESERVED,
        Measure("seconds", "lower", share=False, timed=True),
    )

    def __init__(self, options: Options) -> None:
        self._options = options

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        files = sorted(self._options.data.glob("wikicontradict*.jsonl"))
        if not files:
            raise MissingData.of("wikicontradict*.jsonl", self._options.data)
        found = []
        for path in files:
            rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
            for n, row in enumerate(rows):
                content = {
                    "question": row["question"],
                    "passages": mix_passages(rows, n, random.Random(f"{seed}:{n}")),
                }
                found.append(Case(f"{path.stem}-{n:03d}", path.stem, content))
        return draw_cases(found, limit, seed)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Run]:
        with tempfile.TemporaryDirectory() as place:
            async with start_runner(self._options) as runner:

                async def run(case: Case) -> Outcome:
                    folder, files = Path(place, case.id), case.content["passages"]
                    passages = [(f"passage-{n}", title, text) for n, (_, title, text) in files]
                    await asyncio.to_thread(write_passages, folder, passages)
                    result = await runner.research(case.content["question"], str(folder))
                    return count(result, {f"passage-{n}": role for n, (role, _, _) in files})

                yield run


def mix_passages(
    rows: Sequence[JsonObject], n: int, chance: random.Random
) -> list[tuple[int, tuple[str, str, str]]]:
    """The two passages of a line among others, as numbered (role, title, text) in random order.

    Of another line at most one passage is taken, and of a page at most one: no second contradiction
    comes in with the distractors.
    """
    others = {row["title"]: row for row in rows if row["title"] != rows[n]["title"]}
    drawn_rows = chance.sample(sorted(others), min(DISTRACTORS, len(others)))
    chosen = [(role, rows[n][role]) for role in sorted(_PAIR)]
    chosen += [("", others[title][chance.choice("ab")]) for title in drawn_rows]
    chance.shuffle(chosen)
    return list(enumerate((role, one["title"], one["text"]) for role, one in chosen))


def count(result: ResearchResult, roles: dict[str, str]) -> Outcome:
    """What a report tells of the two passages, and what of others."""
    names = name_sources(result)
    told = [
        tuple(frozenset(roles.get(name, "") for name in side) for side in sides)
        for sides in list_sides(result)
    ]
    right = sum(map(_has_pair, told))
    cited = {roles.get(names[s.id], "") for s in result.sources if s.n is not None}
    measures: dict[str, Pair] = {
        "told": (right > 0, 1),
        "both cited": (cited >= _PAIR, 1),
        "other pairs": (len(told) - right, 1),
        PRECISION.name: (right, len(told)),
        "seconds": (result.telemetry.seconds, 1),
        **trace_sides(result, roles),
    }
    entries = [[side.text for side in one.sides] for one in result.contradictions]
    notes = {"question": result.question, "told": entries, "report": result.report_markdown}
    return Outcome(measures, notes)


def list_sides(result: ResearchResult) -> list[Sides]:
    """For each contradiction a report tells, the passages that stand on each of its sides."""
    names = name_sources(result)
    return [
        tuple(frozenset(names[source] for source in side.source_ids) for side in one.sides)
        for one in result.contradictions
    ]


def trace_sides(result: ResearchResult, side_of: Mapping[str, str]) -> dict[str, Pair]:
    """How many sides the claims, the ledger and the report have; "" is no side."""
    names = name_sources(result)

    def sides(source_ids: Iterable[str]) -> frozenset[str]:
        return frozenset(side_of.get(names[source], "") for source in source_ids) - {""}

    claimed = sides(quote.source_id for claim in result.claims for quote in claim.quotes)
    held: frozenset[str] = frozenset()
    for entry in (*result.contradictions, *result.differences):
        # Passages of two sides that were put on one are not told apart.
        apart = {found for side in entry.sides if len(found := sides(side.source_ids)) == 1}
        if len(apart) > 1:
            held |= frozenset().union(*apart)
    text = drop_sources(result.report_markdown)
    told = sides(s.id for s in result.sources if s.n is not None and f"[{s.n}]" in text)
    return {
        "sides claimed": (len(claimed), len(set(side_of.values()) - {""})),
        "sides in ledger": (len(held & claimed), len(claimed)),
        "sides in report": (len(told & held), len(held)),
    }


def _has_pair(sides: Sides) -> bool:
    return any(
        ("a" in one and "b" in other) or ("b" in one and "a" in other)
        for one, other in combinations(sides, 2)
    )
