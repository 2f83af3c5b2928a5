"""The state of a job. Continue-as-new, restart and fork start a run from one of these."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, Field

from .evidence import Record
from .facets import Facet, Plan
from .messages import Notify, TaskNote
from .outcomes import SubagentOutcome
from .request import ResearchRequest
from .spend import Spend

GapKind = Literal["missing", "thin", "unexplained", "adjacent", "failed", "left_out", "asked"]
LATE: Literal["late"] = "late"
"""A facet that had not returned when the report was started. No judge names this kind."""
MAX_ACTS = 200
GapStatus = Literal["open", "closed", "partly", "absent", "failed"]


class Gap(Record):
    id: str
    kind: GapKind | Literal["late"]
    facet_id: str
    text: str = Field(min_length=1, max_length=600)
    """What the report lacks, in a sentence for its readers."""
    question: str = Field(min_length=1, max_length=600)
    """What a follow-up has to find."""
    status: GapStatus = "open"
    opened_in: int = 0
    closed_in: int | None = None
    answered_in: int | None = None
    """The pass that answered it, wholly or in part."""
    title: str = ""
    """The title of the facet to add, for a gap outside all facets."""
    reason: str = ""


class AnswerJudgement(Record):
    """Whether the report answers the question it was written for."""

    status: Literal["answered", "partly", "unanswered"]
    reason: str = ""


class RubricVerdict(Record):
    """Whether the report meets one of the asker's own points."""

    point: str
    status: Literal["met", "partly", "not_met", "unjudged"] = "unjudged"
    reason: str = ""
    cite: tuple[int, ...] = ()
    """The [n] of the sources that show it."""


class StopReason(StrEnum):
    SUFFICIENT = "sufficient"
    NO_PROGRESS = "no_progress"
    CAP = "cap"
    BUDGET = "budget"
    FINISHED = "finished"
    """An operator told the job to finish."""


class Pass(Record):
    """What one pass cost and closed. Pass 0 is the first draft."""

    n: int
    gaps_in: int = 0
    gaps_closed: int = 0
    spend: Spend = Spend()
    seconds: float = 0.0
    stop_reason: StopReason | None = None


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
    """A point the job can be restarted from: the whole state, stored under `key`."""

    name: str
    phase: Phase
    at: str
    turns: int
    usd: float
    key: str = ""


class Parent(Record):
    """The run and the checkpoint a job was started from."""

    id: str
    run_id: str = ""
    checkpoint: str
    how: Literal["restart", "fork"]


class Blocked(Record):
    """Why a job waits for an operator, and what would let it continue."""

    step: str
    reason: str
    remedy: str
    since: str


class Act(Record):
    """What a person did to the job."""

    at: str
    by: str
    """Empty where the message did not say it."""
    act: str
    """`start`, `restart`, `fork`, or the name of a message: `approve`, `reject`, `steer`, …"""


class UnreadableFile(Record):
    uri: str
    reason: str


class StepTiming(Record):
    """When a step ran, in seconds since the job began."""

    step: str
    """`open`, `plan`, `review`, `research`, `verify`, `write` or `evaluate`."""
    facet_id: str = ""
    """The facet that was researched or verified; empty for a step of the whole job."""
    n: int = 0
    """The pass; 0 is the first draft."""
    began: float
    ended: float


class Timing(Record):
    """What the worker that runs the job has set; the history holds it, so that a replay agrees."""

    heartbeat_seconds: float = 30.0
    """After how long without a heartbeat an activity starts on another worker."""
    storage_wait_seconds: float = 3600.0
    """How long a store that cannot be used is waited for before the job is parked."""
    overload_wait_seconds: float = 6 * 3600.0
    """How long a provider that is overloaded or limits the rate is waited for."""


class CorpusRef(Record):
    """The documents that all subagents of a job read: one version of a corpus, and its index."""

    name: str
    version: str
    index: str
    """The key of the published index."""


class CorpusReady(Record):
    """The documents of a job; a restarted or forked job keeps them."""

    ref: CorpusRef | None = None
    documents: int = 0
    unreadable: tuple[UnreadableFile, ...] = ()
    unreadable_count: int = 0
    files: int = 0
    """How many files have to be parsed before the job can begin."""
    files_parsed: int = 0


class LedgerRef(Record):
    """Where the ledger is stored, and its size."""

    key: str
    claims: int = 0
    sources: int = 0
    contradictions: int = 0
    by_facet: dict[str, int] = Field(default_factory=dict)
    """Claims that a report may use, by facet."""
    lost: dict[str, int] = Field(default_factory=dict)
    """Claims whose quotes do not support them, by facet."""


class DraftRef(Record):
    """Where the draft is stored, and what the gate repaired in it."""

    key: str
    words: int = 0
    mended: tuple[str, ...] = ()


class FollowUp(Record):
    """A further question to the same subagent, and what it brought."""

    question: str
    claims_added: int = 0


class FindingsJudgement(Record):
    """Four questions about what a research subagent found, answered from its claims."""

    answers: bool
    """Do the claims answer what was asked?"""
    critical: tuple[str, ...] = ()
    """Holes without which the ask cannot be answered."""
    missing: tuple[str, ...] = ()
    """Smaller holes, against the facet's question and boundary."""
    leads: tuple[str, ...] = ()
    """What the claims point to beyond the ask."""
    proceed: bool
    """Could one proceed on these claims alone?"""
    reason: str = ""
    """Why they do not answer, or why one could not proceed."""


class Acceptance(Record):
    """How an answer was judged, and the follow-ups that led to."""

    judged: FindingsJudgement | None
    """None where nothing was found."""
    follow_ups: tuple[FollowUp, ...] = ()
    transcript: str = ""
    """The id of the subagent's transcript."""

    @property
    def accepted(self) -> bool:
        """What is adjacent is asked for with a follow-up, and is no reason for one."""
        judged = self.judged
        return judged is not None and judged.answers and judged.proceed and not judged.critical


class Counters(BaseModel):
    """What the coordinator counts."""

    spawned: int = 0
    parallel_max: int = 0
    """Subagents of all roles that ran at once, at most."""
    researchers: int = 0
    """Research subagents; one that is retried or followed up counts once."""
    retries: dict[str, int] = Field(default_factory=dict)
    """Research subagents that were retried, by the status that was the reason."""
    partial: int = 0
    """Research that ended with a part of what was asked."""
    follow_ups: int = 0
    """Precise questions to the same subagent, before its answer was accepted."""


class ResearchState(BaseModel):
    """All of a job. What is large (findings, ledger, draft) is a reference into the store."""

    id: str
    journal: str
    request: ResearchRequest
    started_at: str
    version: int = 1
    """The version of the report that this run will publish."""
    phase: Phase = Phase.STARTING
    corpus: CorpusReady = CorpusReady()
    plan: Plan | None = None
    reviewed: bool = False
    approved: bool = False
    plan_notes: tuple[str, ...] = ()
    """The notes of those who rejected earlier plans."""
    outcomes: dict[str, SubagentOutcome] = {}
    """By facet id; a follow-up's outcome by its gap's id."""
    acceptances: dict[str, Acceptance] = {}
    dropped: tuple[str, ...] = ()
    """Facets that an operator dropped."""
    researched: bool = False
    running: tuple[str, ...] = ()
    """The research tasks that run now."""
    ledger: LedgerRef | None = None
    draft: DraftRef | None = None
    drafted: int = -1
    """The pass the draft was written in; -1 where there is none yet."""
    judged: int = -1
    """The pass whose draft was judged last."""
    gaps: tuple[Gap, ...] = ()
    answer: AnswerJudgement | None = None
    """The evaluator's word on the newest draft."""
    rubric: tuple[RubricVerdict, ...] = ()
    """The newest draft judged by the asker's own points."""
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
    acts: tuple[Act, ...] = ()
    """Who did what, the newest last."""
    parent: Parent | None = None
    listeners: tuple[Notify, ...] = ()
    """Callers who joined and want to be told of checkpoints, beside the one in the request."""
    previous: str = ""
    """The key of the previous run's report, where changes are reported."""
    waiting_for: str = ""
    """What the job waits for without anybody's help: the store, or the model's provider."""
    timing: Timing = Timing()
    subagent_queue: str | None = None
    """The task queue of the subagents, where the job's worker wants another than their own."""
    seconds: float = 0.0
    """How long earlier runs of the job took."""
    timeline: tuple[StepTiming, ...] = ()
    """When each step ran, in this run and in those it continues."""

    @property
    def facets(self) -> dict[str, Facet]:
        """The facets of the plan, by id; none before there is a plan."""
        return {facet.id: facet for facet in self.plan.facets} if self.plan else {}

    def record_act(self, act: str, by: str, at: str) -> None:
        self.acts = (*self.acts, Act(at=at, by=by, act=act))[-MAX_ACTS:]

    def book(self, role: str, spend: Spend, facet_id: str | None = None) -> None:
        """Add what a subagent cost, in total, by role and by facet."""
        self.spend += spend
        self.spend_by_role[role] = self.spend_by_role.get(role, Spend()) + spend
        if facet_id is not None:
            self.spend_by_facet[facet_id] = self.spend_by_facet.get(facet_id, Spend()) + spend
