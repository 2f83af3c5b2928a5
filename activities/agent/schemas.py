"""What each role must answer: the schemas sent to the model, and what its answer is checked by.

Bounds that a schema cannot carry to the provider are enforced here by pydantic; an answer that
breaks them goes back to the model with the exact list.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from activities.evidence.draft import Entry, Section
from workflows.contracts.asking import MAX_ASKED, MAX_QUESTIONS, AnswerStatus, ClarifyingQuestion
from workflows.contracts.evidence import Entailment, Record, Relation, Share, Verdict
from workflows.contracts.facets import Facet, QuestionKind
from workflows.contracts.state import FindingsJudgement, GapKind


class Answer(Record):
    """What a model answers, or a part of it."""


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


class ClarifyAnswer(Answer):
    """What a vague question leaves open; nothing for a clear one."""

    questions: list[ClarifyingQuestion] = Field(default_factory=list, max_length=MAX_QUESTIONS)


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
    critical: list[str] = Field(default_factory=list)
    """What of it the ask cannot be answered without."""
    exhausted: bool = False
    """True where further searching of these sources would find nothing more."""
    next_step: str = ""


class ClaimJudgement(Answer):
    """What a claim's quotes, read in context, allow it to say."""

    claim_id: str
    verdict: Entailment
    correction: str = ""
    """For an overstated claim: the strongest text that the quotes do support."""
    reason: str = ""


class WeakSource(Answer):
    source_id: str
    reason: str = Field(min_length=1)


class EntailmentAnswer(Answer):
    claims: list[ClaimJudgement]
    weak_sources: list[WeakSource] = Field(default_factory=list)
    findings: FindingsJudgement | None = None
    """All that was found against the ask; only where the brief says what was asked."""


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
    """How claims of one group bear on each other; a group may need several of these, or none."""

    group: str
    claim_ids: list[str] = Field(min_length=1)
    relation: Relation | Literal["agreement", "different_things"]
    about: str = ""
    sides: list[SideAnswer] = Field(default_factory=list)
    cause: Literal[
        "definition", "period", "population", "method", "superseded", "error", "unexplained"
    ] = "unexplained"
    explanation: str = ""
    rulings: list[RulingAnswer] = Field(default_factory=list)

    @property
    def difference(self) -> Relation | None:
        """How the claims differ; None where they agree or are unrelated."""
        relation = self.relation
        return None if relation == "agreement" or relation == "different_things" else relation


class RelationsAnswer(Answer):
    groups: list[GroupAnswer]


class GapJudgement(Answer):
    """Whether the new claims answer the question of a gap."""

    gap_id: str
    status: Literal["closed", "partly", "absent"]
    reason: str = Field(min_length=1)


class GapRulingsAnswer(Answer):
    gaps: list[GapJudgement]


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
    sections: list[Section]
    conclusion: str = ""
    """Markdown: what the facets add up to."""
    derived: list[DerivedAnswer] = Field(default_factory=list)
    contradictions: list[Entry] = Field(default_factory=list)
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
    facet_id: str = ""
    """Empty where the gap lies outside all facets; `title` then names the facet to add."""
    title: str = Field(default="", max_length=160)
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
    answered: Literal["answered", "partly", "unanswered"] | None = None
    """Whether the report answers the question that was asked."""
    answered_reason: str = ""
    judgements: list[FacetJudgement]
    rubric: list[RubricAnswer] = Field(default_factory=list)
    gaps: list[GapAnswer] = Field(default_factory=list)


class AskAnswer(Answer):
    """The answer to a question about a finished report."""

    status: AnswerStatus
    text: str = Field(default="", max_length=6000)
    """Markdown with citations; empty where nothing is held."""
    missing: list[str] = Field(default_factory=list)
    """What the question asks for and the evidence does not say."""
    offer: str = Field(default="", max_length=MAX_ASKED)
    """The question of a facet that would find it."""
