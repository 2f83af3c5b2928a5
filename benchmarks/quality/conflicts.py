"""How well conflicting answers are kept apart: every `ramdocs*.jsonl` of the data folder.

A line is a question with documents, of which `type` is correct, misinfo or noise and `answer` what
the document says. Every document becomes one claim (see `extraction`); all claims of a question
form one facet. The labels are used for measuring only. Answers are equal when they are the same
after case and punctuation are folded.

    preserved    share of the questions with several distinct answers (of documents labelled correct
                 or misinfo) for which *every* distinct answer is kept distinct: it stands in the
                 value of a side of a candidate, or verbatim in the quotes of a claim of a document
                 with that answer, which no group of agreement joins with a claim of a document with
                 another. The second arm makes this a measure of loss, not of detection
    parted       the harder one: share of the same questions for which *every* pair of distinct
                 answers stands on different sides of some candidate
    pairs found  share of pairs of documents with different answers that stand on different sides
    precision    share of pairs of documents on different sides that really have different answers,
                 by kind; a pair with a document labelled noise counts as wrong
    false flags  share of the questions with one distinct answer that get any candidate at all

Each file is counted by its halves and as a whole. Of `ramdocs-dev`, the first half was used for
tuning; no document of the second was read, but its totals were printed, so it is held out from
tuning and not unseen.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import combinations
from typing import Any

from activities.evidence.conflicts import Candidate, candidates, groups_of_agreement
from benchmarks.quality.extraction import claims_of
from benchmarks.quality.intervals import Pair
from benchmarks.quality.sets import Case, Measure, Options, Outcome, Run, absent, drawn
from workflows.contracts.evidence import Claim

KINDS = ("number", "date", "name", "polarity")
_WANTED = {"number": 0.9, "date": 0.9, "name": 0.8}


class Conflicts:
    name = "conflicts"
    pooled = True
    measures: tuple[Measure, ...] = (
        Measure("preserved", wanted=0.9, baseline=".80 for two sentences a document"),
        Measure("parted"),
        Measure("pairs found", baseline=".76 plain heuristics, at precision .88"),
        *(
            Measure(f"precision {kind}", wanted=_WANTED.get(kind), baseline=".88 plain heuristics")
            for kind in KINDS
        ),
        Measure("false flags", "lower", wanted=0.3, baseline=".77 to .83 plain heuristics"),
    )

    def __init__(self, options: Options) -> None:
        self._data = options.data

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        files = sorted(self._data.glob("ramdocs*.jsonl"))
        if not files:
            raise absent("ramdocs*.jsonl", self._data)
        found = []
        for path in files:
            rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
            for n, row in enumerate(rows):
                half = "first" if n < len(rows) // 2 else "second"
                found.append(Case(f"{path.stem}-{n:04d}", f"{path.stem}, {half} half", row))
        return drawn(found, limit, seed)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Run]:
        async def run(case: Case) -> Outcome:
            row = case.content
            return await asyncio.to_thread(measured, row["question"], row["documents"])

        yield run


def measured(question: str, documents: Sequence[dict[str, Any]]) -> Outcome:
    """One question's counts."""
    claims = claims_of(question, [d["text"] for d in documents])
    found = candidates(claims, questions={"facet": question})
    truth = [None if d["type"] == "noise" else folded(d["answer"]) for d in documents]
    distinct = list(dict.fromkeys(answer for answer in truth if answer))
    apart, measures = _pairs(found, truth)
    if len(distinct) > 1:
        kept = all(_kept(answer, found, claims, truth) for answer in distinct)
        divided = {frozenset((truth[x], truth[y])) for x, y in apart}
        parted = all(frozenset(pair) in divided for pair in combinations(distinct, 2))
        measures |= {"preserved": (kept, 1), "parted": (parted, 1)}
    elif distinct:
        measures["false flags"] = (bool(found), 1)
    real = {
        (x, y)
        for x, y in combinations(range(len(truth)), 2)
        if truth[x] and truth[y] and truth[x] != truth[y]
    }
    measures["pairs found"] = (len(real & apart), len(real))
    told = [{"kind": c.kind, "sides": [s.value for s in c.sides]} for c in found]
    return Outcome(measures, {"question": question, "answers": distinct, "candidates": told})


def _pairs(
    found: Sequence[Candidate], truth: Sequence[str | None]
) -> tuple[set[tuple[int, int]], dict[str, Pair]]:
    apart: set[tuple[int, int]] = set()
    counts = {kind: [0, 0] for kind in KINDS}
    for candidate in found:
        for a, b in combinations(candidate.sides, 2):
            for x, y in ((int(i[1:]), int(j[1:])) for i in a.claim_ids for j in b.claim_ids):
                apart.add((min(x, y), max(x, y)))
                right = bool(truth[x] and truth[y] and truth[x] != truth[y])
                counts[candidate.kind][0] += right
                counts[candidate.kind][1] += 1
    return apart, {f"precision {kind}": (p, w) for kind, (p, w) in counts.items()}


def _kept(
    answer: str,
    found: Sequence[Candidate],
    claims: Sequence[Claim],
    truth: Sequence[str | None],
) -> bool:
    if any(f" {answer} " in f" {folded(s.value)} " for c in found for s in c.sides):
        return True
    for group in groups_of_agreement(claims):
        others = {truth[n] for n in group} - {answer, None}
        holds = any(
            truth[n] == answer and f" {answer} " in f" {folded(claims[n].text)} " for n in group
        )
        if holds and not others:
            return True
    return False


def folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
