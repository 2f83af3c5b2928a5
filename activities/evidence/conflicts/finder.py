"""Claims of different documents that give one thing different values.

Two mechanisms find them: typed answers to a facet's question (`answers`), and sentences that are
alike but for one value or a denial (`alignment`). `relations` names each difference; only
`contradicts` says that the claims cannot all be right. The result does not depend on the order of
the claims.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType

from pydantic import Field

from activities.evidence.conflicts.alignment import aligned
from activities.evidence.conflicts.claim_values import answers
from activities.evidence.conflicts.questions import parse_question
from activities.evidence.conflicts.statements import (
    Document,
    Kind,
    Value,
    comparable,
    read_claims,
    same_value,
)
from activities.evidence.conflicts.value_relations import relate
from workflows.contracts.evidence import Claim, Position, Record, Relation

_MOST_SIDES = 6
"""More different answers than this, and the question has not one answer."""
_NO_QUESTIONS: Mapping[str, str] = MappingProxyType({})
_NO_DATES: Mapping[str, str | None] = MappingProxyType({})
_NO_DOCUMENTS: Mapping[str, Document] = MappingProxyType({})


class Candidate(Record):
    """Claims about one thing that give it different values."""

    kind: Kind
    relation: Relation
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
    documents: Mapping[str, Document] = _NO_DOCUMENTS,
) -> tuple[Candidate, ...]:
    """Every group of claims of different documents that give one thing different values.

    `questions` maps a facet to its question, `dates` a source to its ISO date, `documents` a source
    to what else is known of it.
    """
    finder = _Finder(sorted(claims, key=lambda claim: (claim.id, claim.text)), dates, documents)
    found = [c for facet in sorted(questions) for c in finder.answered(facet, questions[facet])]
    return _distinct([*found, *finder.aligned()])


class _Finder:
    """One comparison of one list of claims."""

    def __init__(
        self,
        claims: Sequence[Claim],
        dates: Mapping[str, str | None],
        documents: Mapping[str, Document],
    ) -> None:
        self.claims, self.dates = claims, dates
        self.statements = read_claims(claims, documents)

    def answered(self, facet: str, question: str) -> list[Candidate]:
        """Different answers to the question the claims were collected for."""
        asked = parse_question(question)
        if asked is None:
            return []
        statements = [
            statement
            for claim, read in zip(self.claims, self.statements, strict=True)
            if claim.bears_on(facet)
            for statement in read
            if statement.is_prose
        ]
        return self._candidates(answers(asked, statements), question.strip().rstrip("?"))

    def aligned(self) -> list[Candidate]:
        """Sentences that are alike but for one value, or of which one denies the other."""
        statements = [s for read in self.statements for s in read if s.is_prose]
        found: list[Candidate] = []
        for group in _join(aligned(statements)):
            found += self._candidates(group, _about(group))
        return found

    def _candidates(self, values: Sequence[Value], about: str) -> list[Candidate]:
        sides = self._sides(values)
        if not 1 < len(sides) <= _MOST_SIDES:
            return []
        groups: dict[Relation, list[list[Value]]] = {}
        for one, other in combinations(sides, 2):
            if (relation := _relation(one, other)) is not None:
                group = groups.setdefault(relation, [])
                for side in (one, other):
                    if all(side is not s and _relation(side, s) == relation for s in group):
                        group.append(side)
        return [
            Candidate(
                kind=group[0][0].kind,
                relation=relation,
                about=about,
                sides=tuple(sorted(map(self._position, group), key=lambda side: side.claim_ids)),
            )
            for relation, group in sorted(groups.items())
            if len(group) > 1
        ]

    def _sides(self, values: Sequence[Value]) -> list[list[Value]]:
        """One side per value; a claim that gives two of them takes no side."""
        sides: list[list[Value]] = []
        for value in sorted(values, key=_value_order):
            for side in sides:
                if all(comparable(value, v) and same_value(value, v) for v in side):
                    side.append(value)
                    break
            else:
                sides.append([value])
        return [
            kept
            for side in sides
            if (kept := [v for v in side if not self._holds_other(v, side, sides)])
        ]

    def _holds_other(
        self, value: Value, own: Sequence[Value], sides: Sequence[Sequence[Value]]
    ) -> bool:
        """Whether the claim of a value also gives a value of another side."""
        if value.kind == "polarity":
            return False
        text = self.claims[value.statement.claim].text
        return any(
            re.search(rf"(?<!\w){re.escape(side[0].text)}(?!\w)", text, re.IGNORECASE)
            for side in sides
            if side is not own
        )

    def _position(self, side: Sequence[Value]) -> Position:
        ids = sorted({self.claims[value.statement.claim].id for value in side})
        known = [
            self.dates.get(source)
            for value in side
            for source in self.claims[value.statement.claim].source_ids
        ]
        return Position(
            claim_ids=tuple(ids),
            value=side[0].text,
            date=min((day for day in known if day), default=""),
        )


def _distinct(found: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Leave out a candidate whose claims an earlier one compares already."""
    kept: list[Candidate] = []
    known: dict[str, list[frozenset[str]]] = {}
    for candidate in found:
        ids = frozenset(candidate.claim_ids)
        if any(ids <= group for group in known.get(candidate.claim_ids[0], ())):
            continue
        for claim in ids:
            known.setdefault(claim, []).append(ids)
        kept.append(candidate)
    return tuple(kept)


def _relation(one: Sequence[Value], other: Sequence[Value]) -> Relation | None:
    """The relation of two sides, which contradict only if all their values do.

    None where they cannot be held against each other.
    """
    if not comparable(one[0], other[0]) or not _origins(one).isdisjoint(_origins(other)):
        return None
    if not _linked(one[0], other[0]):
        return None
    found = {relate(a, b) for a in one for b in other}
    return min(found - {"contradicts"}, default="contradicts")


def _linked(a: Value, b: Value) -> bool:
    """Two counts need more in common than what they count: "directed 9 films, acted in 4 films"."""
    if not (a.counted and b.counted and a.amount and b.amount):
        return True
    counted = {a.amount.unit, b.amount.unit}
    shared = (a.statement.terms & b.statement.terms) - a.statement.subject - counted
    return any(not term.isdecimal() for term in shared)


def _join(pairs: Iterable[tuple[Value, Value]]) -> list[list[Value]]:
    """Values joined to groups by the pairs they stand in."""
    home: dict[tuple[int, str, int], list[Value]] = {}
    for pair in pairs:
        one, other = (home.setdefault(_place(value), [value]) for value in pair)
        if one is not other:
            one += other
            for value in other:
                home[_place(value)] = one
    return list({id(group): group for group in home.values()}.values())


def _place(value: Value) -> tuple[int, str, int]:
    return value.statement.claim, value.statement.text, value.start


def _origins(side: Sequence[Value]) -> frozenset[str]:
    return frozenset[str]().union(*(value.statement.origins for value in side))


def _value_order(value: Value) -> tuple[str, float, str, int]:
    worth = value.amount.value if value.amount else value.moment.first if value.moment else 0
    return value.kind, worth, value.text, value.statement.claim


def _about(values: Sequence[Value]) -> str:
    """What the sentences speak of: the words of the first that stand in the last too."""
    first, last = values[0].statement, values[-1].statement
    shared = [t for t in first.tokens if t.term in last.terms]
    return " ".join(first.text[t.start : t.end] for t in shared)
