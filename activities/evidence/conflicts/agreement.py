"""Claims that say the same thing, so that their sources can be counted together.

Two claims agree when one says no content word, name, figure or date beyond the other's, both have
the same figures and dates, and neither denies the other: an edited copy is not a second witness.
Agreement is symmetric; a claim agrees with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from activities.evidence.conflicts.alignment import meet
from activities.evidence.conflicts.statements import is_negated, locate_terms
from activities.evidence.quantities.amounts import read, same_number
from activities.evidence.quantities.dates import same_moment
from activities.evidence.quotes import fold
from activities.evidence.text.names import names
from activities.evidence.text.terms import detect_language
from workflows.contracts.evidence import Claim

_TOGETHER = 0.6
_SAME_QUOTE = 0.5


@dataclass(frozen=True, slots=True)
class _Reading:
    """A claim as far as agreement looks at it."""

    place: int
    text: str
    folded: str
    terms: frozenset[str]
    names: frozenset[str]
    quotes: frozenset[str]
    negated: bool


def groups_of_agreement(claims: Sequence[Claim]) -> list[list[int]]:
    """Places of claims that say the same thing, grouped; a claim that stands alone is a group.

    A claim joins a group only if it agrees with every member, so agreement does not drift along a
    chain of near neighbours.
    """
    readings = _read(claims)
    order = sorted(range(len(claims)), key=lambda place: (claims[place].id, claims[place].text))
    rank = {place: n for n, place in enumerate(order)}
    home = {place: [place] for place in range(len(claims))}
    met = [sorted(pair, key=rank.__getitem__) for pair in _meeting(readings)]
    for x, y in sorted(met, key=lambda pair: (rank[pair[0]], rank[pair[1]])):
        one, other = home[x], home[y]
        if one is not other and all(_agree(readings[m], readings[n]) for m in one for n in other):
            one.extend(other)
            for member in other:
                home[member] = one
    groups = {id(group): group for group in home.values()}
    return sorted(sorted(group) for group in groups.values())


def _meeting(readings: Sequence[_Reading]) -> set[tuple[int, int]]:
    """Pairs that share a quote, their whole text, or two of their rarest terms."""
    met = {(x, y) for x, y in meet([reading.terms for reading in readings])}
    first: dict[str, int] = {}
    for reading in readings:
        for whole in (reading.folded, *sorted(reading.quotes)):
            known = first.setdefault(whole, reading.place)
            if known != reading.place:
                met.add((known, reading.place))
    return met


def _read(claims: Sequence[Claim]) -> list[_Reading]:
    language = detect_language(" ".join(claim.text for claim in claims[:200]))
    return [
        _Reading(
            place,
            claim.text,
            fold(claim.text).lower(),
            frozenset(
                t.term for t in locate_terms(claim.text, language) if not t.term[0].isdigit()
            ),
            frozenset[str]().union(*(name.key for name in names(claim.text))),
            frozenset(fold(quote.text).lower() for quote in claim.quotes),
            is_negated(claim.text),
        )
        for place, claim in enumerate(claims)
    ]


def _agree(a: _Reading, b: _Reading) -> bool:
    if a.folded == b.folded:
        return True
    if a.negated != b.negated or not a.terms or not b.terms or not _same_figures(a.text, b.text):
        return False
    share = len(a.terms & b.terms) / min(len(a.terms), len(b.terms))
    # One quote may carry several statements, so its words alone do not make them one.
    if a.quotes <= b.quotes or b.quotes <= a.quotes:
        return share >= _SAME_QUOTE
    if share < 1 or a.names != b.names:
        return False
    return len(a.terms & b.terms) / len(a.terms | b.terms) >= _TOGETHER


def _same_figures(a: str, b: str) -> bool:
    """Every number and date of each stands in the other, rounding forgiven."""
    (dates_a, amounts_a), (dates_b, amounts_b) = read(a), read(b)
    return all(
        all(any(same_number(x, y) for y in theirs) for x in mine)
        for mine, theirs in ((amounts_a, amounts_b), (amounts_b, amounts_a))
    ) and all(
        all(any(same_moment(x, y) for y in theirs) for x in mine)
        for mine, theirs in ((dates_a, dates_b), (dates_b, dates_a))
    )
