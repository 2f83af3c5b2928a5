"""Jobs on reference documentation, where contradictions are next to never real.

`make bench-docs` downloads the documentation of eight projects (see `documentation`); six questions
on each are drawn from its own headings (see `headings`). Every question is one run of the command.

    contradictions       how many a report tells
    false contradictions how many of them are not real: all, except those that somebody has read and
                         listed in `read_contradictions.json` as {"project", "files": [one, other]}
    precision            share of the contradictions told that are real
    other exits          share of the commands that ended with neither 0 nor 4
    empty summaries      share of the reports whose summary says nothing
    found                share of the commands that ended with 0
    own file cited       share of the reports that cite a file with the heading that asks the
                         question; `first`: before any other file
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import combinations, product
from pathlib import Path

from benchmarks.quality.command import NOTHING_FOUND, REPORT, Ended, run_command
from benchmarks.quality.documentation import DOCUMENTATION
from benchmarks.quality.headings import draw_questions
from benchmarks.quality.intervals import Pair
from benchmarks.quality.report_text import find_section
from benchmarks.quality.sets import (
    PRECISION,
    Case,
    Measure,
    MissingData,
    Options,
    Outcome,
    Run,
    draw_cases,
)
from workflows.contracts.result import SUMMARY, ResearchResult

QUESTIONS = 6
READ = Path(__file__).with_name("read_contradictions.json")


class Reference:
    name = "reference"
    pooled = True
    measures: tuple[Measure, ...] = (
        Measure("contradictions", "", share=False),
        Measure("false contradictions", "lower", wanted=0.0, share=False),
        PRECISION,
        Measure("other exits", "lower", wanted=0.0),
        Measure("empty summaries", "lower", wanted=0.0),
        Measure("found"),
        Measure("own file cited"),
        Measure("own file first"),
        Measure("seconds", "lower", share=False, timed=True),
    )

    def __init__(self, options: Options) -> None:
        self._options = options

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        folders = sorted(path for path in DOCUMENTATION.glob("*") if path.is_dir())
        if not folders:
            raise MissingData(
                f"no documentation in {DOCUMENTATION}; `make bench-docs` downloads it"
            )
        found = [
            Case(f"{folder.name}-{n}", folder.name, {"question": question, "files": files})
            for folder in folders
            for n, (question, files) in enumerate(
                draw_questions(folder, QUESTIONS, seed).items(), 1
            )
        ]
        return draw_cases(found, limit, seed)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Run]:
        real = await asyncio.to_thread(read_real, READ)
        with tempfile.TemporaryDirectory() as place:

            async def run(case: Case) -> Outcome:
                corpus, out = DOCUMENTATION / case.group, Path(place, case.id)
                ended = await run_command(case.content["question"], corpus, out, self._options)
                return count(ended, case, real)

            yield run


def read_real(path: Path) -> set[tuple[str, frozenset[str]]]:
    """The pairs of files, by project, that a reader found to contradict each other."""
    entries = json.loads(path.read_text("utf-8"))
    return {(entry["project"], frozenset(entry["files"])) for entry in entries}


def count(ended: Ended, case: Case, real: set[tuple[str, frozenset[str]]]) -> Outcome:
    """How a command ended and what its report tells."""
    measures: dict[str, Pair] = {
        "other exits": (ended.code not in (REPORT, NOTHING_FOUND), 1),
        "found": (ended.code == REPORT, 1),
    }
    notes = {**case.content, "exit": ended.code, "printed": ended.printed[-2000:]}
    if ended.result is not None:
        result = ended.result
        right = sum(
            any((case.group, pair) in real for pair in pairs) for pairs in list_file_pairs(result)
        )
        told = len(result.contradictions)
        measures |= {
            "contradictions": (told, 1),
            "false contradictions": (told - right, 1),
            PRECISION.name: (right, told),
            "seconds": (result.telemetry.seconds, 1),
        }
        if ended.code == REPORT:
            is_empty = not find_section(result.report_markdown, SUMMARY)
            measures["empty summaries"] = (is_empty, 1)
        cited = sorted((s.n, s.uri.partition("#")[0]) for s in result.sources if s.n is not None)
        own = [uri in case.content["files"] for _, uri in cited]
        measures |= {"own file cited": (any(own), 1), "own file first": (any(own[:1]), 1)}
        notes["told"] = [[side.text for side in one.sides] for one in result.contradictions]
        notes["report"] = result.report_markdown
    return Outcome(measures, notes)


def list_file_pairs(result: ResearchResult) -> list[set[frozenset[str]]]:
    """For each contradiction the pairs of files that stand on different sides."""
    files = {source.id: source.uri.partition("#")[0] for source in result.sources}
    return [
        {
            frozenset({files[x], files[y]})
            for one, other in combinations(told.sides, 2)
            for x, y in product(one.source_ids, other.source_ids)
        }
        for told in result.contradictions
    ]
