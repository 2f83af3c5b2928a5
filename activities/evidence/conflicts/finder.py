"""Claims that cannot all be right as they stand: found mechanically, judged by nobody here.

`candidates` compares values (numbers, dates, names) and polarity of claims that speak of the same
thing: same entity, measure, unit and period. Another period or entity that is named on both sides
ends the comparison; a definition, a method or the age of a document does not, since those explain
a difference rather than dissolve it. The result does not depend on the order of the claims.

`agree` and `groups_of_agreement` are the other half: claims that say the same thing. `explain`
guesses why two sides differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from activities.evidence.conflicts.answers import answers, comparable_unit
from activities.evidence.conflicts.brackets import both_aside, in_aside
from activities.evidence.conflicts.comparison import Comparison, Pair, same_value, told_twice
from activities.evidence.conflicts.polarity import DIRECTIONS, NEUTRAL, opposed, stance
from activities.evidence.conflicts.scopes import different, scope, share_entity
from activities.evidence.conflicts.statements import read_claims
from activities.evidence.conflicts.substitutions import lone_substitution
from activities.evidence.conflicts.values import Value, phrase
from activities.evidence.conflicts.wording import (
    about,
    about_denial,
    about_question,
    stance_text,
    value_text,
)
from activities.evidence.quantities.amounts import read
from activities.evidence.quantities.dates import apart
from workflows.contracts.evidence import Claim, Record

Kind = Literal["number", "date", "name", "polarity"]
_NO_QUESTIONS: Mapping[str, str] = MappingProxyType({})
_NO_DATES: Mapping[str, str | None] = MappingProxyType({})
# Shares of two statements, of the shorter and of both together, that a denial must have in common;
# less where one says all the other says.
_DENIED, _SURELY_DENIED = 0.75, 0.85
_TOGETHER, _TOGETHER_WITHIN = 0.6, 0.45
_ANSWERS = 8  # more different answers than this, and the question had not one answer
_RELATIVE = re.compile(
    r"(?:(?:on|last|this|next|past|the|same|earlier|later|in|week|month|year|day|night|morning|"
    r"afternoon|evening|today|yesterday|tomorrow|tonight|ago|before|after|weekend|\w+day)\W*)+",
    re.IGNORECASE,
)


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
    questions: Mapping[str, str] = _NO_QUESTIONS,
    dates: Mapping[str, str | None] = _NO_DATES,
) -> tuple[Candidate, ...]:
    """Every group of claims that give one thing different values.

    `questions` maps a facet to the question its claims were collected for, `dates` a source to its
    ISO date.
    """
    finder = _Finder(sorted(claims, key=lambda claim: (claim.id, claim.text)), dates)
    found = [
        candidate
        for facet in sorted(questions)
        for candidate in finder.answered(facet, questions[facet])
    ]
    return _distinct([*found, *finder.valued(), *finder.told()])


def _distinct(found: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Leave out a candidate that parts no claims but those an earlier one parts already."""
    kept: list[Candidate] = []
    side_of: list[dict[str, int]] = []
    naming: dict[str, list[int]] = {}
    for candidate in found:
        sides = {claim: n for n, side in enumerate(candidate.sides) for claim in side.claim_ids}
        first = candidate.claim_ids[0]
        if any(_parts(side_of[n], sides) for n in naming.get(first, ())):
            continue
        for claim in sides:
            naming.setdefault(claim, []).append(len(kept))
        kept.append(candidate)
        side_of.append(sides)
    return tuple(kept)


def _parts(earlier: Mapping[str, int], later: Mapping[str, int]) -> bool:
    """Whether the earlier candidate sets apart every two claims that the later one does."""
    if any(claim not in earlier for claim in later):
        return False
    taken: dict[int, int] = {}
    return all(taken.setdefault(earlier[claim], side) == side for claim, side in later.items())


class _Finder:
    """One run over one set of claims, in the order of their ids."""

    def __init__(self, claims: Sequence[Claim], dates: Mapping[str, str | None]) -> None:
        self.claims, self.dates = claims, dates
        self.readings = read_claims(claims)
        self.comparison = Comparison(self.readings)

    def answered(self, facet: str, question: str) -> list[Candidate]:
        """Different answers to the question the claims were collected for."""
        places = [n for n, claim in enumerate(self.claims) if claim.facet_id == facet]
        found = answers(question, [self.claims[n] for n in places], places)
        result = []
        for unit in dict.fromkeys(comparable_unit(value) for value in found):
            for group in _by_period([v for v in found if comparable_unit(v) == unit]):
                sides = self._sides(self._decided(group))
                if 1 < len(sides) <= _ANSWERS:
                    named = about_question(question)
                    result.append(Candidate(kind=_kind(group[0]), about=named, sides=sides))
        return result

    def valued(self) -> list[Candidate]:
        """Numbers, dates and names that differ."""
        values = [value for reading in self.readings for value in reading.values]
        met = self.comparison.meeting(values)
        return self._grouped(
            [(a, b) for a, b in met if self.comparison.same_thing(a, b) and not both_aside(a, b)]
        )

    def told(self) -> list[Candidate]:
        """Statements of which one denies the other, or repeats it with another phrase in it."""
        told = [value for reading in self.readings for value in reading.told]
        turned = [s for s in told if stance(s.clause) != NEUTRAL]
        topics = frozenset(word for s in turned for word in s.stems)
        near = [s for s in told if len(s.stems & topics) > 1]
        denied = [
            (a, b)
            for a, b in self.comparison.meeting(near)
            if stance(a.clause) != stance(b.clause) and self._denies(a, b)
        ]
        statements = [value for reading in self.readings for value in reading.statements]
        reworded = [
            pair
            for a, b in told_twice(statements)
            if share_entity(a, b) and stance(a.clause) == stance(b.clause)
            for pair in _reworded(a, b)
        ]
        return [*self._denials(denied), *self._grouped(reworded)]

    def _denies(self, a: Value, b: Value) -> bool:
        within, together = self.comparison.overlap(a, b, DIRECTIONS)
        if within < _DENIED or not opposed(a, b) or different(a, b):
            return False
        if (a.leans or b.leans) and not share_entity(a, b):
            return False
        # Where each has a word the other lacks, one may deny what the other does not say.
        if (a.stems - b.stems - DIRECTIONS) and (b.stems - a.stems - DIRECTIONS):
            return within >= _SURELY_DENIED and together >= _TOGETHER
        return together >= _TOGETHER_WITHIN

    def _grouped(self, pairs: Sequence[Pair]) -> list[Candidate]:
        """Join pairs about one thing into candidates with one side per value."""
        groups: dict[int, list[Value]] = {}
        scopes: dict[int, dict[object, Value]] = {}
        home: dict[tuple[int, str, str], int] = {}
        for a, b in pairs:
            for value in (a, b):
                if _place(value) not in home:
                    home[_place(value)] = place = len(home)
                    groups[place], scopes[place] = [value], {scope(value): value}
            one, other = sorted((home[_place(a)], home[_place(b)]))
            if one == other:
                continue
            # A value that names no entity must not tie two entities together.
            if any(different(x, y) for x in scopes[one].values() for y in scopes[other].values()):
                continue
            for value in groups[other]:
                home[_place(value)] = one
            groups[one].extend(groups.pop(other))
            scopes[one].update(scopes.pop(other))
        found = []
        for group in groups.values():
            sides = self._sides(group)
            if len(sides) > 1:
                found.append(Candidate(kind=_kind(group[0]), about=about(group), sides=sides))
        order = ["number", "date", "name"]
        return sorted(found, key=lambda c: (order.index(c.kind), c.claim_ids))

    def _denials(self, pairs: Sequence[Pair]) -> list[Candidate]:
        """Two sides per statement: those who say it and those who deny it."""
        groups: list[tuple[list[Value], list[Value]]] = []
        for a, b in pairs:
            for yes, no in groups:
                for mine, theirs in ((yes, no), (no, yes)):
                    if a in mine and b not in mine:
                        theirs.extend([b] if b not in theirs else [])
                        break
                    if b in mine and a not in mine:
                        theirs.extend([a] if a not in theirs else [])
                        break
                else:
                    continue
                break
            else:
                groups.append(([a], [b]))
        found = []
        for yes, no in groups:
            sides = tuple(
                Position(
                    claim_ids=tuple(dict.fromkeys(self.claims[v.claim].id for v in side)),
                    value=stance_text(side[0], other[0]),
                    date=self._date(side),
                )
                for side, other in ((yes, no), (no, yes))
            )
            found.append(Candidate(kind="polarity", about=about_denial(yes, no), sides=sides))
        return found

    def _decided(self, group: Sequence[Value]) -> list[Value]:
        """The answers without those of claims that give another answer as well."""
        known: list[Value] = []
        for value in sorted(group, key=_value_order):
            if not any(same_value(value, other) for other in known):
                known.append(value)
        if len(known) > 2 * _ANSWERS:
            return []
        return [
            value
            for value in group
            if not any(
                self.comparison.holds(value.claim, other)
                for other in known
                if not same_value(value, other)
            )
        ]

    def _sides(self, group: Sequence[Value]) -> tuple[Position, ...]:
        """One side per value; a claim that gives several values takes no side between them."""
        parts: list[list[Value]] = []
        for value in sorted(group, key=_value_order):
            # In the order of their values, a number or a date can only join the parts just made.
            for part in parts[-4:] if value.kind != "name" else parts:
                if same_value(value, part[0]) and same_value(value, part[-1]):
                    part.append(value)
                    break
            else:
                parts.append([value])
        often: dict[int, int] = {}
        for part in parts:
            for claim in sorted({value.claim for value in part}):
                often[claim] = often.get(claim, 0) + 1
        sides = []
        for part in parts:
            held = sorted({value.claim for value in part if often[value.claim] == 1})
            if held:
                ids = tuple(dict.fromkeys(self.claims[n].id for n in held))
                exact = min(part, key=_exactness)
                sides.append(
                    Position(claim_ids=ids, value=value_text(exact), date=self._date(part))
                )
        return tuple(sorted(sides, key=lambda side: side.claim_ids))

    def _date(self, values: Sequence[Value]) -> str:
        known = (
            self.dates.get(source)
            for value in values
            for source in self.claims[value.claim].source_ids
        )
        return min((day for day in known if day), default="")


def _by_period(values: Sequence[Value]) -> list[list[Value]]:
    """Answers that may hold for one period; one that names none is held against all."""
    periods = {value.periods[0].first: value.periods[0] for value in values if value.periods}
    if not periods:
        return [list(values)]
    return [
        [v for v in values if not v.periods or not apart(v.periods[0], period)]
        for _, period in sorted(periods.items())
    ]


def _reworded(a: Value, b: Value) -> list[Pair]:
    once = lone_substitution(a.sentence, b.sentence)
    if once is None:
        return []
    mine, theirs = a.sentence[slice(*once.mine)], b.sentence[slice(*once.theirs)]
    if a.sentence[once.mine[0] - 1] in "@./" or b.sentence[once.theirs[0] - 1] in "@./":
        return []  # a piece of an address
    if in_aside(a.sentence, once.mine) or in_aside(b.sentence, once.theirs):
        return []
    if any(read(mine)) or any(read(theirs)):
        return []  # numbers and dates have their own comparison
    if _RELATIVE.fullmatch(mine) and _RELATIVE.fullmatch(theirs):
        return []  # "on Thursday" and "last week" depend on the day of printing
    return [(phrase(a, mine), phrase(b, theirs))]


def _place(value: Value) -> tuple[int, str, str]:
    return value.claim, value.kind, value.text


def _kind(value: Value) -> Kind:
    kinds: dict[str, Kind] = {"number": "number", "date": "date"}
    return kinds.get(value.kind, "name")


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
