"""What claims state: every claim's values, sentences and clauses, read once.

A sentence read before is not read again, so claims that are pooled pass after pass cost little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from activities.evidence.conflicts.sentence import read_sentence
from activities.evidence.conflicts.tables import row_of, rows_in
from activities.evidence.conflicts.values import Value
from activities.evidence.quantities.amounts import Quantity, read
from activities.evidence.quantities.dates import Moment
from activities.evidence.words import sentences
from workflows.contracts.evidence import Claim


@dataclass(slots=True)
class Reading:
    """All that comparison needs of one claim."""

    claim: int
    sources: frozenset[str]
    values: list[Value] = field(default_factory=list)
    amounts: list[Quantity] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    statements: list[Value] = field(default_factory=list)
    """Every sentence as a whole."""
    told: list[Value] = field(default_factory=list)
    """Every clause as a statement of its own."""


def read_claims(claims: Sequence[Claim]) -> list[Reading]:
    """Read each claim's text, then whatever its quotes add."""
    common = _common_words(claims)
    return [_read_claim(place, claim, common) for place, claim in enumerate(claims)]


def rarity(readings: Sequence[Reading]) -> Mapping[str, int]:
    """In how many claims each stem stands."""
    counts: dict[str, int] = {}
    for reading in readings:
        seen: dict[str, None] = {}
        for value in reading.statements:
            seen.update(dict.fromkeys(value.stems))
        for word in seen:
            counts[word] = counts.get(word, 0) + 1
    return counts


def _common_words(claims: Sequence[Claim]) -> frozenset[str]:
    """Words that also stand in lower case: capitalised, they merely open a sentence."""
    common: set[str] = set()
    for claim in claims:
        for text in dict.fromkeys((claim.text, *(q.text for q in claim.quotes))):
            common.update(word for word in text.split() if word.islower())
    return frozenset(word.strip(".,;:()\"'") for word in common)


def _read_claim(place: int, claim: Claim, common: frozenset[str]) -> Reading:
    reading = Reading(place, frozenset(quote.source_id for quote in claim.quotes))
    texts = [claim.text, *(q.text for q in claim.quotes if q.text not in claim.text)]
    for text in dict.fromkeys(texts):
        for sentence in _sentences(text):
            opening = sentence.split(None, 1)[0].strip(".,;:()\"'").lower()
            values, whole, told = read_sentence(sentence, opening in common)
            known = {(v.kind, v.text) for v in reading.values}
            reading.values.extend(
                v._replace(claim=place) for v in values if (v.kind, v.text) not in known
            )
            reading.statements.append(whole._replace(claim=place))
            reading.told.extend(v._replace(claim=place) for v in told)
        dates, amounts = read(text)
        reading.amounts.extend(q for q in amounts if not q.label)
        reading.moments.extend(dates)
    return reading


@lru_cache(maxsize=16384)
def _sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text; a row of a table is one, whatever its semicolons."""
    found: list[str] = []
    if "; " in text and ": " in text:
        running: list[str] = []
        for part in (part for line in text.split("\n") for part in rows_in(line)):
            (running if row_of(part) is None else found).append(part)
        text = "\n".join(running)
    found.extend(text[start:end].strip() for start, end in sentences(text))
    return tuple(found) or (text,)
