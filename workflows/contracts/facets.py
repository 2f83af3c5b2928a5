"""The plan of a job: the question split into facets."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, PositiveInt

from .evidence import Message, Record


class QuestionKind(StrEnum):
    """The kind of a question; it decides how many researchers work on it."""

    OVERVIEW = "overview"
    COMPARISON = "comparison"
    TIMELINE = "timeline"
    CAUSE = "cause"
    FACT = "fact"
    DECISION = "decision"


class Effort(StrEnum):
    QUICK = "quick"
    STANDARD = "standard"
    DEEP = "deep"


class Limits(Record):
    """The limits of an effort."""

    facets: PositiveInt
    passes: int = Field(ge=0)
    cycles: PositiveInt
    claims: PositiveInt
    """Per facet: a finding is compact."""


class Facet(Message):
    """One sub-domain of the question, with its own question and its boundary."""

    id: str = Field(min_length=1, max_length=64)
    title: str = Field(min_length=1, max_length=160)
    question: str = Field(min_length=1, max_length=1200)
    boundary: str = Field(min_length=1, max_length=800)
    prefer: str = Field(min_length=1, max_length=300)
    reason: str = Field(min_length=1, max_length=600)
    depends_on: tuple[str, ...] = ()


class LeftOut(Facet):
    """A facet that is not researched, and why."""

    left_out_because: str = ""


class Plan(Message):
    """The question split by meaning."""

    kind: QuestionKind
    facets: tuple[Facet, ...] = Field(min_length=1)
    left_out: tuple[LeftOut, ...] = ()
    """Facets that are not researched; the report says so."""
    changes: tuple[str, ...] = ()
    """What the review, the rules and operators changed."""

    def facet(self, facet_id: str) -> Facet:
        return next(facet for facet in self.facets if facet.id == facet_id)
