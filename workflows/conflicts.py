"""Claims that cannot all be right as they stand: found mechanically, judged by nobody here.

`candidates` compares values (numbers, dates, names) and polarity of claims that speak of the same
thing: same entity, measure, unit and period. Another period or entity that is named on both sides
ends the comparison; a definition, a method or the age of a document does not, since those explain
a difference rather than dissolve it. The result does not depend on the order of the claims.

Cost is near linear: values meet only in blocks of shared rare words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import log
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from workflows.agreement import agree, groups_of_agreement
from workflows.answers import answers, comparable_unit
from workflows.evidence import Claim, Record
from workflows.explanations import Explanation, explain
from workflows.moments import apart, same_moment
from workflows.polarity import DIRECTIONS, opposed
from workflows.quantities import read, same_number
from workflows.statements import (
    Reading, Value, block, comparable, different, phrase, rarity, read_claims,
)  # fmt: skip
from workflows.substitutions import lone_substitution
from workflows.words import STOP, WORD, stem

Kind = Literal["number", "date", "name", "polarity"]
_NONE: Mapping[str, str] = MappingProxyType({})
_NO_DATES: Mapping[str, str | None] = MappingProxyType({})
_KEYS = 6  # rare stems per value that open a block
_ANSWERS = 8  # more different answers than this, and the question had not one answer
_CROWD = 48  # a block larger than this is held together by no rare word


class Position(Record):
    """One side of a candidate: the claims that give this value, and the value as it stands."""

    claim_ids: tuple[str, ...] = Field(min_length=1)
    value: str
    date: str = ""
    """The oldest known date of the sources that hold it."""


class Candidate(Record):
    """Claims about one thing that give it different values."""

    kind: Kind
    about: str
    sides: tuple[Position, ...] = Field(min_length=2)

    @property
    def claim_ids(self) -> tuple[str, ...]:
        return tuple(claim for side in self.sides for claim in side.claim_ids)


def candidates(
    claims: Sequence[Claim],
    *,
    questions: Mapping[str, str] = _NONE,
    dates: Mapping[str, str | None] = _NO_DATES,
) -> tuple[Candidate, ...]:
    """Every group of claims that give one thing different values.

    `questions` maps a facet to the question its claims were collected for, `dates` a source to its
    ISO date.
    """
    ordered = sorted(claims, key=lambda claim: (claim.id, claim.text))
    readings = read_claims(ordered)
    finder = _Finder(ordered, readings, dates)
    asked = [
        group
        for facet in sorted(questions)
        for group in _asked(finder, facet, questions[facet])
    ]
    told = [*finder.valued(), *finder.polar(), *finder.reworded()]
    return _distinct([*asked, *told])


def _asked(finder: _Finder, facet: str, question: str) -> list[Candidate]:
    places = [n for n, claim in enumerate(finder.claims) if claim.facet_id == facet]
    found = answers(question, [finder.claims[n] for n in places], places)
    units = dict.fromkeys(comparable_unit(value) for value in found)
    return [
        candidate
        for unit in units
        for group in _by_period([v for v in found if comparable_unit(v) == unit])
        for candidate in finder.answered(group, question)
    ]


def _by_period(values: Sequence[Value]) -> list[list[Value]]:
    """Answers that may hold for one period; one that names none is held against all."""
    timeless = [value for value in values if not value.periods]
    periods = {value.periods[0].first: value.periods[0] for value in values if value.periods}
    if not periods:
        return [list(values)]
    return [
        timeless + [v for v in values if v.periods and not apart(v.periods[0], period)]
        for _, period in sorted(periods.items())
    ]


def _distinct(found: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Leave out a candidate whose claims another already sets against each other."""
    kept: list[Candidate] = []
    parted: set[frozenset[str]] = set()
    for candidate in found:
        pairs = {
            frozenset((x, y))
            for a, b in combinations(candidate.sides, 2)
            for x in a.claim_ids
            for y in b.claim_ids
            if x != y
        }
        if pairs - parted:
            kept.append(candidate)
            parted |= pairs
    return tuple(kept)


class _Finder:
    """One run over one set of claims."""

    def __init__(
        self, claims: Sequence[Claim], readings: Sequence[Reading], dates: Mapping[str, str | None]
    ) -> None:
        self.claims, self.readings, self.dates = claims, readings, dates
        self.counts = rarity(readings)

    def weight(self, word: str) -> float:
        return log(1 + (len(self.claims) + 1) / self.counts.get(word, 1))

    def valued(self) -> list[Candidate]:
        """Numbers, dates and names that differ."""
        values = [value for reading in self.readings for value in reading.values]
        found: list[Candidate] = []
        pairs = [(a, b) for a, b in self._meeting(values) if self._same_thing(a, b)]
        for kind in ("number", "date", "name"):
            found.extend(self.grouped([(a, b) for a, b in pairs if a.kind == kind]))
        return found

    def polar(self) -> list[Candidate]:
        """Statements of which one denies the other."""
        statements = [value for reading in self.readings for value in reading.statements]
        found: list[Candidate] = []
        for a, b in self._meeting(statements):
            within, together = self._overlap(a, b, DIRECTIONS)
            if within < 0.75 or together < 0.6 or different(a, b) or not opposed(a, b):
                continue
            sides = tuple(
                Position(
                    claim_ids=(self.claims[v.claim].id,), value=v.sentence, date=self._date([v])
                )
                for v in (a, b)
            )
            found.append(Candidate(kind="polarity", about=self._about([a, b]), sides=sides))
        return found

    def reworded(self) -> list[Candidate]:
        """Sentences told twice with one phrase exchanged, the entity being the same."""
        statements = [value for reading in self.readings for value in reading.statements]
        pairs: list[tuple[Value, Value]] = []
        for a, b in self._meeting(statements):
            within, together = self._overlap(a, b)
            if within < 0.6 or together < 0.45 or not _share_entity(a, b):
                continue
            once = lone_substitution(a.sentence, b.sentence)
            if once is None:
                continue
            mine, theirs = a.sentence[slice(*once.mine)], b.sentence[slice(*once.theirs)]
            if read(mine) != ((), ()) or read(theirs) != ((), ()):
                continue  # numbers and dates have their own comparison
            pairs.append((phrase(a, mine), phrase(b, theirs)))
        return self.grouped(pairs)

    def answered(self, group: Sequence[Value], question: str) -> list[Candidate]:
        """One candidate for the answers to a question, without claims that give several of them."""
        sides = self._sides(self._decided(group))
        if not 1 < len(sides) <= _ANSWERS:
            return []
        return [Candidate(kind=_kind(group), about=self._named(question), sides=tuple(sides))]

    def _decided(self, group: Sequence[Value]) -> list[Value]:
        different_values: list[Value] = []
        for value in sorted(group, key=_value_order):
            if not any(_same_value(value, other) for other in different_values):
                different_values.append(value)
        if len(different_values) > 2 * _ANSWERS:
            return []
        return [
            value
            for value in group
            if not any(
                self._holds(self.readings[value.claim], other)
                for other in different_values
                if not _same_value(value, other)
            )
        ]

    def grouped(self, pairs: Sequence[tuple[Value, Value]]) -> list[Candidate]:
        """Join pairs about one thing into candidates with one side per value."""
        groups: dict[int, list[Value]] = {}
        home: dict[int, int] = {}
        for a, b in pairs:
            for value in (a, b):
                if id(value) not in home:
                    home[id(value)] = len(home)
                    groups[home[id(value)]] = [value]
            one, other = home[id(a)], home[id(b)]
            if one == other:
                continue
            # A value that names no entity must not tie two entities together.
            if any(different(x, y) for x in groups[one] for y in groups[other]):
                continue
            for value in groups[other]:
                home[id(value)] = one
            groups[one].extend(groups.pop(other))
        found = []
        for group in groups.values():
            sides = self._sides(group)
            if len(sides) > 1:
                found.append(
                    Candidate(kind=_kind(group), about=self._about(group), sides=tuple(sides))
                )
        return found

    def _sides(self, group: Sequence[Value]) -> list[Position]:
        """One side per value; a claim that gives several values takes no side between them."""
        parts: list[list[Value]] = []
        for value in sorted(group, key=_value_order):
            for part in parts:
                # Sorted by value, so the first and the newest bound what the part holds.
                if _same_value(value, part[0]) and _same_value(value, part[-1]):
                    part.append(value)
                    break
            else:
                parts.append([value])
        often: dict[int, int] = {}
        for part in parts:
            for claim in sorted({v.claim for v in part}):
                often[claim] = often.get(claim, 0) + 1
        sides = []
        for part in parts:
            ids = tuple(
                dict.fromkeys(
                    self.claims[v.claim].id
                    for v in sorted(part, key=lambda v: v.claim)
                    if often[v.claim] == 1
                )
            )
            if ids:
                exact = min(part, key=_exactness)
                sides.append(Position(claim_ids=ids, value=exact.text, date=self._date(part)))
        return sorted(sides, key=lambda side: side.claim_ids)

    def _meeting(self, values: Sequence[Value]) -> list[tuple[Value, Value]]:
        """Pairs of different claims that share two rare words and a block, each once."""
        blocks: dict[tuple[object, ...], list[int]] = {}
        for place, value in enumerate(values):
            rare = sorted(
                (w for w in value.stems if self.counts.get(w, 0) > 1),
                key=lambda w: (self.counts[w], w),
            )[:_KEYS]
            for key in combinations(sorted(rare), 2):
                blocks.setdefault((*block(value), *key), []).append(place)
            if len(rare) == 1:
                blocks.setdefault((*block(value), *rare), []).append(place)
        met: dict[tuple[int, int], None] = {}
        for places in blocks.values():
            if 1 < len(places) <= _CROWD:
                met.update(dict.fromkeys(combinations(places, 2)))
        return [
            (values[a], values[b]) for a, b in sorted(met) if values[a].claim != values[b].claim
        ]

    def _overlap(
        self, a: Value, b: Value, without: frozenset[str] = frozenset()
    ) -> tuple[float, float]:
        """How much of the shorter, and of both together, is shared, by weight of words."""
        shared = sum(self.weight(w) for w in sorted((a.stems & b.stems) - without))
        mine, theirs = (sum(self.weight(w) for w in sorted(v.stems - without)) for v in (a, b))
        least, all_ = min(mine, theirs), mine + theirs - shared
        return (shared / least if least else 0.0), (shared / all_ if all_ else 0.0)

    def _same_thing(self, a: Value, b: Value) -> bool:
        if not comparable(a, b) or different(a, b):
            return False
        shared = a.stems & b.stems
        named = bool(a.names and b.names) or bool(set(a.labels) & set(b.labels))
        if a.kind == "name" and not (named and len(shared) > 1):
            return False
        if not a.near & b.near and not (a.unit and a.unit == b.unit):
            return False
        within, together = self._overlap(a, b)
        if within < (0.5 if named else 0.6) or together < 0.25 or len(shared) < 2:
            return False
        return _same_value(a, b) or not self._holds_both(a, b)

    def _holds_both(self, a: Value, b: Value) -> bool:
        """Whether one claim gives the other's value too, beside its own: then they agree."""
        return self._holds(self.readings[a.claim], b) or self._holds(self.readings[b.claim], a)

    def _holds(self, reading: Reading, value: Value) -> bool:
        if value.amount is not None:
            amount = value.amount
            return any(same_number(amount, q) for q in reading.amounts)
        if value.moment is not None:
            moment = value.moment
            return any(same_moment(moment, m) for m in reading.moments)
        return any(value.text in statement.sentence for statement in reading.statements)

    def _about(self, group: Sequence[Value]) -> str:
        shared = frozenset.intersection(*(value.stems for value in group))
        shared = shared or group[0].stems
        words = [
            word
            for word in WORD.findall(group[0].sentence)
            if stem(word) in shared and word.lower() not in STOP
        ]
        return " ".join(list(dict.fromkeys(words))[:7]) or group[0].text

    def _named(self, question: str) -> str:
        words = [w for w in WORD.findall(question) if w.lower() not in STOP]
        return " ".join(words[:9]) or question

    def _date(self, values: Sequence[Value]) -> str:
        known = [
            self.dates.get(source) or ""
            for value in values
            for source in self.readings[value.claim].sources
        ]
        return min((day for day in known if day), default="")


def _share_entity(a: Value, b: Value) -> bool:
    names = {word for name in a.names for word in name} & {w for name in b.names for w in name}
    return bool(names or set(a.labels) & set(b.labels))


def _kind(group: Sequence[Value]) -> Kind:
    kinds: dict[str, Kind] = {"number": "number", "date": "date"}
    return kinds.get(group[0].kind, "name")


def _value_order(value: Value) -> tuple[float, str, int]:
    if value.amount is not None:
        return value.amount.value, value.text, value.claim
    if value.moment is not None:
        return float(value.moment.first), value.text, value.claim
    return 0.0, " ".join(value.name), value.claim


def _exactness(value: Value) -> tuple[float, int, int]:
    """The most exact wording of a value comes first; a longer name says more than a shorter."""
    if value.amount is not None:
        return value.amount.step + (value.amount.high - value.amount.value), 0, value.claim
    if value.moment is not None:
        return float(value.moment.last - value.moment.first), 0, value.claim
    return 0.0, -len(value.name), value.claim


def _same_value(a: Value, b: Value) -> bool:
    if a.amount is not None and b.amount is not None:
        return same_number(a.amount, b.amount)
    if a.moment is not None and b.moment is not None:
        return same_moment(a.moment, b.moment)
    return set(a.name) <= set(b.name) or set(b.name) <= set(a.name)


__all__ = ["Candidate", "Explanation", "Kind", "Position", "agree", "candidates", "explain",
           "groups_of_agreement"]  # fmt: skip
