"""Claims of different documents that give one thing different values.

Two mechanisms find them: typed answers to a facet's question (`answers`), and sentences that are
alike but for one value or a denial (`alignment`). `relations` names each difference; only
`contradicts` says that the claims cannot all be right. The result does not depend on the order of
the claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from activities.evidence.conflicts.alignment import aligned
from activities.evidence.conflicts.answers import answers
from activities.evidence.conflicts.questions import parse_question
from activities.evidence.conflicts.relations import relate
from activities.evidence.conflicts.statements import (
    Document,
    Value,
    comparable,
    read_claims,
    same_value,
)
from workflows.evidence import Claim, Position, Record, Relation

Kind = Literal["number", "date", "name", "polarity"]
_MOST_SIDES = 6
"""More different answers than this, and the question has not one answer."""
_NO_QUESTIONS: Mapping[str, str] = MappingProxyType({})
_NO_DATES: Mapping[str, str | None] = MappingProxyType({})
_NO_DOCUMENTS: Mapping[str, Document] = MappingProxyType({})
_NO_ORIGINS: Mapping[str, str] = MappingProxyType({})


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
    titles: Mapping[str, str] = _NO_ORIGINS,
    origins: Mapping[str, str] = _NO_ORIGINS,
    superseded: Iterable[str] = (),
) -> tuple[Candidate, ...]:
    """Every group of claims of different documents that give one thing different values.

    `questions` maps a facet to its question; `dates`, `titles` and `origins` map a source to its ISO
    date, its title and the source it is a copy or a version of; `superseded` names sources that
    call themselves out of date.
    """
    ordered = sorted(claims, key=lambda claim: (claim.id, claim.text))
    old = frozenset(superseded)
    documents = {
        source: Document(titles.get(source, ""), dates.get(source) or "", source in old)
        for claim in ordered
        for source in claim.source_ids
    }
    finder = _Finder(ordered, documents, origins)
    found = [c for facet in sorted(questions) for c in finder.answered(facet, questions[facet])]
    return _distinct([*found, *finder.aligned()])


class _Finder:
    """One comparison of one list of claims."""

    def __init__(
        self, claims: Sequence[Claim], documents: Mapping[str, Document], origins: Mapping[str, str]
    ) -> None:
        self.claims, self.documents = claims, documents
        self.statements = read_claims(claims, documents, origins)

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
        """Sentences that are alike but for one value."""
        statements = [s for read in self.statements for s in read if s.is_prose]
        found: list[Candidate] = []
        for a, b in aligned(statements):
            found += self._candidates([a, b], _about(a, b))
        return found

    def _candidates(self, values: Sequence[Value], about: str) -> list[Candidate]:
        sides = self._sides(values)
        if not 1 < len(sides) <= _MOST_SIDES:
            return []
        by_relation: dict[Relation, list[list[Value]]] = {}
        for one, other in combinations(sides, 2):
            if comparable(one[0], other[0]) and _origins(one).isdisjoint(_origins(other)):
                group = by_relation.setdefault(relate(one[0], other[0]), [])
                group += [side for side in (one, other) if side not in group]
        return [
            Candidate(
                kind=group[0][0].kind,  # type: ignore[arg-type]
                relation=relation,
                about=about,
                sides=tuple(sorted(map(self._position, group), key=lambda side: side.claim_ids)),
            )
            for relation, group in sorted(by_relation.items())
        ]

    def _sides(self, values: Sequence[Value]) -> list[list[Value]]:
        """One side per value; a claim that gives two of them takes no side."""
        sides: list[list[Value]] = []
        for value in sorted(values, key=_value_order):
            for side in sides:
                if all(_same(value, other) for other in side):
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
        text = self.claims[value.statement.claim].text.lower()
        return any(
            other[0].text.lower() in text for other in sides if other is not own
        )

    def _position(self, side: Sequence[Value]) -> Position:
        ids = sorted({self.claims[value.statement.claim].id for value in side})
        known = [
            self.documents[source].date
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


def _same(a: Value, b: Value) -> bool:
    return a.kind == b.kind and same_value(a, b)


def _origins(side: Sequence[Value]) -> frozenset[str]:
    return frozenset[str]().union(*(value.statement.origins for value in side))


def _value_order(value: Value) -> tuple[str, float, str, int]:
    worth = value.amount.value if value.amount else value.moment.first if value.moment else 0
    return value.kind, worth, value.text, value.statement.claim


def _about(a: Value, b: Value) -> str:
    """What both sentences speak of: the words of the first that stand in the second too."""
    shared = a.statement.terms & b.statement.terms
    text = a.statement.text
    return " ".join(text[t.start : t.end] for t in a.statement.tokens if t.term in shared)
