"""The mechanical finder of conflicts by itself: `ramdocs*.jsonl` without jobs, in seconds.

Every document becomes one claim: its four sentences nearest to the question by BM25, verbatim. All
claims of a question form one facet. So these figures tell the finder's share apart from what the
engine chose to quote; the set `conflicts` measures both together.

    kept             of the questions with several distinct answers that all stand in claims, the
                     share for which *every* answer has such a claim that no side of a candidate
                     joins with a document of another answer: a measure of loss, not of detection
    pairs found      share of pairs of documents with different answers that stand on different
                     sides of a candidate
    pairs precision  share of pairs of documents on different sides that really have different
                     answers; a pair with a document labelled noise counts as wrong
    false flags      share of the questions with one distinct answer that get any candidate
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import combinations, product

from activities.evidence.conflicts.finder import candidates
from benchmarks.quality.gold import contains
from benchmarks.quality.intervals import Pair
from benchmarks.quality.peers import Bm25
from benchmarks.quality.ramdocs import (
    Truth,
    differ,
    list_conflicts,
    name_document,
    read_cases,
    read_truth,
)
from benchmarks.quality.report_text import split_sentences
from benchmarks.quality.sets import Case, JsonObject, Measure, Options, Outcome, Run, draw_cases
from workflows.contracts.evidence import Claim, Quote

SENTENCES = 4
_FACET = "facet"
_CONTRADICTS = "contradicts"

Side = tuple[str, ...]
"""The ids of the claims that a candidate has on one side."""


class Finder:
    name = "finder"
    pooled = True
    measures: tuple[Measure, ...] = (
        Measure("kept", wanted=0.93),
        Measure("pairs found", baseline=".25 in version 0.4"),
        Measure("pairs precision", wanted=0.9, baseline=".88 plain heuristics"),
        Measure("false flags", "lower", wanted=0.3, baseline=".77 to .83 plain heuristics"),
    )

    def __init__(self, options: Options) -> None:
        self._data = options.data

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        return draw_cases(read_cases(self._data), limit, seed)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Run]:
        async def run(case: Case) -> Outcome:
            row = case.content
            return await asyncio.to_thread(find, row["question"], row["documents"])

        yield run


def find(question: str, documents: Sequence[JsonObject]) -> Outcome:
    """The candidates among the documents of one question, counted."""
    truth = read_truth(documents)
    claims = [
        make_claim(name_document(n), question, document["text"])
        for n, document in enumerate(documents)
    ]
    found = [
        candidate
        for candidate in candidates(claims, questions={_FACET: question})
        if getattr(candidate, "relation", _CONTRADICTS) == _CONTRADICTS
    ]
    apart = {
        (min(pair), max(pair))
        for candidate in found
        for one, other in combinations(candidate.sides, 2)
        for pair in product(one.claim_ids, other.claim_ids)
    }
    real = list_conflicts(truth)
    measures: dict[str, Pair] = {
        "pairs found": (len(apart & real), len(real)),
        "pairs precision": (sum(differ(pair, truth) for pair in apart), len(apart)),
    }
    sides = [side.claim_ids for candidate in found for side in candidate.sides]
    distinct = set(truth.values()) - {""}
    if len(distinct) > 1:
        if distinct <= set(list_kept(claims, [], truth)):
            measures["kept"] = (distinct <= set(list_kept(claims, sides, truth)), 1)
    elif distinct:
        measures["false flags"] = (bool(found), 1)
    told = [{"kind": c.kind, "sides": [s.value for s in c.sides]} for c in found]
    return Outcome(measures, {"question": question, "truth": truth, "candidates": told})


def list_kept(claims: Sequence[Claim], sides: Sequence[Side], truth: Truth) -> Iterator[str]:
    """The answers that stand in a claim which no side joins with another answer."""
    for claim in claims:
        answer = truth[claim.id]
        joined = {truth[other] for side in sides if claim.id in side for other in side}
        if answer and joined <= {answer, ""} and contains(claim.text, [answer]):
            yield answer


def make_claim(name: str, question: str, text: str) -> Claim:
    """A document as one claim: its sentences nearest to the question, in their order."""
    sentences = split_sentences(text) or [text]
    best = Bm25(sentences).rank(question, SENTENCES) or range(min(SENTENCES, len(sentences)))
    quotes = [sentences[n] for n in sorted(best)]
    return Claim(
        id=name,
        facet_id=_FACET,
        text=" ".join(quotes),
        quotes=tuple(Quote(source_id=name, text=quote) for quote in quotes),
    )
