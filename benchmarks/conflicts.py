"""How well conflicting answers are kept apart: `python -m benchmarks.conflicts`.

Reads RAMDocs dev (250 questions; `../shared/data/ramdocs-dev.jsonl` beside the repository) and says
so where it is absent. Every document becomes one claim by an extractive step that knows the
question and never the answers: the `SENTENCES` sentences nearest to the question, verbatim, each a
quote, joined in the order of the document as the claim's text. All claims of a question form one
facet. The documents' labels are used for measuring only. A document has about a hundred words, so
four sentences are most of it: compare preservation only between runs with the same `SENTENCES`.

Answers are equal when they are the same after case and punctuation are folded. Measured:

preserved   share of the questions with several distinct answers (of documents labelled correct or
            misinfo) for which *every* distinct answer is kept distinct: it stands in the value of a
            side of a candidate, or verbatim in the quotes of a claim of a document with that
            answer, which no group of agreement joins with a claim of a document with another. The
            second arm makes this a measure of loss (nothing dropped, nothing merged), not of
            detection.
parted      the harder one: share of the same questions for which *every* pair of distinct answers
            stands on different sides of some candidate.
pairs found share of pairs of documents with different answers that stand on different sides.
precision   share of pairs of documents on different sides that really have different answers, by
            kind; a pair with a document labelled noise counts as wrong. In brackets the same
            without pairs that involve noise.
false flags share of the questions with one distinct answer that get any candidate at all.

The first half was used for tuning. No document of the second was read, but its totals were printed
after each change, so it is held out from tuning and not unseen.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import log
from pathlib import Path
from typing import Any

from workflows.conflicts import Candidate, candidates, groups_of_agreement
from workflows.conflicts.questions import ask
from workflows.evidence import Claim, Quote
from workflows.words import sentences, stems

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "ramdocs-dev.jsonl"
SENTENCES = 4
LONGEST = 60  # words; a longer "sentence" is a table or a menu and is cut into windows
FIGURE = re.compile(r"\d")
CAPITAL = re.compile(r"(?<=\s)[A-Z]\w+")


def claims_of(question: str, documents: Sequence[str]) -> list[Claim]:
    """Each document as one claim: its sentences that bear on the question, verbatim."""
    asked = ask(question)
    wanted = set(stems(question)) | (asked.relation if asked else set())
    parts = [
        [cut for span in sentences(text) for cut in _windows(text, *span)] or [(0, len(text))]
        for text in documents
    ]
    counts: Counter[str] = Counter()
    for text, spans in zip(documents, parts, strict=True):
        for a, b in spans:
            counts.update(set(stems(text[a:b])) & wanted)
    size = sum(map(len, parts))
    figures = asked is not None and asked.kind in ("date", "number")

    def score(text: str, span: tuple[int, int]) -> tuple[float, int]:
        part = text[span[0] : span[1]]
        # A word that stands in every sentence tells none apart, as in any ranking by rarity.
        met = sum(log(1 + size / counts[w]) for w in sorted(set(stems(part)) & wanted))
        holds = FIGURE.search(part) if figures else CAPITAL.search(part)
        return met + (1.0 if holds else 0.0), -span[0]

    claims = []
    for n, (text, spans) in enumerate(zip(documents, parts, strict=True)):
        best = sorted(spans, key=lambda span: score(text, span), reverse=True)[:SENTENCES]
        quotes = [text[a:b].strip() for a, b in sorted(best)]
        claims.append(
            Claim(
                id=f"d{n:02d}",
                facet_id="facet",
                text="\n\n".join(quotes),
                quotes=tuple(Quote(source_id=f"d{n:02d}", text=quote) for quote in quotes),
            )
        )
    return claims


def _windows(document: str, start: int, end: int) -> list[tuple[int, int]]:
    words = [m.span() for m in re.finditer(r"\S+", document[start:end])]
    if len(words) <= LONGEST:
        return [(start, end)]
    return [
        (start + words[n][0], start + words[min(n + LONGEST, len(words)) - 1][1])
        for n in range(0, len(words), LONGEST)
    ]


def folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


class Tally:
    """Counts over a set of questions."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, question: str, documents: Sequence[dict[str, Any]]) -> tuple[Candidate, ...]:
        claims = claims_of(question, [d["text"] for d in documents])
        found = candidates(claims, questions={"facet": question})
        truth = [None if d["type"] == "noise" else folded(d["answer"]) for d in documents]
        distinct = list(dict.fromkeys(answer for answer in truth if answer))
        apart = self._pairs(found, truth)
        if len(distinct) > 1:
            self.counts["several"] += 1
            self.counts["preserved"] += all(_kept(a, found, claims, truth) for a in distinct)
            divided = {frozenset((truth[x], truth[y])) for x, y in apart}
            self.counts["parted"] += all(
                frozenset(pair) in divided for pair in combinations(distinct, 2)
            )
        elif distinct:
            self.counts["single"] += 1
            self.counts["flagged"] += bool(found)
        real = {
            (x, y)
            for x, y in combinations(range(len(truth)), 2)
            if truth[x] and truth[y] and truth[x] != truth[y]
        }
        self.counts["real"] += len(real)
        self.counts["real found"] += len(real & apart)
        return found

    def _pairs(
        self, found: Sequence[Candidate], truth: Sequence[str | None]
    ) -> set[tuple[int, int]]:
        apart: set[tuple[int, int]] = set()
        for candidate in found:
            for a, b in combinations(candidate.sides, 2):
                for x, y in ((int(i[1:]), int(j[1:])) for i in a.claim_ids for j in b.claim_ids):
                    kind = candidate.kind
                    apart.add((min(x, y), max(x, y)))
                    self.counts[f"{kind} pairs"] += 1
                    self.counts[f"{kind} right"] += bool(
                        truth[x] and truth[y] and truth[x] != truth[y]
                    )
                    self.counts[f"{kind} known"] += bool(truth[x] and truth[y])
        return apart

    def lines(self) -> list[str]:
        c = self.counts
        out = [
            f"  preserved   {_share(c['preserved'], c['several'])}",
            f"  parted      {_share(c['parted'], c['several'])}",
            f"  pairs found {_share(c['real found'], c['real'])}",
        ]
        for kind in ("number", "date", "name", "polarity"):
            pairs, right = c[f"{kind} pairs"], c[f"{kind} right"]
            if pairs:
                out.append(
                    f"  precision   {_share(right, pairs)} {kind}"
                    f" (without noise {_share(right, c[f'{kind} known'])})"
                )
        out.append(f"  false flags {_share(c['flagged'], c['single'])}")
        return out


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


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f} ({part}/{whole})" if whole else "-"


def main() -> int:
    if not DATA.exists():
        print(f"skipped: {DATA} is not here; put RAMDocs dev there to measure")
        return 0
    rows = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    half = len(rows) // 2
    began = time.perf_counter()
    for name, part in (("tuned on", rows[:half]), ("held out", rows[half:])):
        tally = Tally()
        for row in part:
            tally.add(row["question"], row["documents"])
        print(f"{name} ({len(part)} questions)")
        print("\n".join(tally.lines()))
    print(f"{time.perf_counter() - began:.1f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
