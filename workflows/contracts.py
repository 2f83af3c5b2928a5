"""What crosses the boundary: the request, the state of a job, and its result.

Plain JSON in and out, so that any Temporal client in any language can take part. What the
coordinator and its activities say to each other is in `briefs`, what people say in `commands`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from workflows.budget import Budget, Spend
from workflows.callers import Notify
from workflows.changes import Changes, PreviousRef
from workflows.commands import TaskNote
from workflows.evidence import Contradiction, Cycle, Quote, Record, Verdict
from workflows.gaps import Gap, Pass, StopReason
from workflows.models import OFFLINE
from workflows.outcomes import SubagentOutcome
from workflows.plan import Effort, Limits, Plan, QuestionKind, limits_for
from workflows.policies import TASK_QUEUE as TASK_QUEUE
from workflows.roles import RoleEffort

MAX_QUESTION_WORDS = 2000
DEFAULT_PARALLEL = 5

Note = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class Approval(Record):
    """A person is asked about the plan before anything is spent on research."""

    seconds: float = Field(default=24 * 3600.0, gt=0, le=30 * 24 * 3600)
    """How long the plan waits for an answer."""
    default: Literal["approve", "reject"] = "approve"
    """What holds when nobody answers."""


class Web(Record):
    """The provider's search and fetch tools, and how far they may reach."""

    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
    max_searches: int = Field(default=8, ge=1, le=100)
    """Per subagent and request."""
    max_fetches: int = Field(default=8, ge=1, le=100)

    @model_validator(mode="after")
    def _one_list(self) -> Web:
        if self.allowed_domains and self.blocked_domains:
            raise ValueError("name the domains that are allowed or those that are not, not both")
        return self


class ResearchRequest(BaseModel):
    """What someone asks for. Unknown fields are refused: a typo must not be ignored in silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str = Field(min_length=1, max_length=40_000)
    corpus: str | None = None
    """A folder of documents the workers can read."""
    model: str = OFFLINE
    """One model for all roles, or `claude`: each role its own."""
    models: dict[str, str] = Field(default_factory=dict)
    """Another model for a role, by the role's name."""
    efforts: dict[str, RoleEffort] = Field(default_factory=dict)
    """Another effort for a role, by the role's name."""
    web: Web | None = None
    code: bool = False
    """Whether researchers and verifiers may compute in the provider's sandbox."""
    economy: bool = False
    """Verify in batches: half the price, up to a day later."""
    effort: Effort = Effort.STANDARD
    max_passes: int | None = Field(default=None, ge=0, le=20)
    max_facets: int | None = Field(default=None, ge=1, le=60)
    max_claims: int | None = Field(default=None, ge=1, le=60)
    """Per facet."""
    parallel: int = Field(default=DEFAULT_PARALLEL, ge=1, le=50)
    """How many subagents of this job run at once."""
    subagent_seconds: float = Field(default=900.0, gt=0, le=6 * 3600)
    """When a subagent hands over what it has."""
    patience: float | None = Field(default=3.0, gt=1, le=100)
    """How many times as long as most facets the last ones may take before the report is begun
    without them; they are put in when they are back. None waits for all."""
    budget: Budget = Budget()
    pinned: tuple[Note, ...] = ()
    """Facts every subagent is given beside the question."""
    approval: Approval | None = None
    """Set where a person is to approve the plan."""
    tenant: str = Field(default="", max_length=64)
    """Whose job it is: tenants get equal turns at the workers. Not encrypted: no names here."""
    weight: float = Field(default=1.0, ge=0.001, le=1000)
    """A tenant of twice the weight gets twice the turns."""
    priority: int = Field(default=3, ge=1, le=5)
    """1 goes before 5, whoever's they are."""
    notify: Notify | None = None
    """A workflow that is signalled at each checkpoint."""
    report_changes: bool = False
    """Say what changed since the last run; for jobs a schedule starts."""


class Phase(StrEnum):
    STARTING = "starting"
    PLANNING = "planning"
    REVIEWING = "reviewing"
    APPROVING = "approving"
    RESEARCHING = "researching"
    WRITING = "writing"
    EVALUATING = "evaluating"
    REFINING = "refining"
    FINISHED = "finished"


class Checkpoint(Record):
    """A point the job can be taken up from: the whole state, stored under `key`."""

    name: str
    phase: Phase
    at: str
    turns: int
    usd: float
    key: str = ""


class Parent(Record):
    """Which run a job was taken up from, and where."""

    id: str
    run_id: str = ""
    checkpoint: str
    how: Literal["restart", "fork"]


class Blocked(Record):
    """Why a job waits for an operator, and what would let it go on."""

    step: str
    reason: str
    remedy: str
    since: str


class UnreadableFile(Record):
    uri: str
    reason: str


class CorpusReady(Record):
    """The documents as they were when the job began."""

    path: str | None = None
    documents: int = 0
    unreadable: tuple[UnreadableFile, ...] = ()
    unreadable_count: int = 0


class LedgerRef(Record):
    """Where the ledger is stored, and its size."""

    key: str
    claims: int = 0
    sources: int = 0
    contradictions: int = 0


class DraftRef(Record):
    """Where the draft is stored, and whether the gate had to mend it."""

    key: str
    words: int = 0
    mended: tuple[str, ...] = ()


class Acceptance(Record):
    """The four questions asked of an answer before it is taken, and the follow-ups they led to."""

    answers: bool
    """Does it answer the objective?"""
    complete: bool
    """Are there no obvious holes?"""
    explored: bool
    """Was nothing adjacent left unexplored?"""
    proceed: bool
    """Would one proceed on this alone?"""
    follow_ups: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        return self.answers and self.complete and self.explored and self.proceed


class Counters(BaseModel):
    """What the coordinator counts as it goes."""

    spawned: int = 0
    parallel_max: int = 0
    retries: int = 0
    partial: int = 0
    follow_ups: int = 0
    """Precise questions to the same subagent, before its answer was taken."""


class ResearchState(BaseModel):
    """All of a job. Continue-as-new, restart and fork start a run from one of these.

    Big things (findings, ledger, draft) are references into the store.
    """

    id: str
    journal: str
    request: ResearchRequest
    started_at: str
    phase: Phase = Phase.STARTING
    corpus: CorpusReady = CorpusReady()
    plan: Plan | None = None
    reviewed: bool = False
    approved: bool = False
    plan_notes: tuple[str, ...] = ()
    """What was said against earlier plans."""
    outcomes: dict[str, SubagentOutcome] = {}
    """By facet id; a follow-up's outcome by its gap's id."""
    acceptances: dict[str, Acceptance] = {}
    dropped: tuple[str, ...] = ()
    """Facets an operator took out."""
    researched: bool = False
    running: tuple[str, ...] = ()
    ledger: LedgerRef | None = None
    draft: DraftRef | None = None
    drafted: int = -1
    """The pass the draft was written in; -1 where there is none yet."""
    judged: int = -1
    """The pass whose draft was judged last."""
    gaps: tuple[Gap, ...] = ()
    passes: tuple[Pass, ...] = ()
    stop_reason: StopReason | None = None
    spend: Spend = Spend()
    spend_by_role: dict[str, Spend] = Field(default_factory=dict)
    spend_by_facet: dict[str, Spend] = {}
    counters: Counters = Field(default_factory=Counters)
    checkpoints: tuple[Checkpoint, ...] = ()
    blocked: Blocked | None = None
    notes: tuple[TaskNote, ...] = ()
    paused: bool = False
    finishing: bool = False
    parent: Parent | None = None
    listeners: tuple[Notify, ...] = ()
    """Callers who joined and want to hear of checkpoints, beside the one the request names."""
    previous: PreviousRef | None = None
    """The result of the run before, where changes are reported."""
    ways: tuple[str, ...] = ()
    """Ways of working the worker that runs this job knows, beyond those of the first release."""
    seconds: float = 0.0
    """How long the job had been worked on when this state was handed over."""

    @property
    def limits(self) -> Limits:
        request = self.request
        kind = self.plan.kind if self.plan else QuestionKind.OVERVIEW
        limits = limits_for(request.effort, kind, request.max_facets)
        wanted: dict[str, int] = {}
        if request.max_claims is not None:
            wanted["claims"] = request.max_claims
        if request.max_passes is not None and kind is not QuestionKind.FACT:
            wanted["passes"] = request.max_passes
        return limits.model_copy(update=wanted)

    def book(self, role: str, spend: Spend, facet_id: str | None = None) -> None:
        """Enter what a subagent cost, in total, by role and by facet."""
        self.spend += spend
        self.spend_by_role[role] = self.spend_by_role.get(role, Spend()) + spend
        if facet_id is not None:
            self.spend_by_facet[facet_id] = self.spend_by_facet.get(facet_id, Spend()) + spend


class FacetStatus(Record):
    id: str
    title: str
    status: str
    claims: int = 0
    sources: int = 0
    turns: int = 0


class Status(Record):
    """A job at a glance; what `status` answers and the live view shows."""

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
    """Until when the plan waits for a person's word; None where it does not."""
    plan_changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    parent: Parent | None = None
    stop_reason: StopReason | None = None


# --- the result: report.json --------------------------------------------------------------------

CoverageStatus = Literal["answered", "contested", "absent", "failed", "left_out"]
ResultStatus = Literal["complete", "complete_with_gaps", "nothing_found"]


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
    """The [n] it is cited by; None where it was read and not cited."""
    id: str
    uri: str
    title: str
    date: str | None
    kind: str
    authority: float
    origin: str
    sha256: str


class ClaimOut(Record):
    id: str
    facet_id: str
    text: str
    verdict: Verdict
    confidence: float
    quotes: tuple[Quote, ...]
    origins: int = 1
    uncertain: str = ""
    not_to_overstate: str = ""
    notes: str = ""


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
    gaps: tuple[Gap, ...] = ()
    passes: tuple[PassOut, ...] = ()
    unreadable: tuple[UnreadableFile, ...] = ()
    mended: tuple[str, ...] = ()
    stop_reason: StopReason | None = None
    parent: Parent | None = None
    started_at: str = ""
    changes: Changes | None = None
    """What is otherwise than in the last run of its schedule; None where there was none."""
    telemetry: Telemetry = Telemetry()
    report_markdown: str
