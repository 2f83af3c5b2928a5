"""The messages of operators and callers to a running job, and its messages to them.

    resume    continue a blocked or paused job
    approve   accept or reject the plan, or replace it by an edited one
    steer     add, drop or refine facets, add a note, set the budget
    pause     make no model calls until resumed
    finish    write the report from what there is
    join      ask for research that may be running already

A message with a field that does not exist, or without one it needs, is refused. All updates are
idempotent. The job keeps who sent what, and when. A job signals `CheckpointReached` to the callers
that asked for it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .evidence import Message, Record
from .facets import Facet, Plan
from .spend import Budget

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]


PersonName = Annotated[str, StringConstraints(max_length=200)]


class OperatorMessage(Message):
    """A message that changes a job."""

    by: PersonName = ""
    """The name of the person who sends it."""


class Resume(OperatorMessage):
    """Continue a blocked or paused job."""

    note: str = ""


class Approve(OperatorMessage):
    """The answer to a plan that waits for approval."""

    decision: Literal["approve", "reject"]
    plan: Plan | None = None
    """The edited plan; None accepts the plan as it is."""
    note: str = ""
    """A rejected plan is made anew with this note; without one the job ends."""


class AddFacet(Message):
    kind: Literal["add_facet"] = "add_facet"
    facet: Facet


class DropFacet(Message):
    kind: Literal["drop_facet"] = "drop_facet"
    facet_id: str


class RefineFacet(Message):
    """Give a facet another question."""

    kind: Literal["refine_facet"] = "refine_facet"
    facet_id: str
    question: str = Field(min_length=1, max_length=600)


class AddNote(Message):
    """A note for every subagent; running ones receive it before their next turn."""

    kind: Literal["add_note"] = "add_note"
    text: Words


class SetBudget(Message):
    kind: Literal["set_budget"] = "set_budget"
    budget: Budget


Change = Annotated[
    AddFacet | DropFacet | RefineFacet | AddNote | SetBudget, Field(discriminator="kind")
]


class Steer(OperatorMessage):
    changes: tuple[Change, ...] = Field(min_length=1)


class Pause(OperatorMessage):
    """Make no model calls until resumed."""


class Finish(OperatorMessage):
    """Start no more research; write the report from what there is."""


class TaskNote(Record):
    """A note for one subagent's task, or for all of them."""

    text: str
    task: str | None = None


class ControlMessages(Record):
    """What running subagents have to know. They look it up before each model call."""

    notes: tuple[TaskNote, ...] = ()
    paused: bool = False
    finishing: bool = False


SIGNAL = "research_checkpoint"
MAX_LISTENERS = 50
FINISHED = "finished"
"""The last checkpoint of a job: its result is ready."""
FAILED, CANCELLED = "failed", "cancelled"
"""How a job ends without a result. Only webhooks are told."""

Id = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class Notify(Message):
    """A workflow in the job's own namespace that is signalled at each checkpoint."""

    workflow_id: Id
    run_id: str | None = None
    """None signals the run that is open at the time."""
    signal: Id = SIGNAL


class CheckpointReached(Record):
    """The progress of a job. The last one of a job is called `finished`."""

    job_id: str
    run_id: str
    checkpoint: str
    phase: str
    at: str
    turns: int = 0
    usd: float = 0.0
    gaps_open: int = 0


WEBHOOK_WORKFLOW = "WebhookWorkflow"
WEBHOOK_ID = "/webhook/"
"""Between the id of a job and that of a delivery, in the id of the delivery's workflow."""


class Delivery(Record):
    """One event of a job for the webhook of its request."""

    id: str
    """The same in every attempt, so that a receiver can drop what it has."""
    url: str
    event: CheckpointReached

    @property
    def host(self) -> str:
        """For summaries and logs: the rest of an address may hold a secret of the receiver."""
        return self.url.split("/")[2]


class Join(Message):
    """Ask for a job that may be running already."""

    notify: Notify | None = None
    """Signal this caller, too."""


class Joined(Record):
    """Which job it is, and its progress."""

    id: str
    run_id: str
    started_at: str
    phase: str
    callers: int = Field(ge=1)
    """How many callers asked for this run; the first one started it."""

    @property
    def started(self) -> bool:
        return self.callers == 1
