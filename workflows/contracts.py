"""What crosses the boundary: the request and the state of a job.

Plain JSON in and out, so that any Temporal client in any language can take part. What a job comes
to is in `results`, and can be had from here as well; what the coordinator and its activities say to
each other is in `briefs`, what people say in `commands`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from workflows.budget import Budget, Spend
from workflows.callers import Notify
from workflows.changes import PreviousRef
from workflows.commands import TaskNote
from workflows.evidence import Record
from workflows.gaps import Gap, Pass, StopReason
from workflows.milestones import Blocked as Blocked
from workflows.milestones import Checkpoint as Checkpoint
from workflows.milestones import Parent as Parent
from workflows.milestones import Phase as Phase
from workflows.milestones import UnreadableFile as UnreadableFile
from workflows.models import OFFLINE
from workflows.outcomes import SubagentOutcome
from workflows.plan import Effort, Limits, Plan, QuestionKind, limits_for
from workflows.policies import TASK_QUEUE as TASK_QUEUE
from workflows.results import ClaimOut as ClaimOut
from workflows.results import Coverage as Coverage
from workflows.results import CoverageStatus as CoverageStatus
from workflows.results import FacetOut as FacetOut
from workflows.results import FacetStatus as FacetStatus
from workflows.results import PassOut as PassOut
from workflows.results import PlanOut as PlanOut
from workflows.results import QuoteOut as QuoteOut
from workflows.results import ResearchResult as ResearchResult
from workflows.results import ResultStatus as ResultStatus
from workflows.results import SourceOut as SourceOut
from workflows.results import Status as Status
from workflows.results import Telemetry as Telemetry
from workflows.roles import RoleEffort
from workflows.timeline import Span

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
    timeline: tuple[Span, ...] = ()
    """Which step ran when, of this run and of those it was taken up from."""

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
