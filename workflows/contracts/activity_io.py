"""The inputs and results of the activities.

A brief is all that a subagent knows: it inherits nothing. Results are small: an activity stores
what is large and returns a reference.
"""

from __future__ import annotations

from typing import Self

from pydantic import ConfigDict, Field

from .evidence import Position, Record, Relation
from .facets import Effort, Facet, Plan
from .messages import ControlMessages
from .outcomes import Alternative, FindingsRef, SubagentOutcome
from .request import SharedSettings
from .result import ReportRef, ResearchResult
from .spend import Allowance, Spend
from .state import (
    AnswerJudgement,
    CorpusReady,
    CorpusRef,
    DraftRef,
    FindingsJudgement,
    Gap,
    GapStatus,
    LedgerRef,
    ResearchState,
    RubricVerdict,
    Timing,
    UnreadableFile,
)


class Job(SharedSettings):
    """What all subagents of a job share."""

    model_config = ConfigDict(extra="ignore")

    id: str
    journal: str
    today: str
    corpus: CorpusRef | None = None
    allowance: Allowance = Allowance()
    """What a subagent other than a researcher may still spend."""

    @classmethod
    def of(cls, state: ResearchState, allowance: Allowance | None = None) -> Self:
        shared = {name: getattr(state.request, name) for name in SharedSettings.model_fields}
        return cls(
            **shared,
            id=state.id,
            journal=state.journal,
            today=state.started_at[:10],
            corpus=state.corpus.ref,
            allowance=allowance or Allowance(),
        )


class OpenCorpus(Record):
    corpus: str | None
    """`NAME`, `NAME@VERSION`, or a folder or address the worker can read."""
    labels: tuple[str, ...] = ()
    is_parsed: bool = False
    """All files have been parsed: what is left is to index them."""
    store_id: str = ""
    """The job's store; empty where the client did not say."""


class ParseFiles(Record):
    """Some of the packs that a version has and its base has not, by position."""

    version: str
    base: str = ""
    start: int
    end: int
    files: int = 0


class CorpusOpened(Record):
    corpus: CorpusReady
    parse: tuple[ParseFiles, ...] = ()
    """What has to be parsed first, where it is too much for one worker."""
    version: str = ""
    """`NAME@VERSION`, to be opened afterwards."""


class PlanBrief(Record):
    job: Job
    effort: Effort
    max_facets: int
    notes: tuple[str, ...] = ()
    """The notes of those who rejected earlier plans."""


class Planned(Record):
    plan: Plan
    spend: Spend


class ReviewBrief(Record):
    job: Job
    plan: Plan
    max_facets: int
    notes: tuple[str, ...] = ()
    """The notes of those who rejected earlier plans."""


class Known(Record):
    """What the coordinator puts into a prompt: a finding, or that there is none and why."""

    facet: str
    status: str = "found"
    summary: str = ""
    reason: str = ""


class ResearchBrief(Record):
    """One facet, or one gap of a facet, for one subagent."""

    job: Job
    facet: Facet
    ask: str
    task: str
    """Unique in the job: the facet's id, or the gap's."""
    known: tuple[Known, ...] = ()
    known_findings: tuple[str, ...] = ()
    """Keys of findings the job already has; their claims need not be found again."""
    attempt: int = 0
    alternative: Alternative | None = None
    """What this attempt tries, after one that failed."""
    previous: str = ""
    """Why the last attempt was not enough."""
    retried_after: str = ""
    """The status of the last attempt; a label of telemetry."""
    follow_ups: tuple[str, ...] = ()
    """Precise questions to the same subagent, after its answer, in their order."""
    cycles: int
    max_claims: int
    allowance: Allowance
    seconds: float


class Group(Record):
    """Claims about one thing that seem to differ."""

    claim_ids: tuple[str, ...]
    kind: str
    about: str
    relation: Relation = "contradicts"
    """How code takes the difference; the verifier rules on it."""
    sides: tuple[Position, ...] = ()


class Reconciled(Record):
    """A ledger, and what in it the judge has not seen yet."""

    ledger: LedgerRef
    claim_batches: tuple[tuple[str, ...], ...] = ()
    """Ids of claims to hold against their quotes."""
    group_batches: tuple[tuple[Group, ...], ...] = ()
    """Claims to hold against each other."""


class Researched(Record):
    outcome: SubagentOutcome
    spend: Spend
    checked: Reconciled | None = None
    """The ledger of its findings; None where there are none."""
    transcript: str = ""
    """The id of the transcript, which a follow-up continues."""


class ReconcileBrief(Record):
    """Join findings and ledgers into one ledger, and apply the rulings."""

    job: Job
    questions: dict[str, str]
    """The questions of the facets, by id."""
    findings: tuple[str, ...] = ()
    ledgers: tuple[str, ...] = ()
    rulings: tuple[str, ...] = ()
    relate: bool = False
    """Find the claims that bear on each other."""


class JudgeClaimsBrief(Record):
    """Hold claims against their quotes, and all claims of the ledger against the ask."""

    job: Job
    facet: Facet
    ask: str
    said: FindingsRef | None = None
    """What the subagent says of its findings; None where another batch judges them."""
    ledger: LedgerRef
    claim_ids: tuple[str, ...]
    task: str


class JudgeRelationsBrief(Record):
    job: Job
    ledger: LedgerRef
    groups: tuple[Group, ...]
    task: str


class Judged(Record):
    rulings: str
    """The key of the rulings; where the check could not run, all are `unverified`."""
    findings: FindingsJudgement | None = None
    """The judge's view of all that was found; None where it was not asked, or gave none."""
    spend: Spend


class GapFollowUp(Record):
    """A gap, and what its follow-up brought."""

    gap: Gap
    ledger: LedgerRef
    said: str = ""
    """The researcher's summary."""
    missing: tuple[str, ...] = ()
    """What the researcher says was not found."""


class JudgeGapsBrief(Record):
    job: Job
    known: LedgerRef | None
    """The ledger before the follow-ups: what stands in it already closes nothing."""
    follow_ups: tuple[GapFollowUp, ...]
    task: str


class GapRuling(Record):
    gap_id: str
    status: GapStatus
    """`open` where the judge gave no answer."""
    reason: str
    new_claims: int = 0


class GapsJudged(Record):
    rulings: tuple[GapRuling, ...]
    spend: Spend


class FacetReport(Record):
    """How the research of a facet ended, for the writer and the evaluator."""

    facet_id: str
    status: str
    reason: str = ""
    missing: tuple[str, ...] = ()
    next_step: str = ""
    """What the researcher would do next."""
    leads: tuple[str, ...] = ()
    """What its claims point to beyond what it was asked."""
    problems: tuple[str, ...] = ()
    """Tools and sources that failed."""


class WriteBrief(Record):
    job: Job
    plan: Plan
    ledger: LedgerRef
    reports: tuple[FacetReport, ...]
    gaps: tuple[Gap, ...]
    findings: tuple[str, ...] = ()
    """Keys of what the researchers brought: the writer is told what their programs printed."""
    unreadable: tuple[UnreadableFile, ...] = ()
    previous: DraftRef | None = None
    revise: tuple[str, ...] = ()
    """Facets whose sections are rewritten; all where there is no previous draft."""
    task: str


class Written(Record):
    draft: DraftRef
    spend: Spend
    judge_spend: Spend = Spend()
    """What the judge of the drafts cost."""


class EvaluateBrief(Record):
    job: Job
    plan: Plan
    ledger: LedgerRef
    draft: DraftRef
    reports: tuple[FacetReport, ...]
    gaps: tuple[Gap, ...]
    rubric: tuple[str, ...] = ()
    """The points that the asker wants the report to meet."""
    n: int
    task: str


class Evaluated(Record):
    gaps: tuple[Gap, ...]
    """A gap outside all facets has no facet id."""
    answer: AnswerJudgement | None = None
    rubric: tuple[RubricVerdict, ...] = ()
    spend: Spend


class PublishBrief(Record):
    state: ResearchState
    seconds: float
    key: str
    """Where the report is stored."""


class Published(Record):
    result: ResearchResult
    report: ReportRef


class KeepCheckpoint(Record):
    key: str
    state: ResearchState


class PostControlMessages(Record):
    job_id: str
    messages: ControlMessages


class ControlMessagesPosted(Record):
    subagent_queue: str | None = None
    """Where the worker that runs the job wants its subagents; None for their own task queue."""
    timing: Timing = Timing()


class RetentionBrief(Record):
    dry_run: bool = False
    """Only say what would be deleted."""


class ObjectTotal(Record):
    count: int = 0
    bytes: int = 0


class RetentionResult(Record):
    """What a pass deleted, by class of objects."""

    deleted: dict[str, ObjectTotal] = Field(default_factory=dict)
    dry_run: bool = False
    open_jobs: int = 0
