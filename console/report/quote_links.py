"""Link sentences of the report to the quotes that support them, and to contradictions.

The writer cites sources, not quotes. A sentence is matched to the quotes of a source by common
words and figures; without a match, all quotes of the source are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from workflows.contracts.evidence import Verdict
from workflows.contracts.result import ClaimOut, QuoteOut, ResearchResult

_WORD = re.compile(r"[^\W\d_]{3,}")
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
MATCH_SCORE = 0.6
"""The score from which on a sentence states a claim."""


def collapse_spaces(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class Terms:
    """The words and figures of a text."""

    words: frozenset[str]
    figures: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Terms:
        return cls(
            frozenset(word[:7] for word in _WORD.findall(text.lower())),
            frozenset(_FIGURE.findall(text)),
        )

    def score_against(self, sentence: Terms) -> float:
        """How much of this text a sentence states; 0 if their figures differ."""
        if self.figures and sentence.figures and not self.figures & sentence.figures:
            return 0.0
        if not self.words or not sentence.words:
            return float(bool(self.figures & sentence.figures))
        common = len(self.words & sentence.words)
        # A sentence may state two claims, or only part of a long one.
        share = max(common / len(self.words), common / len(sentence.words) - 0.1)
        figures = len(self.figures & sentence.figures) / max(1, len(self.figures))
        return share + 0.2 * figures


@dataclass
class Entry:
    """One quote of a source, with the claims it supports."""

    id: str
    quote: QuoteOut
    claims: list[ClaimOut] = field(default_factory=list)
    terms: list[Terms] = field(default_factory=list)

    def is_same_as(self, claim: ClaimOut) -> bool:
        """Whether a claim only repeats the quote."""
        texts = (claim.text, self.quote.text)
        return len({collapse_spaces(text).rstrip(".") for text in texts}) == 1

    def score(self, sentence: Terms) -> float:
        return max((terms.score_against(sentence) for terms in self.terms), default=0.0)


class QuoteLinks:
    """All quotes by the number of their source, and all contradictions by their number."""

    def __init__(self, result: ResearchResult) -> None:
        self.numbers = {s.id: s.n for s in result.sources if s.n is not None}
        self.entries: dict[int, list[Entry]] = {n: [] for n in self.numbers.values()}
        self._quote_ids: dict[tuple[str, int], list[str]] = {}
        self._collect(result.claims)
        self.contradictions = result.contradictions
        self.disputes: dict[str, list[int]] = {}
        """By claim id: the numbers of its contradictions."""
        for place, item in enumerate(result.contradictions, 1):
            for claim_id in item.claim_ids:
                self.disputes.setdefault(claim_id, []).append(place)

    def _collect(self, claims: Iterable[ClaimOut]) -> None:
        known: dict[tuple[int, str], Entry] = {}
        for claim in claims:
            for quote in claim.quotes:
                n = self.numbers.get(quote.source_id)
                if n is None:
                    continue
                key = n, collapse_spaces(quote.text)
                entry = known.get(key)
                if entry is None:
                    entry = known[key] = Entry(f"q-{n}-{len(self.entries[n]) + 1}", quote)
                    self.entries[n].append(entry)
                entry.claims.append(claim)
                if claim.verdict is not Verdict.FAILED:
                    entry.terms += (Terms.of(claim.text), Terms.of(quote.text))
                self._quote_ids.setdefault((claim.id, n), []).append(entry.id)

    def find_quotes(self, n: int, sentence: str) -> list[str]:
        """The ids of the quotes of a source that support a sentence, best first."""
        wanted = Terms.of(sentence)
        scored = [(entry.score(wanted), entry.id) for entry in self.entries.get(n, ())]
        found = [(score, name) for score, name in scored if score >= MATCH_SCORE]
        return [name for _, name in sorted(found, key=lambda pair: -pair[0])]

    def quotes_of_claims(self, n: int, claim_ids: Iterable[str]) -> list[str]:
        """The ids of the quotes of a source that support these claims."""
        return [name for claim_id in claim_ids for name in self._quote_ids.get((claim_id, n), ())]

    def cite_claims(self, claim_ids: Iterable[str]) -> list[tuple[int, list[str]]]:
        """The numbers of the sources of these claims, each with the ids of its quotes."""
        wanted = list(claim_ids)
        numbers = sorted({n for id_, n in self._quote_ids if id_ in wanted})
        return [(n, self.quotes_of_claims(n, wanted)) for n in numbers]

    def find_disputes(self, numbers: Iterable[int], sentence: str) -> list[int]:
        """The contradictions of a sentence: it cites one side and states its claim."""
        wanted = Terms.of(sentence)
        found: dict[int, None] = {}
        for n in numbers:
            for entry in self.entries.get(n, ()):
                for claim in entry.claims:
                    if claim.id in self.disputes and (
                        Terms.of(claim.text).score_against(wanted) >= MATCH_SCORE + 0.1
                    ):
                        found.update(dict.fromkeys(self.disputes[claim.id]))
        return list(found)
