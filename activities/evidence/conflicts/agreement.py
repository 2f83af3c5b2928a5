"""Claims that say the same thing, so that their sources can be counted together.

Two claims agree when they rest on the same quote, or when their words largely coincide, every
number and date of one stands in the other, no name of one is foreign to the other, and neither
denies what the other says or has another phrase in the same place: an edited copy is not a second
witness. Agreement is symmetric; a claim agrees with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from activities.evidence.conflicts.polarity import opposed
from activities.evidence.conflicts.scopes import different
from activities.evidence.conflicts.statements import Reading, read_claims
from activities.evidence.conflicts.substitutions import substitutions
from activities.evidence.conflicts.values import Value
from activities.evidence.quantities.amounts import read, same_number
from activities.evidence.quantities.dates import same_moment
from activities.evidence.words import stems
from workflows.contracts.evidence import Claim

_WITHIN = 0.7  # share of the shorter claim's words that must stand in the longer
_TOGETHER = 0.5
_SAME_QUOTE = 0.5
_KEYS = 5
_CROWD = 16
_FEW = 6


@dataclass(frozen=True, slots=True)
class _Said:
    """A claim as far as agreement looks at it."""

    text: str
    folded: str
    words: frozenset[str]
    quotes: frozenset[str]
    statement: Value


def agree(a: Claim, b: Claim) -> bool:
    """Whether the two claims say the same thing."""
    first, second = _said([a, b])
    return _agree(first, second)


def groups_of_agreement(claims: Sequence[Claim]) -> list[list[int]]:
    """Places of claims that say the same thing, grouped; a claim that stands alone is a group.

    A claim joins a group only if it agrees with every member, so agreement never drifts along a
    chain of near neighbours.
    """
    said = _said(claims)
    order = sorted(range(len(claims)), key=lambda n: (claims[n].id, claims[n].text))
    rank = {place: n for n, place in enumerate(order)}
    home = list(range(len(claims)))
    groups: dict[int, list[int]] = {n: [n] for n in home}
    known: dict[tuple[int, int], bool] = {}

    def agrees(x: int, y: int) -> bool:
        pair = (x, y) if x < y else (y, x)
        if pair not in known:
            known[pair] = _agree(said[x], said[y])
        return known[pair]

    met = [(x, y) if rank[x] < rank[y] else (y, x) for x, y in _meeting(said)]
    for x, y in sorted(met, key=lambda pair: (rank[pair[0]], rank[pair[1]])):
        one, other = home[x], home[y]
        if one == other or not agrees(x, y):
            continue
        if all(agrees(m, n) for m in groups[one] for n in groups[other]):
            for member in groups[other]:
                home[member] = one
            groups[one].extend(groups.pop(other))
    return sorted(sorted(group) for group in groups.values())


def _meeting(said: Sequence[_Said]) -> set[tuple[int, int]]:
    """Pairs that share a quote, all their words, or two of their rarest."""
    counts: dict[str, int] = {}
    for one in said:
        for word in one.words:
            counts[word] = counts.get(word, 0) + 1
    blocks: dict[tuple[str, ...], list[int]] = {}
    for place, one in enumerate(said):
        rare = sorted((counts[w], w) for w in one.words if counts[w] > 1)[:_KEYS]
        for key in combinations(sorted(word for _, word in rare), 2):
            blocks.setdefault(key, []).append(place)
        for whole in dict.fromkeys((one.folded, *sorted(one.quotes))):
            blocks.setdefault((whole,), []).append(place)
    met: set[tuple[int, int]] = set()
    for places in blocks.values():
        # In a crowd neighbours meet; those who say the same in the same words have sorted together.
        if len(places) > _CROWD:
            places.sort(key=lambda place: (said[place].folded, place))
        reach = len(places) if len(places) <= _CROWD else _FEW
        for n, x in enumerate(places):
            near = places[n + 1 : n + 1 + reach]
            met.update((x, y) if x < y else (y, x) for y in near if x != y)
    return met


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _said(claims: Sequence[Claim]) -> list[_Said]:
    return [
        _Said(
            claim.text,
            _folded(claim.text),
            frozenset(stems(claim.text)),
            frozenset(_folded(quote.text) for quote in claim.quotes),
            _statement(claim, reading),
        )
        for claim, reading in zip(claims, read_claims(claims), strict=True)
    ]


def _agree(a: _Said, b: _Said) -> bool:
    if a.folded == b.folded:
        return True
    shared, least = len(a.words & b.words), min(len(a.words), len(b.words))
    if not least or shared / least < _SAME_QUOTE:
        return False
    # One quote may carry several statements, so its words alone do not make them one.
    quoted = a.quotes <= b.quotes or b.quotes <= a.quotes
    if not quoted and (shared / least < _WITHIN or shared / len(a.words | b.words) < _TOGETHER):
        return False
    if not _values_agree(a.text, b.text):
        return False
    if different(a.statement, b.statement) or opposed(a.statement, b.statement):
        return False
    return quoted or not _edited(a.text, b.text)


def _edited(a: str, b: str) -> bool:
    """Whether a phrase of one was exchanged in the other; the same either way round."""
    pairs = [(a, b, once) for once in substitutions(a, b)]
    pairs += [(b, a, once) for once in substitutions(b, a)]
    for first, second, once in pairs:
        mine, theirs = first[slice(*once.mine)], second[slice(*once.theirs)]
        # The same amount in other words is no other phrase.
        if not (read(mine)[1] and _values_agree(mine, theirs)):
            return True
    return False


def _statement(claim: Claim, reading: Reading) -> Value:
    """The claim's first sentence, widened to all its names, periods and contrasts."""
    whole = reading.statements[0]
    return whole._replace(kind="number", text=claim.text, clause=claim.text, sentence=claim.text)


def _values_agree(a: str, b: str) -> bool:
    """Every number and date of each stands in the other, rounding forgiven."""
    dates_a, amounts_a = read(a)
    dates_b, amounts_b = read(b)
    for mine, theirs in ((amounts_a, amounts_b), (amounts_b, amounts_a)):
        if not all(any(same_number(x, y) for y in theirs) for x in mine):
            return False
    return all(
        all(any(same_moment(x, y) for y in theirs) for x in mine)
        for mine, theirs in ((dates_a, dates_b), (dates_b, dates_a))
    )
