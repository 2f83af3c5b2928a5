"""What the coordinator hands each activity, and what it gets back.

A brief is all a subagent knows: nothing else is inherited. Answers are compact; what is large is
stored by the activity and comes back as a reference.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from .evidence import Record
from .facets import Effort, Facet, Plan
from .messages import ControlMessages
from .outcomes import Retry, SubagentOutcome
from .request import RoleEffort, Web
from .result import ResearchResult
from .spend import Allowance, Spend
from .state import (
    CorpusReady,
    DraftRef,
    Gap,
    LedgerRef,
    PreviousRef,
    ResearchState,
    UnreadableFile,
)

Approach = Literal["first"] | Retry


class Job(Record):
    """What every subagent of a job shares."""

    id: str
    journal: str
    model: str
    question: str
    pinned: tuple[str, ...] = ()
    today: str
    corpus: str | None = None
    models: dict[str, str] = Field(default_factory=dict)
    """Another model for a role, by the role's name."""
    efforts: dict[str, RoleEffort] = Field(default_factory=dict)
    web: Web | None = None
    code: bool = False
    economy: bool = False
    allowance: Allowance = Allowance()
    """What a subagent other than a researcher may still spend."""


class OpenCorpus(Record):
    path: str | None


class CorpusOpened(Record):
    corpus: CorpusReady


class PlanBrief(Record):
    job: Job
    effort: Effort
    max_facets: int
    notes: tuple[str, ...] = ()
    """What was said against earlier plans."""


class Planned(Record):
    plan: Plan
    spend: Spend


class ReviewBrief(Record):
    job: Job
    plan: Plan
    max_facets: int


class Known(Record):
    """A finding put into a prompt by the coordinator."""

    facet: str
    summary: str


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
    approach: Approach = "first"
    previous: str = ""
    """Why the last try did not do, in words."""
    follow_ups: tuple[str, ...] = ()
    """Precise questions to the same subagent, after its answer, in their order."""
    cycles: int
    max_claims: int
    allowance: Allowance
    seconds: float


class Group(Record):
    """Claims that bear on one thing and seem to differ."""

    claim_ids: tuple[str, ...]
    kind: str
    about: str


class Batch(Record):
    groups: tuple[Group, ...]


class Reconciled(Record):
    ledger: LedgerRef
    batches: tuple[Batch, ...] = ()


class Researched(Record):
    outcome: SubagentOutcome
    spend: Spend
    checked: Reconciled | None = None
    """Its findings as a ledger of their own; None where there are none, or an older worker came."""


class ReconcileBrief(Record):
    """Pool findings and ledgers into one ledger, with the rulings there are."""

    job: Job
    questions: dict[str, str]
    """Of the facets concerned, by their ids."""
    findings: tuple[str, ...] = ()
    ledgers: tuple[str, ...] = ()
    rulings: tuple[str, ...] = ()


class VerifyBrief(Record):
    job: Job
    ledger: LedgerRef
    batch: Batch
    task: str


class Verified(Record):
    rulings: str
    """The key of the stored rulings, also where the check could not run and left all unverified."""
    spend: Spend


class FacetReport(Record):
    """How a facet's research ended, for the writer and the evaluator."""

    facet_id: str
    status: str
    reason: str = ""
    missing: tuple[str, ...] = ()


class WriteBrief(Record):
    job: Job
    plan: Plan
    ledger: LedgerRef
    reports: tuple[FacetReport, ...]
    gaps: tuple[Gap, ...]
    unreadable: tuple[UnreadableFile, ...] = ()
    previous: DraftRef | None = None
    revise: tuple[str, ...] = ()
    """Facets whose sections are written anew; all where there is no previous draft."""
    task: str


class Written(Record):
    draft: DraftRef
    spend: Spend


class EvaluateBrief(Record):
    job: Job
    plan: Plan
    ledger: LedgerRef
    draft: DraftRef
    reports: tuple[FacetReport, ...]
    gaps: tuple[Gap, ...]
    n: int
    task: str


class Evaluated(Record):
    gaps: tuple[Gap, ...]
    spend: Spend


class PublishBrief(Record):
    state: ResearchState
    seconds: float


class KeepCheckpoint(Record):
    key: str
    state: ResearchState


class Kept(Record):
    key: str


class PostControlMessages(Record):
    job_id: str
    messages: ControlMessages


class ControlMessagesPosted(Record):
    subagent_queue: str | None = None
    """Where the worker that runs the job wants its subagents; None for their own task queue."""


class CompareBrief(Record):
    previous: PreviousRef
    result: ResearchResult


class KeepPrevious(Record):
    key: str
    result: dict[str, Any] = Field(repr=False)
    """As it was written, perhaps by another version; whether it can be read is seen at the end."""
