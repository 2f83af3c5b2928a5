"""The status of a job, and its result, which `report.json` holds.

The field names are published: scripts rely on them. New fields have defaults.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from .changes import Changes
from .evidence import Contradiction, Cycle, Difference, Quote, Record, Verdict
from .spend import Spend
from .state import Blocked, Gap, Parent, Phase, StepTiming, StopReason, UnreadableFile

CoverageStatus = Literal["answered", "contested", "absent", "failed", "left_out"]
ResultStatus = Literal["complete", "complete_with_gaps", "nothing_found"]

SUMMARY = "Summary"
DISAGREE = "Where the sources disagree"
MISSING = "What is missing"
METHOD = "How this was researched"
SOURCES = "Sources"
"""The headings of the sections that belong to no facet."""


class FacetStatus(Record):
    id: str
    title: str
    status: str
    claims: int = 0
    sources: int = 0
    turns: int = 0


class Status(Record):
    """A job at a glance: what the query `status` returns."""

    id: str
    phase: Phase
    question: str
    model: str
    facets: tuple[FacetStatus, ...] = ()
    gaps_open: int = 0
    gaps_closed: int = 0
    contradictions: int = 0
    claims: int = 0
    passes: int = 0
    turns: int = 0
    usd: float = 0.0
    budget_usd: float | None = None
    budget_tokens: int | None = None
    checkpoints: tuple[str, ...] = ()
    blocked: Blocked | None = None
    paused: bool = False
    finishing: bool = False
    approve_by: str | None = None
    """Until when the plan waits for approval; None where it does not."""
    plan_changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    parent: Parent | None = None
    stop_reason: StopReason | None = None
    files: int = 0
    """How many files have to be parsed before the job can begin."""
    files_parsed: int = 0


class FacetOut(Record):
    id: str
    title: str
    question: str
    boundary: str = ""
    reason: str = ""


class PlanOut(Record):
    kind: str
    facets: tuple[FacetOut, ...] = ()
    changes: tuple[str, ...] = ()


class Coverage(Record):
    facet_id: str
    title: str = ""
    status: CoverageStatus
    reason: str
    claims: int = 0
    sources: int = 0
    origins: int = 0
    cycles: tuple[Cycle, ...] = ()
    turns: int = 0
    usd: float = 0.0


class SourceOut(Record):
    n: int | None = None
    """The [n] it is cited by; None where it is not cited."""
    id: str
    uri: str
    title: str
    date: str | None
    kind: str
    authority: float
    origin: str
    sha256: str
    labels: tuple[str, ...] = ()


class QuoteOut(Quote):
    """A quote with the text around it, from the stored copy."""

    before: str = ""
    after: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_a_plain_one(cls, value: Any) -> Any:
        return value.model_dump() if isinstance(value, Quote) else value


class ClaimOut(Record):
    id: str
    facet_id: str
    text: str
    verdict: Verdict
    confidence: float
    quotes: tuple[QuoteOut, ...]
    origins: int = 1
    uncertain: str = ""
    not_to_overstate: str = ""
    notes: str = ""
    labels: tuple[str, ...] = ()
    """The labels of all its sources."""


class PassOut(Record):
    n: int
    gaps_in: int
    gaps_closed: int
    turns: int
    usd: float
    seconds: float
    stop_reason: StopReason | None = None


class Telemetry(Record):
    spawned: int = 0
    parallel_max: int = 0
    retry_rate: float = 0.0
    partial_data_rate: float = 0.0
    turns: int = 0
    turns_bought_again: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    follow_ups: int = 0
    by_role: dict[str, Spend] = Field(default_factory=dict)


class CorpusOut(Record):
    name: str
    version: str
    """The hash of the list of its files."""


class ResearchResult(Record):
    """The report with its ledger: what `report.json` holds."""

    id: str
    question: str
    status: ResultStatus
    model: str
    plan: PlanOut
    coverage: tuple[Coverage, ...] = ()
    sources: tuple[SourceOut, ...] = ()
    claims: tuple[ClaimOut, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    differences: tuple[Difference, ...] = ()
    """Claims that differ and can all be right: of other periods, entities or definitions."""
    gaps: tuple[Gap, ...] = ()
    passes: tuple[PassOut, ...] = ()
    unreadable: tuple[UnreadableFile, ...] = ()
    mended: tuple[str, ...] = ()
    stop_reason: StopReason | None = None
    parent: Parent | None = None
    started_at: str = ""
    changes: Changes | None = None
    """What changed since the last run of its schedule; None for the first run."""
    telemetry: Telemetry = Telemetry()
    corpus: CorpusOut | None = None
    """Which documents were searched; None where there were none."""
    documents: int = 0
    """How many documents of the corpus were searched."""
    timeline: tuple[StepTiming, ...] = ()
    """When each step ran, in seconds since the job began."""
    report_markdown: str
