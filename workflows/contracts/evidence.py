"""Sources, quotes, claims, verdicts and contradictions.

A claim has at least one verbatim quote and a contradiction has two sides: the types guarantee it.
"""

from __future__ import annotations

import re
from datetime import date
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


class Record(BaseModel):
    """An immutable value; unknown fields are ignored, so that fields can be added."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Message(BaseModel):
    """What a person or another program sends; a field that does not exist is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


_DATE = re.compile(r"\d{4}(-\d\d){0,2}")

Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Verdict(StrEnum):
    """The result of checking a claim. `unverified` never means refuted."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    QUALIFIED = "qualified"
    UNVERIFIED = "unverified"
    FAILED = "failed"


Entailment = Literal["entailed", "overstated", "unsupported"]
"""What the judge says of a claim beside its quote in context."""


# How much a kind of document is trusted where sources of different kinds say the same.
AUTHORITY: dict[str, float] = {
    "regulation": 1.0,
    "dataset": 0.9,
    "study": 0.9,
    "report": 0.85,
    "minutes": 0.8,
    "slides": 0.6,
    "mail": 0.5,
    "page": 0.5,
    "note": 0.5,
    "press": 0.5,
    "chat": 0.4,
    "blog": 0.25,
    "marketing": 0.2,
}


class Source(Record):
    """A document as it was read; `sha256` is the stored copy that quotes are checked against."""

    id: str
    uri: str
    title: str
    date: str | None = None
    kind: str = "page"
    sha256: str
    sketch: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    """Permission labels: who may see the document, may see what is quoted from it."""
    recognised: bool = False
    """Whether some of its text was recognised in images, and may be misread."""
    weakness: str = ""
    """Why the verifier calls it a weak source; empty where it does not."""

    @field_validator("date")
    @classmethod
    def _date_parses(cls, value: str | None) -> str | None:
        """An ISO year, month or day; anything else becomes None."""
        if value is None or not _DATE.fullmatch(value):
            return None
        try:
            date.fromisoformat(value + "-01-01"[len(value) - 4 :])
        except ValueError:
            return None
        return value

    @property
    def authority(self) -> float:
        return AUTHORITY.get(self.kind, 0.5)

    @property
    def marks(self) -> tuple[str, ...]:
        """What a reader should know before relying on it."""
        marks = (
            "" if self.date else "undated",
            "recognised text" if self.recognised else "",
            f"weak: {self.weakness}" if self.weakness else "",
        )
        return tuple(filter(None, marks))


class Quote(Record):
    """A verbatim passage of a source, with offsets into its stored copy once checked."""

    source_id: str
    text: str = Field(min_length=1)
    start: int | None = None
    end: int | None = None
    section: str = ""
    """The headings above it in the stored copy, outermost first, once checked."""
    confidence: Share | None = None
    """How sure its researcher was; claims that are joined keep this for each quote."""
    date: str | None = None
    """The date of its source."""


class Claim(Record):
    """One statement of fact with the quotes that support it."""

    id: str
    facet_id: str
    text: str = Field(min_length=1)
    quotes: tuple[Quote, ...] = Field(min_length=1)
    confidence: Share = 0.5
    uncertain: str = ""
    not_to_overstate: str = ""
    relevance: Share = 0.5
    verdict: Verdict = Verdict.UNVERIFIED
    notes: str = ""
    entailment: Entailment | None = None
    """The judge's verdict; None where the judge has not ruled."""
    stated: str = ""
    """What the researcher claimed, where the judge put a weaker text in its place."""
    also_for: tuple[str, ...] = ()
    """Other facets that found the same claim."""

    def bears_on(self, facet_id: str) -> bool:
        return facet_id == self.facet_id or facet_id in self.also_for

    @property
    def source_ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(quote.source_id for quote in self.quotes))

    @property
    def citable(self) -> bool:
        """False where the quote is not in its source or does not support the claim: the writer
        does not see such a claim."""
        return self.verdict is not Verdict.FAILED


Relation = Literal[
    "contradicts", "other_period", "superseded", "other_entity", "other_definition", "unclear"
]
"""How claims that differ relate; only `contradicts` says that they cannot all be right."""


class Position(Record):
    """One side of a difference that code found: the claims that give this value."""

    claim_ids: tuple[str, ...] = Field(min_length=1)
    value: str
    date: str = ""
    """The oldest known date of the sources that hold it."""


class SideContext(Record):
    """What a reader needs in order to see why two sides may differ."""

    value: str = ""
    date: str = ""
    definition: str = ""
    population: str = ""


class Side(Record):
    """One position in a contradiction, with its claims and sources."""

    text: str
    claim_ids: tuple[str, ...] = Field(min_length=1)
    source_ids: tuple[str, ...] = Field(min_length=1)
    context: SideContext = SideContext()


class Contradiction(Record):
    """Sources that cannot all be right as they stand. No winner is picked."""

    id: str
    about: str
    sides: tuple[Side, ...] = Field(min_length=2)
    cause: str = "unexplained"
    explanation: str

    @property
    def claim_ids(self) -> tuple[str, ...]:
        return tuple(claim for side in self.sides for claim in side.claim_ids)


class Difference(Contradiction):
    """Claims that differ and can all be right: of another period, entity or definition, or one
    superseded by the other; `unclear` where the sources do not tell."""

    relation: Relation


class Ruling(Record):
    """A verifier's verdict on one claim."""

    claim_id: str
    verdict: Verdict
    confidence: Share | None = None
    """None leaves the claim's own."""
    notes: str = ""
    entailment: Entailment | None = None
    correction: str = ""
    """The weaker text of a claim that was overstated."""


class Rulings(Record):
    """The result of one verification batch."""

    rulings: tuple[Ruling, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    differences: tuple[Difference, ...] = ()
    settled: tuple[tuple[str, ...], ...] = ()
    """Groups of claims that were judged together and are not judged again."""
    weak_sources: dict[str, str] = Field(default_factory=dict)
    """By source id, why it is weak."""


class Cycle(Record):
    """One retrieval cycle: the queries, the scores of the hits, what was still missing."""

    queries: tuple[str, ...]
    scores: dict[str, Share] = {}
    reasons: dict[str, str] = {}
    missing: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


class DroppedClaim(Record):
    """A claim that no report may use, and why."""

    facet_id: str
    text: str
    cause: Literal["over_limit", "quote_not_found", "unsupported"]
    reason: str


MAX_CODE, MAX_OUTPUT = 2000, 1000
"""How much of a program and of its output is kept, in characters."""


class CodeRun(Record):
    """A program that a subagent ran in the provider's sandbox, and what it printed."""

    code: str
    output: str


class Findings(Record):
    """What one research subagent found: at least one claim, and how."""

    facet_id: str
    summary: str = ""
    claims: tuple[Claim, ...] = Field(min_length=1)
    sources: tuple[Source, ...] = Field(min_length=1)
    cycles: tuple[Cycle, ...] = ()
    uncertain: tuple[str, ...] = ()
    next_step: str = ""
    dropped: tuple[DroppedClaim, ...] = ()
    """What the subagent claimed beside: over the limit, or with a quote that was not found."""
    code_runs: tuple[CodeRun, ...] = ()

    @model_validator(mode="after")
    def _quotes_name_known_sources(self) -> Findings:
        known = {source.id for source in self.sources}
        unknown = {sid for claim in self.claims for sid in claim.source_ids} - known
        if unknown:
            raise ValueError(f"claims quote sources that were never read: {sorted(unknown)}")
        return self
