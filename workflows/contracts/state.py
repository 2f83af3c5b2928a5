"""The state of a job. Continue-as-new, restart and fork start a run from one of these."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, Field

from .evidence import Record
from .facets import Plan
from .messages import Notify, TaskNote
from .outcomes import SubagentOutcome
from .request import ResearchRequest
from .spend import Spend

GapKind = Literal["missing", "thin", "unexplained", "adjacent", "failed", "left_out", "asked"]
LATE: Literal["late"] = "late"
"""A facet that was not back when the report was begun. Nobody judges it so: it is a fact."""
GapStatus = Literal["open", "closed", "absent", "failed"]


class Gap(Record):
    id: str
    kind: GapKind | Literal["late"]
    facet_id: str
    text: str = Field(min_length=1, max_length=600)
    """What the report lacks, in a sentence a reader understands."""
    question: str = Field(min_length=1, max_length=600)
    """What a follow-up is sent out to find."""
    status: GapStatus = "open"
    opened_in: int = 0
    closed_in: int | None = None
    reason: str = ""


class StopReason(StrEnum):
    SUFFICIENT = "sufficient"
    NO_PROGRESS = "no_progress"
    CAP = "cap"
    BUDGET = "budget"
    FINISHED = "finished"
    """Somebody said: finish now."""


class Pass(Record):
    """What one round cost and closed. Pass 0 is the first draft."""

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


class StepTiming(Record):
    """One step, in seconds since the job began."""

    step: str
    """`open`, `plan`, `review`, `research`, `verify`, `write` or `evaluate`."""
    facet_id: str = ""
    """Whose research or verification it was; empty where it was about the whole."""
    n: int = 0
    """The pass; 0 is the first draft."""
    began: float
    ended: float


class PreviousRef(Record):
    """Where the result of the run before is kept while this one works."""

    key: str


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
    subagent_queue: str | None = None
    """The task queue of the subagents, where the job's worker wants another than their own."""
    seconds: float = 0.0
    """How long the job had been worked on when this state was handed over."""
    timeline: tuple[StepTiming, ...] = ()
    """Which step ran when, of this run and of those it was taken up from."""

    def book(self, role: str, spend: Spend, facet_id: str | None = None) -> None:
        """Enter what a subagent cost, in total, by role and by facet."""
        self.spend += spend
        self.spend_by_role[role] = self.spend_by_role.get(role, Spend()) + spend
        if facet_id is not None:
            self.spend_by_facet[facet_id] = self.spend_by_facet.get(facet_id, Spend()) + spend
