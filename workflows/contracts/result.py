"""The status of a job, what its workflow returns, and the full result, which `report.json` holds.

The field names are published: scripts rely on them. New fields have defaults.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from .changes import Changes
from .evidence import Claim, Contradiction, Cycle, Difference, DroppedClaim, Quote, Record
from .outcomes import Alternative
from .spend import Spend
from .state import (
    AnswerJudgement,
    Blocked,
    FollowUp,
    Gap,
    Parent,
    Phase,
    RubricVerdict,
    StepTiming,
    StopReason,
    UnreadableFile,
)

CoverageStatus = Literal["answered", "contested", "partial", "absent", "failed", "left_out"]
ResultStatus = Literal["complete", "complete_with_gaps", "nothing_found"]

SUMMARY = "Summary"
CONCLUSION = "What this adds up to"
DISAGREE = "Where the sources disagree"
MISSING = "What is missing"
POINTS = "The points you asked for"
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
    follow_ups: tuple[FollowUp, ...] = ()
    """Further questions to the same subagent, and what each added."""
    transcript: str = ""
    """The id of the subagent's transcript."""


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
    waiting_for: str = ""
    """Why the store or the model's provider cannot be used, while it is waited for."""
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
    next_step: str = ""
    """What the researcher would do next."""
    searched: tuple[str, ...] = ()
    """The queries that were answered, each with the place it was sent to."""
    problems: tuple[str, ...] = ()
    """Tools and sources that failed, also where others brought something."""
    alternatives: tuple[Alternative, ...] = ()
    """What could still be tried, where research failed."""
    follow_ups: tuple[FollowUp, ...] = ()
    """Further questions to the same subagent, and what each added."""
    transcript: str = ""
    """The id of the subagent's transcript."""


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
    marks: tuple[str, ...] = ()
    """What a reader should know before relying on it: undated, recognised, or weak and why."""
    recognised: bool = False
    """Whether some of its text was recognised in images, and may be misread."""


class QuoteOut(Quote):
    """A quote with the text around it, from the stored copy."""

    before: str = ""
    after: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_a_plain_one(cls, value: Any) -> Any:
        return value.model_dump() if isinstance(value, Quote) else value


class ClaimOut(Claim):
    quotes: tuple[QuoteOut, ...]
    origins: int = 1
    """How many of its sources do not repeat another one."""
    labels: tuple[str, ...] = ()
    """The labels of all its sources."""


class Calculation(Record):
    """A figure that was calculated, by the writer from claims or by a researcher's program."""

    result: str
    """As the report writes it; what the program printed."""
    expression: str
    """Arithmetic that code has repeated, or the program."""
    by: Literal["writer", "program"] = "writer"
    about: str = ""
    cite: tuple[int, ...] = ()
    """The [n] of the sources its figures come from."""


class ChartPoint(Record):
    """One value of a chart, as its sources state it."""

    label: str
    """What or when it is of."""
    text: str
    """The value in the words of the source."""
    value: float
    high: float
    """The end of a range; otherwise the same as `value`."""
    day: int = 0
    """The first day of its period, counted from 1 January of the year 1; 0 where it has none."""
    claim_ids: tuple[str, ...] = Field(min_length=1)


class Chart(Record):
    """Values of one measure in one unit, each from verified claims."""

    kind: Literal["over_time", "side_by_side", "contested"]
    title: str
    facet_id: str
    contradiction_id: str = ""
    """The contradiction whose sides it shows; empty for the other kinds."""
    points: tuple[ChartPoint, ...] = Field(min_length=2)


class ComparisonRow(Record):
    subject: str
    cells: tuple[str, ...]
    """One for each attribute; empty where no claim gives it."""
    claim_ids: tuple[str, ...] = Field(min_length=1)


class Comparison(Record):
    """Two or more subjects and what verified claims say of two or more attributes of each."""

    title: str
    facet_id: str
    subject: str
    """What the subjects are, where the source says it."""
    attributes: tuple[str, ...] = Field(min_length=2)
    rows: tuple[ComparisonRow, ...] = Field(min_length=2)


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
    """Retries of research subagents, over research subagents."""
    retries: dict[str, int] = Field(default_factory=dict)
    """Retries by the outcome that was the reason."""
    partial_data_rate: float = 0.0
    """Research that ended with a part of what was asked, over all research."""
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
    version: int = 1
    """The version of the job's report: `ID@1` is the first."""
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
    dropped: tuple[DroppedClaim, ...] = ()
    """Claims that no report may use: over the limit, without their quote, or unsupported by it."""
    gaps: tuple[Gap, ...] = ()
    answer: AnswerJudgement | None = None
    """Whether the report answers the question; None where nobody judged it."""
    rubric: tuple[RubricVerdict, ...] = ()
    """The asker's own points, and whether the report meets each."""
    calculations: tuple[Calculation, ...] = ()
    """What the writer calculated from claims, and what researchers' programs printed."""
    charts: tuple[Chart, ...] = ()
    """Drawn by code from verified claims; in the order of the facets."""
    comparisons: tuple[Comparison, ...] = ()
    """Tables made by code from verified claims."""
    passes: tuple[PassOut, ...] = ()
    unreadable: tuple[UnreadableFile, ...] = ()
    mended: tuple[str, ...] = ()
    unjudged: str = ""
    """Why no judge has read the report's sentences beside their claims; empty where one has."""
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


class ReportRef(Record):
    """Where the full report is: the JSON that `report.json` holds."""

    key: str
    """In the store of the workers."""
    sha256: str
    bytes: int
    pages: int
    """How many pages the query `report_page` has."""


class ReportPage(Record):
    """A part of the report's JSON text. All pages joined are the whole; the first is page 0."""

    page: int
    pages: int
    text: str


class ResearchSummary(Record):
    """What the workflow returns: small, so that it stands in the history itself and any client can
    read it without this project's code or store."""

    id: str
    question: str
    """Its beginning, where it is long."""
    status: ResultStatus
    model: str
    summary: str
    """The section `Summary` of the report, as Markdown."""
    facets: int = 0
    claims: int = 0
    sources: int = 0
    contradictions: int = 0
    gaps_open: int = 0
    passes: int = 0
    turns: int = 0
    turns_bought_again: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    stop_reason: StopReason | None = None
    has_changes: bool | None = None
    """Whether anything changed since the last run of its schedule; None for other jobs."""
    report: ReportRef
