"""The request that starts a job. It is plain JSON: a client in any language can send it."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from .evidence import Message
from .facets import Effort
from .messages import Notify, PersonName
from .spend import Budget

TASK_QUEUE = "research"
"""The task queue of `ResearchWorkflow`."""
OFFLINE = "offline"
"""The model that needs neither a key nor a network."""
MAX_QUESTION_WORDS = 2000
DEFAULT_PARALLEL = 5

Note = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
RubricPoint = Annotated[str, StringConstraints(min_length=1, max_length=500)]
LABEL = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$"
Label = Annotated[str, StringConstraints(pattern=LABEL)]
WebhookUrl = Annotated[
    str, StringConstraints(pattern=r"^https?://[^\s/?#@]+([/?][^\s#]*)?$", max_length=2000)
]
RoleEffort = Literal["low", "medium", "high", "xhigh", "max"]


class Approval(Message):
    """A person approves the plan before research is paid for."""

    seconds: float = Field(default=24 * 3600.0, gt=0, le=30 * 24 * 3600)
    """How long the plan waits for an answer."""
    default: Literal["approve", "reject"] = "approve"
    """The decision when nobody answers."""


class Web(Message):
    """The provider's search and fetch tools, and their limits."""

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


class SharedSettings(Message):
    """The part of a request that all subagents of the job are given."""

    question: str = Field(min_length=1, max_length=40_000)
    model: str = OFFLINE
    """One model for all roles, or `claude`: the role table's model for each role."""
    models: dict[str, str] = Field(default_factory=dict)
    """Another model for a role, by the role's name."""
    efforts: dict[str, RoleEffort] = Field(default_factory=dict)
    """Another effort for a role, by the role's name."""
    web: Web | None = None
    code: bool = False
    """Whether researchers and verifiers may run code in the provider's sandbox."""
    economy: bool = False
    """Verify in batches: half the price, up to a day later."""
    pinned: tuple[Note, ...] = ()
    """Facts that every subagent is given with the question."""
    audience: str = Field(default="", max_length=300)
    """For whom the report is written."""
    length: str = Field(default="", max_length=300)
    """How long it should be, in the asker's words."""
    tone: str = Field(default="", max_length=300)


class ResearchRequest(SharedSettings):
    """A research job."""

    corpus: str | None = None
    """A corpus of the store, `NAME` or `NAME@VERSION`, or a folder that a worker can read."""
    labels: tuple[Label, ...] = ()
    """The job sees documents without labels, and those all of whose labels are among these."""
    effort: Effort = Effort.STANDARD
    max_passes: int | None = Field(default=None, ge=0, le=20)
    max_facets: int | None = Field(default=None, ge=1, le=60)
    max_claims: int | None = Field(default=None, ge=1, le=60)
    """Per facet."""
    parallel: int = Field(default=DEFAULT_PARALLEL, ge=1, le=50)
    """How many subagents of this job run at once."""
    subagent_seconds: float = Field(default=900.0, gt=0, le=6 * 3600)
    """When a subagent answers with what it has."""
    patience: float | None = Field(default=3.0, gt=1, le=100)
    """How many times longer than most facets the last ones may take before the report is started
    without them; a refinement pass adds them. None waits for all."""
    budget: Budget = Budget()
    rubric: tuple[RubricPoint, ...] = Field(default=(), max_length=40)
    """Points that the report must meet, in the asker's words."""
    approval: Approval | None = None
    """Set where a person approves the plan."""
    tenant: str = Field(default="", max_length=64)
    """Fairness key: tenants get equal shares of the workers. Not encrypted: no names here."""
    weight: float = Field(default=1.0, ge=0.001, le=1000)
    """A tenant of twice the weight gets twice the share."""
    priority: int = Field(default=3, ge=1, le=5)
    """1 goes before 5, for all tenants."""
    store_id: str = Field(default="", max_length=64)
    """The store of the client that started the job; workers with another one refuse it."""
    notify: Notify | None = None
    """A workflow that is signalled at each checkpoint."""
    webhook: WebhookUrl | None = None
    """An address that is sent a signed message at each checkpoint and at the end."""
    by: PersonName = ""
    """The name of the person who starts the job."""
    report_changes: bool = False
    """Report what changed since the last run; for scheduled jobs."""


def shared_id(request: ResearchRequest, scope: str = "") -> str:
    """The id of the job that answers this request: a hash, nothing of the question is in it.

    Callers that ask the same question with the same settings get the same id; started with it by
    update-with-start, they share one job. Case, white space and a closing mark make no difference.
    Jobs of different scopes (a tenant, a team) are never shared. A question that is asked again on
    the same day finds the journaled answers: put the hour into the scope to ask anew every hour.
    """
    # Without defaults, so that a setting that is added later does not rename running jobs.
    settings = request.model_dump(
        mode="json", exclude={"question", "notify", "store_id", "by"}, exclude_defaults=True
    )
    question = " ".join(request.question.casefold().split()).rstrip(" ?!.")
    identity = json.dumps([scope, question, settings], sort_keys=True, ensure_ascii=True)
    return f"research-{hashlib.sha256(identity.encode()).hexdigest()[:32]}"
