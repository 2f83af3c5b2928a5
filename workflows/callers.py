"""What a caller and a running job say to each other: reports on the way, and joining a job.

    Notify             where a job is to report, if the caller wants to hear of it on the way
    CheckpointReached  the report: small, with nothing of the question in it
    Join, Joined       asking for research that may be running already, and which job it is

`shared_id` names a job by what it asks. Callers who ask the same in the same words, with the same
settings, get the same id; started with it by update-with-start, they share one job and one bill.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, StringConstraints

from workflows.evidence import Record

if TYPE_CHECKING:
    from workflows.contracts import ResearchRequest

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


def shared_id(request: ResearchRequest, scope: str = "") -> str:
    """The id of the job that answers this request: a hash, nothing of the question is in it.

    Case, white space and a closing mark do not make another question; any other setting does. Jobs
    of different scopes (a tenant, a team) are never shared. Asked again on the day it was answered,
    a question finds what was bought for it, and not what has changed since: a scope with the hour
    in it asks anew every hour.
    """
    # Defaults are left out, so a setting that is added later does not rename running jobs.
    settings = request.model_dump(
        mode="json", exclude={"question", "notify"}, exclude_defaults=True
    )
    question = " ".join(request.question.casefold().split()).rstrip(" ?!.")
    told = json.dumps([scope, question, settings], sort_keys=True, ensure_ascii=True)
    return f"research-{hashlib.sha256(told.encode()).hexdigest()[:32]}"
