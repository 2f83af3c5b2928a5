"""Which values of different claims are about the same thing, and whether they are the same.

Values meet only where they share two of their rarest words, so the work grows with the claims and
not with their pairs. Sums are exact whatever the order of a set, so nothing depends on hashing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import fsum, log

from activities.evidence.conflicts.lexicon import WISHES
from activities.evidence.conflicts.scopes import (
    block,
    comparable,
    different,
    name_matches,
    names_left,
    share_entity,
)
from activities.evidence.conflicts.statements import Reading, rarity
from activities.evidence.conflicts.substitutions import LEAD
from activities.evidence.conflicts.values import Value
from activities.evidence.quantities.amounts import Quantity, read, same_number
from activities.evidence.quantities.dates import same_moment
from activities.evidence.words import negated, stem

_KEYS = 6  # rare stems of a value that open a block
_CROWD = 16  # in a larger block everybody meets a few, instead of everybody
_FEW = 6
# How much of the shorter clause must be shared, by weight of words: less where both name an entity,
# more where a figure counts nothing in particular, or where one source would contradict itself.
_NAMED = 0.6
_UNNAMED = 0.75
_VAGUE = 0.8
_ONE_SOURCE = 0.9
_TOGETHER = 0.34
_SURE = 0.45

Pair = tuple[Value, Value]


class Comparison:
    """One set of claims, read and ready to be compared."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self.readings = readings
        self.counts = rarity(readings)
        size = len(readings) + 1
        self._weights = {word: log(1 + size / n) for word, n in self.counts.items()}
        self._totals: dict[frozenset[str], float] = {}

    def meeting(self, values: Sequence[Value]) -> list[Pair]:
        """Pairs of values of different claims that may be about one thing, each once, in order."""
        blocks: dict[tuple[str, ...], list[int]] = {}
        counts = self.counts
        for place, value in enumerate(values):
            kind = block(value)
            about = value.near if len(value.near) > 3 else value.stems
            rare = sorted((n, w) for w in about if (n := counts.get(w, 0)) > 1)[:_KEYS]
            words = sorted(word for _, word in rare)
            keys = combinations(words, 2) if len(words) > 1 else [tuple(words)]
            for key in keys:
                blocks.setdefault((*kind, *key), []).append(place)
        met: set[tuple[int, int]] = set()
        for places in blocks.values():
            if len(places) > 1:
                met.update(_pairs(places, values))
        return [
            (values[p], values[q]) for p, q in sorted(met) if values[p].claim != values[q].claim
        ]

    def overlap(
        self, a: Value, b: Value, without: frozenset[str] = frozenset()
    ) -> tuple[float, float]:
        """How much of the shorter, and of both together, is shared, by weight of words.

        What one side adds to a name both have ("the Office", "the Office of Works") is not counted.
        """
        without = without | _name_rest(a, b)
        shared = self._weight((a.stems & b.stems) - without)
        mine, theirs = self._total(a.stems - without), self._total(b.stems - without)
        least, union = min(mine, theirs), mine + theirs - shared
        return (shared / least if least else 0.0), (shared / union if union else 0.0)

    def same_thing(self, a: Value, b: Value) -> bool:
        """Whether both speak of one entity, measure, unit and period, as far as words tell."""
        # The cheap questions first: most pairs that meet are about different things.
        shared = (a.stems & b.stems) - {a.unit.partition("/")[0], b.unit.partition("/")[0]}
        if len(shared) < 2 or a.near.isdisjoint(b.near):
            return False
        if not comparable(a, b) or different(a, b):
            return False
        if a.row is None and not self._told_alike(a, b, len(shared)):
            return False
        if same_value(a, b):
            return True
        # A claim that gives the other's value too, beside its own, does not contradict it.
        return not (self.holds(a.claim, b) or self.holds(b.claim, a))

    def _told_alike(self, a: Value, b: Value, shared: int) -> bool:
        """Whether the clauses share so much that they say the same but for the value."""
        named = share_entity(a, b)
        if a.kind == "name" and not named:
            return False
        if not named:
            # Without a name in common the words must carry it alone.
            measured = bool(a.measures & b.measures) and not (a.names or b.names)
            if a.leans or b.leans or (shared < 3 and not measured):
                return False
        elif a.kind == "number" and _only_names(a, b):
            return False
        within, together = self.overlap(a, b)
        vague = a.kind == "number" and (not a.unit or a.unit != b.unit)
        if vague and (names_left(a.names, b.names) and names_left(b.names, a.names)):
            return False
        if vague and (a.stems & WISHES) != (b.stems & WISHES):
            return False
        if self.readings[a.claim].sources == self.readings[b.claim].sources:
            # A source seldom contradicts itself: what it gives twice is mostly two things.
            return bool(a.names and b.names) and within >= _ONE_SOURCE and together >= _SURE
        if within < (_VAGUE if vague else _NAMED if named else _UNNAMED):
            return False
        # A thing has many dates: the clauses must be one event, not only one thing.
        sure = vague or not named or a.kind == "date"
        if together < (_SURE if sure else _TOGETHER):
            return False
        if a.kind == "number" and negated(a.clause) != negated(b.clause):
            return False  # what somebody did not do gives no figure
        return a.kind != "date" or self._amounts_agree(a, b)

    def _amounts_agree(self, a: Value, b: Value) -> bool:
        """A date of an event that comes with another amount is the date of another event."""
        ours, theirs = _amounts_in(a), _amounts_in(b)
        return not ours or not theirs or any(same_number(x, y) for x in ours for y in theirs)

    def holds(self, claim: int, value: Value) -> bool:
        """Whether the claim states the value anywhere."""
        reading = self.readings[claim]
        if value.amount is not None:
            amount = value.amount
            return any(same_number(amount, known) for known in reading.amounts)
        if value.moment is not None:
            moment = value.moment
            return any(same_moment(moment, known) for known in reading.moments)
        if value.slot:
            return any(v.slot == value.slot and same_value(v, value) for v in reading.values)
        return any(value.text in statement.sentence for statement in reading.statements)

    def _weight(self, words: frozenset[str]) -> float:
        return fsum(self._weights.get(word, 0.0) for word in words)

    def _total(self, words: frozenset[str]) -> float:
        if words not in self._totals:
            self._totals[words] = self._weight(words)
        return self._totals[words]


def _name_rest(a: Value, b: Value) -> frozenset[str]:
    """The words by which a name of one is fuller than the same name of the other."""
    rest = {
        stem(word)
        for x in a.names
        for y in b.names
        if x != y and name_matches(x, y)
        for word in set(x) ^ set(y)
    }
    return frozenset(rest) - (a.stems & b.stems) if rest else frozenset()


def _only_names(a: Value, b: Value) -> bool:
    """Whether two clauses share no word but names and the unit, and one says something more."""
    units = {a.unit.partition("/")[0], b.unit.partition("/")[0]}
    shared = (a.stems & b.stems) - units
    if max(len(value.stems - shared - units) for value in (a, b)) < 2:
        return False
    return shared <= {stem(word) for value in (a, b) for name in value.names for word in name}


def _amounts_in(value: Value) -> list[Quantity]:
    return [q for q in read(value.clause)[1] if not q.label]


def told_twice(statements: Sequence[Value]) -> list[Pair]:
    """Pairs of statements that open with the same words, in order."""
    blocks: dict[tuple[str, ...], list[int]] = {}
    for place, value in enumerate(statements):
        opening = tuple(value.sentence.lower().split(None, LEAD)[:LEAD])
        blocks.setdefault(opening, []).append(place)
    met: set[tuple[int, int]] = set()
    for places in blocks.values():
        places.sort(key=lambda place: (statements[place].sentence, place))
        reach = len(places) if len(places) <= _CROWD else _FEW
        for n, p in enumerate(places):
            met.update((min(p, q), max(p, q)) for q in places[n + 1 : n + 1 + reach])
    pairs = [(statements[p], statements[q]) for p, q in sorted(met)]
    return [(a, b) for a, b in pairs if a.claim != b.claim]


def _pairs(places: Sequence[int], values: Sequence[Value]) -> Iterable[tuple[int, int]]:
    """Everybody with everybody; in a crowd, everybody with a few that differ in their value."""
    if len(places) <= _CROWD:
        return combinations(places, 2)
    few = list({values[p].text: p for p in reversed(places)}.values())[-_FEW:]
    return ((p, q) if p < q else (q, p) for p in places for q in few if p != q)


def same_value(a: Value, b: Value) -> bool:
    """Whether the two values, taken to be about one thing, are one value."""
    if a.amount is not None and b.amount is not None:
        return same_number(a.amount, b.amount)
    if a.moment is not None and b.moment is not None:
        return same_moment(a.moment, b.moment)
    return set(a.name) <= set(b.name) or set(b.name) <= set(a.name)
