"""What each role must answer: the schemas sent to the model, and what its answer is checked by.

Bounds that a schema cannot carry to the provider are enforced here by pydantic; an answer that
breaks them goes back to the model with the exact list.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from workflows.contracts.evidence import Relation, Share, Verdict
from workflows.contracts.facets import Facet, QuestionKind
from workflows.contracts.state import GapKind


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class PlanDraft(Answer):
    """The planner's split of the question."""

    kind: QuestionKind
    facets: list[Facet] = Field(min_length=1, max_length=60)


class PlanChange(Answer):
    """One change a reviewer asks for; `facet` is the new one where one is added or rewritten."""

    action: Literal["add", "drop", "merge", "rewrite"]
    facet_ids: list[str] = Field(default_factory=list)
    facet: Facet | None = None
    reason: str = Field(min_length=1)


class PlanReview(Answer):
    """The reviewer's list of what is missing, overlapping or off topic."""

    changes: list[PlanChange] = Field(default_factory=list)


class SourceScore(Answer):
    """How well a source serves the question asked, and why."""

    source_id: str
    score: Share
    reason: str


class QuoteAnswer(Answer):
    source_id: str
    text: str = Field(min_length=1)


class ClaimAnswer(Answer):
    text: str = Field(min_length=1)
    quotes: list[QuoteAnswer] = Field(min_length=1)
    confidence: Share
    relevance: Share
    uncertain: str = ""
    not_to_overstate: str = ""


class ResearchAnswer(Answer):
    """A finding. No claims is an honest answer; `missing` then says what was not there."""

    summary: str
    claims: list[ClaimAnswer] = Field(default_factory=list)
    scores: list[SourceScore] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list)
    """What the question needs and no source read so far gives."""
    exhausted: bool = False
    """True where further searching of these sources would find nothing more."""
    next_step: str = ""


class SideAnswer(Answer):
    text: str
    claim_ids: list[str] = Field(min_length=1)
    value: str = ""
    date: str = ""
    definition: str = ""
    population: str = ""


class RulingAnswer(Answer):
    claim_id: str
    verdict: Verdict
    confidence: Share
    notes: str = ""


class GroupAnswer(Answer):
    """What a group of claims that bear on each other comes to."""

    claim_ids: list[str] = Field(min_length=1)
    relation: Relation | Literal["agreement", "different_things", "unclear"]
    about: str = ""
    sides: list[SideAnswer] = Field(default_factory=list)
    cause: Literal[
        "definition", "period", "population", "method", "superseded", "error", "unexplained"
    ] = "unexplained"
    explanation: str = ""
    rulings: list[RulingAnswer] = Field(default_factory=list)

    @property
    def difference(self) -> Relation | None:
        """How the claims differ; None where they agree, are unrelated or nothing can be told."""
        relation = self.relation
        if relation == "agreement" or relation == "different_things" or relation == "unclear":
            return None
        return relation


class VerifierAnswer(Answer):
    groups: list[GroupAnswer]


class SectionAnswer(Answer):
    facet_id: str
    markdown: str


class ContradictionAnswer(Answer):
    contradiction_id: str
    markdown: str


class DerivedAnswer(Answer):
    """A figure that the writer calculated; code repeats the calculation."""

    result: str = Field(min_length=1, max_length=80)
    """As the report writes it: `44,500` or `12 %`."""
    expression: str = Field(min_length=1, max_length=200)
    """Numbers of the cited claims with + - * / ** and parentheses: `412000 - 367500`."""
    cite: list[int] = Field(default_factory=list)
    about: str = Field(default="", max_length=200)


class DraftAnswer(Answer):
    """The report in parts; the parts are put together, numbered and checked by code."""

    title: str = Field(min_length=1, max_length=200)
    summary: str = Field(min_length=1)
    sections: list[SectionAnswer]
    conclusion: str = ""
    """Markdown: what the facets add up to."""
    derived: list[DerivedAnswer] = Field(default_factory=list)
    contradictions: list[ContradictionAnswer] = Field(default_factory=list)
    gaps: str = ""
    """Markdown: what was searched and absent, what failed and why, what stays open."""


class SentenceVerdict(Answer):
    """Whether a sentence of the report says more than what it cites."""

    id: int
    verdict: Literal["entailed", "overstated", "unsupported"]
    reason: str = ""
    claim_ids: list[str] = Field(default_factory=list)
    """The claims that a failing sentence should have said."""


class DraftJudgement(Answer):
    """The judge's reading of a draft, sentence by sentence."""

    verdicts: list[SentenceVerdict]
    named_gaps: list[str] = Field(default_factory=list)
    """Ids of the gaps in question that the report does name, in whatever words."""


class FacetJudgement(Answer):
    facet_id: str
    addressed: bool
    depth: Literal["adequate", "thin", "absent"]
    reason: str


class GapAnswer(Answer):
    facet_id: str
    kind: GapKind
    text: str = Field(min_length=1, max_length=600)
    question: str = Field(min_length=1, max_length=600)


class RubricAnswer(Answer):
    """Whether the report meets one of the asker's own points."""

    point: int
    status: Literal["met", "partly", "not_met"]
    reason: str = Field(min_length=1)
    cite: list[int] = Field(default_factory=list)
    facet_id: str = ""
    """The facet that would have to be researched for it."""


class EvaluationAnswer(Answer):
    judgements: list[FacetJudgement]
    rubric: list[RubricAnswer] = Field(default_factory=list)
    gaps: list[GapAnswer] = Field(default_factory=list)
