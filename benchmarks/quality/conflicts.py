"""How conflicting answers are told: every `ramdocs*.jsonl` of the data folder (see `ramdocs`).

The documents of a line are the files of a folder; its question is one job over it. So these figures
hold what the report leaves out against it; `finder` measures the finder of conflicts alone.

    kept             share of the questions with several distinct answers (of documents labelled
                     correct or misinfo) for which *every* distinct answer is told: documents with
                     that answer alone are a side of a contradiction, or the answer stands in the
                     report and in a quote of a claim that rests on such documents alone
    parted           the harder one: share of the same questions for which *every* pair of distinct
                     answers stands on different sides of some contradiction
    pairs found      share of pairs of documents with different answers that stand on different
                     sides
    pairs precision  share of pairs of documents on different sides that really have different
                     answers; a pair with a document labelled noise counts as wrong
    precision        share of the contradictions told of which all such pairs are right
    false flags      share of the questions with one distinct answer for which any is told

For questions with several answers, each a side, `sides claimed`, `sides in ledger` and `sides in
report` say how much is preserved on the way (see `contradictions`).
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import combinations, product
from pathlib import Path

from benchmarks.quality.contradictions import PRESERVED, Sides, list_sides, trace_sides
from benchmarks.quality.gold import contains
from benchmarks.quality.intervals import Pair
from benchmarks.quality.job_runner import start_runner
from benchmarks.quality.passages import name_sources, write_passages
from benchmarks.quality.ramdocs import (
    DocumentPair,
    Truth,
    differ,
    list_conflicts,
    name_document,
    read_cases,
    read_truth,
)
from benchmarks.quality.report_text import drop_sources
from benchmarks.quality.sets import (
    PRECISION,
    Case,
    JsonObject,
    Measure,
    Options,
    Outcome,
    Run,
    draw_cases,
)
from workflows.contracts.result import ResearchResult


class Conflicts:
    name = "conflicts"
    pooled = True
    measures: tuple[Measure, ...] = (
        Measure("kept", baseline=".35 in version 0.4"),
        Measure("parted"),
        Measure("pairs found", baseline=".07 in version 0.4"),
        Measure("pairs precision", wanted=0.9),
        PRECISION,
        Measure("false flags", "lower", wanted=0.3),
        *PRESERVED,
        Measure("seconds", "lower", share=False, timed=True),
    )

    def __init__(self, options: Options) -> None:
        self._options = options

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        return draw_cases(read_cases(self._options.data), limit, seed)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Run]:
        with tempfile.TemporaryDirectory() as place:
            async with start_runner(self._options) as runner:

                async def run(case: Case) -> Outcome:
                    folder, documents = Path(place, case.id), case.content["documents"]
                    passages = [(name_document(n), "", d["text"]) for n, d in enumerate(documents)]
                    await asyncio.to_thread(write_passages, folder, passages)
                    result = await runner.research(case.content["question"], str(folder))
                    return count(result, documents)

                yield run


def count(result: ResearchResult, documents: Sequence[JsonObject]) -> Outcome:
    """One question's counts."""
    truth = read_truth(documents)
    distinct = sorted(set(truth.values()) - {""})
    told = [_pairs(sides) for sides in list_sides(result)]
    apart = {pair for pairs in told for pair in pairs}
    real = list_conflicts(truth)
    right = [all(differ(pair, truth) for pair in pairs) for pairs in told]
    measures: dict[str, Pair] = {
        "pairs found": (len(real & apart), len(real)),
        "pairs precision": (len(real & apart), len(apart)),
        PRECISION.name: (sum(right), len(told)),
        "seconds": (result.telemetry.seconds, 1),
    }
    if len(distinct) > 1:
        divided = {frozenset((truth[one], truth[other])) for one, other in apart}
        parted = all(frozenset(pair) in divided for pair in combinations(distinct, 2))
        measures["parted"] = (parted, 1)
        measures |= trace_sides(result, truth)
        measures["kept"] = (all(_is_kept(answer, result, truth) for answer in distinct), 1)
    elif distinct:
        measures["false flags"] = (bool(told), 1)
    entries = [[side.text for side in one.sides] for one in result.contradictions]
    notes = {"question": result.question, "answers": distinct, "told": entries,
             "right": right, "report": result.report_markdown}  # fmt: skip
    return Outcome(measures, notes)


def _pairs(sides: Sides) -> set[DocumentPair]:
    """The pairs of documents that stand on different sides."""
    return {
        (min(pair), max(pair))
        for one, other in combinations(sides, 2)
        for pair in product(one, other)
    }


def _is_kept(answer: str, result: ResearchResult, truth: Truth) -> bool:
    """Whether a report tells an answer and joins no other with it."""
    sides = (side for sides in list_sides(result) for side in sides)
    if any({truth[document] for document in side} == {answer} for side in sides):
        return True
    if not contains(drop_sources(result.report_markdown), [answer]):
        return False
    names = name_sources(result)
    return any(
        {truth[names[quote.source_id]] for quote in claim.quotes} <= {answer, ""}
        and any(
            truth[names[quote.source_id]] == answer and contains(quote.text, [answer])
            for quote in claim.quotes
        )
        for claim in result.claims
    )
