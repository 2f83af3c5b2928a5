"""The request that starts a job. It is plain JSON: a client in any language can send it."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from .evidence import Record
from .facets import Effort
from .messages import Notify
from .spend import Budget

TASK_QUEUE = "research"
"""The task queue of `ResearchWorkflow`."""
OFFLINE = "offline"
"""The model that needs neither a key nor a network."""
MAX_QUESTION_WORDS = 2000
DEFAULT_PARALLEL = 5

Note = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
RoleEffort = Literal["low", "medium", "high", "xhigh", "max"]


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
