"""Which quotes a sentence rests on, and whether what it says is contested.

The writer cites sources, not quotes. Which of a source's quotes a sentence means is read off their
words and figures; where these do not tell, nothing is pretended and all are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from console.report.markup import fold
from workflows.contracts.evidence import Contradiction, Side, Verdict
from workflows.contracts.result import ClaimOut, QuoteOut, ResearchResult

_WORD = re.compile(r"[^\W\d_]{3,}")
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
BACKS = 0.6
"""The share of a claim's words a sentence has when it tells that claim."""


@dataclass(frozen=True)
class Terms:
    """What a text is compared by."""

    words: frozenset[str]
    figures: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Terms:
        return cls(
            frozenset(word[:7] for word in _WORD.findall(text.lower())),
            frozenset(_FIGURE.findall(text)),
        )

    def told_by(self, sentence: Terms) -> float:
        """How far a sentence tells this; 0 where it has other figures."""
        if self.figures and sentence.figures and not self.figures & sentence.figures:
            return 0.0
        if not self.words or not sentence.words:
            return float(bool(self.figures & sentence.figures))
        common = len(self.words & sentence.words)
        # A sentence may tell two claims, or only part of a long one.
        share = max(common / len(self.words), common / len(sentence.words) - 0.1)
        figures = len(self.figures & sentence.figures) / max(1, len(self.figures))
        return share + 0.2 * figures


@dataclass
class Entry:
    """One quote of a source, with the claims that rest on it."""

    id: str
    quote: QuoteOut
    claims: list[ClaimOut] = field(default_factory=list)
    terms: list[Terms] = field(default_factory=list)

    def score(self, sentence: Terms) -> float:
        return max((terms.told_by(sentence) for terms in self.terms), default=0.0)


class Backing:
    """All quotes by the number they are cited by, and all contradictions by their place."""

    def __init__(self, result: ResearchResult) -> None:
        self.numbers = {s.id: s.n for s in result.sources if s.n is not None}
        self.entries: dict[int, list[Entry]] = {n: [] for n in self.numbers.values()}
        self.claims = {claim.id: claim for claim in result.claims}
        self._ids_of: dict[tuple[str, int], list[str]] = {}
        self._gather(result.claims)
        self.contradictions = result.contradictions
        self.disputes: dict[str, list[int]] = {}
        """By claim: the places of the contradictions it has a part in."""
        for place, item in enumerate(result.contradictions, 1):
            for claim_id in item.claim_ids:
                self.disputes.setdefault(claim_id, []).append(place)

    def _gather(self, claims: Iterable[ClaimOut]) -> None:
        known: dict[tuple[int, str], Entry] = {}
        for claim in claims:
            for quote in claim.quotes:
                n = self.numbers.get(quote.source_id)
                if n is None:
                    continue
                key = n, fold(quote.text)
                entry = known.get(key)
                if entry is None:
                    entry = known[key] = Entry(f"q-{n}-{len(self.entries[n]) + 1}", quote)
                    self.entries[n].append(entry)
                entry.claims.append(claim)
                if claim.verdict is not Verdict.FAILED:
                    entry.terms += (Terms.of(claim.text), Terms.of(quote.text))
                self._ids_of.setdefault((claim.id, n), []).append(entry.id)

    def quotes_for(self, n: int, sentence: str) -> list[str]:
        """The ids of the quotes of a source that back a sentence, best first."""
        wanted = Terms.of(sentence)
        scored = [(entry.score(wanted), entry.id) for entry in self.entries.get(n, ())]
        found = [(score, name) for score, name in scored if score >= BACKS]
        return [name for _, name in sorted(found, key=lambda pair: -pair[0])]

    def quotes_of(self, n: int, claim_ids: Iterable[str]) -> list[str]:
        """The ids of the quotes of a source that certain claims rest on."""
        return [name for claim_id in claim_ids for name in self._ids_of.get((claim_id, n), ())]

    def disputes_of(self, numbers: Iterable[int], sentence: str) -> list[int]:
        """The contradictions a sentence has a side in: it cites the side and tells its claim."""
        wanted = Terms.of(sentence)
        found: dict[int, None] = {}
        for n in numbers:
            for entry in self.entries.get(n, ()):
                for claim in entry.claims:
                    if claim.id in self.disputes and (
                        Terms.of(claim.text).told_by(wanted) >= BACKS + 0.1
                    ):
                        found.update(dict.fromkeys(self.disputes[claim.id]))
        return list(found)

    def disputes_between(self, some: Sequence[int], others: Sequence[int]) -> list[int]:
        """The contradiction that has the one on a side and the others on another, if it is one."""
        found = [
            place
            for place, item in enumerate(self.contradictions, 1)
            if any(
                one is not two and self._holds(one, some) and self._holds(two, others)
                for one in item.sides
                for two in item.sides
            )
        ]
        return found if len(found) == 1 else []

    def _holds(self, side: Side, numbers: Sequence[int]) -> bool:
        return any(self.numbers.get(source) in numbers for source in side.source_ids)

    def dispute(self, place: int) -> Contradiction:
        return self.contradictions[place - 1]
