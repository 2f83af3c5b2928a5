"""What people may say to a running job. Each message has a type of its own: fields can be added.

    resume    go on after a block or a pause
    approve   say yes or no to the plan, or put an edited one in its place
    steer     add, drop or refine facets, add a note, set the budget
    pause     buy nothing until resumed
    finish    write the report from what there is

All are idempotent: said twice, they change nothing the second time.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .evidence import Record
from .facets import Facet, Plan
from .spend import Budget

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]


class Resume(Record):
    """Go on with a blocked or paused job."""

    note: str = ""


class Approve(Record):
    """The answer to a plan that waits for one."""

    decision: Literal["approve", "reject"] = "approve"
    plan: Plan | None = None
    """The plan as it was edited; None takes it as it is."""
    note: str = ""
    """A rejected plan is made anew with this note; without one the job ends."""


class AddFacet(Record):
    kind: Literal["add_facet"] = "add_facet"
    facet: Facet


class DropFacet(Record):
    kind: Literal["drop_facet"] = "drop_facet"
    facet_id: str


class RefineFacet(Record):
    """Ask a facet another question, or draw its boundary anew."""

    kind: Literal["refine_facet"] = "refine_facet"
    facet_id: str
    question: str = Field(min_length=1, max_length=600)


class AddNote(Record):
    """A remark for every subagent; those that run get it at their next turn."""

    kind: Literal["add_note"] = "add_note"
    text: Words


class SetBudget(Record):
    kind: Literal["set_budget"] = "set_budget"
    budget: Budget


Change = Annotated[
    AddFacet | DropFacet | RefineFacet | AddNote | SetBudget, Field(discriminator="kind")
]


class Steer(Record):
    changes: tuple[Change, ...] = Field(min_length=1)


class Pause(Record):
    """Buy nothing more until resumed."""


class Finish(Record):
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
"""The last report of a job: its result is ready."""

Id = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class Notify(Record):
    """A workflow in the job's own namespace that is signalled at each checkpoint."""

    workflow_id: Id
    run_id: str | None = None
    """A run of it; None for whichever runs at the time."""
    signal: Id = SIGNAL


class CheckpointReached(Record):
    """Where a job stands. The last one of a job is called `finished`."""

    job_id: str
    run_id: str
    checkpoint: str
    phase: str
    at: str
    turns: int = 0
    usd: float = 0.0
    gaps_open: int = 0


class Join(Record):
    """Ask for a job that may be running already."""

    notify: Notify | None = None
    """Where the job is to report to this caller as well."""


class Joined(Record):
    """Which job it is, and where it stands."""

    id: str
    run_id: str
    started_at: str
    phase: str
    callers: int = Field(ge=1)
    """How many have asked for this run; the first one started it."""

    @property
    def started(self) -> bool:
        return self.callers == 1
