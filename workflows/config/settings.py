"""The settings: environment variables, read once at start-up and passed on.

The alias of a field is the name of its variable. Secrets are not among the fields, only whether
they are set: the clients that need them read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    IPvAnyNetwork,
    ValidationInfo,
    field_validator,
)

from workflows.config.model_catalog import DEFAULT_CLAUDE, LOCAL
from workflows.config.roles import ROLES
from workflows.contracts.request import OFFLINE, TASK_QUEUE, RoleEffort

Provider = Literal["anthropic", "bedrock", "vertex", "foundry"]
WorkerRole = Literal["all", "alone", "coordinator", "subagents"]

STATE_DIR = ".research"
MAX_TOKENS = 64_000
"""Thinking counts, so that a smaller limit cuts answers off; only what is written is paid."""
KEEP_DAYS = {
    "journal": 30.0,
    "checkpoints": 30.0,
    "payloads": 40.0,
    "reports": 365.0,
    "texts": 40.0,
    "corpora": 40.0,
}
"""How long what no open job needs is kept, by class; 0 is for ever. Texts and documents stay while
a report refers to them. Namespaces keep histories for 30 days; their payloads are kept longer."""
_SERVER = ("TEMPORAL_ADDRESS", "TEMPORAL_PROFILE", "TEMPORAL_CONFIG_FILE")
_CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE")
_TELEMETRY = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@dataclass(frozen=True)
class Pace:
    """The timeouts of activities and workflow tasks.

    On one machine a lost worker is noticed within seconds. Across a network, under load and with
    thousands of activities, short timeouts repeat work that was only slow.
    """

    heartbeat: timedelta
    task: timedelta
    """How long a worker may take for one workflow task."""
    sticky: timedelta
    """How long a workflow task waits for the worker that has the workflow in its cache."""
    max_pollers: int = 20
    """Few open polls: a task that a frozen worker has polled is delayed until its timeout."""

    @property
    def heartbeat_throttle(self) -> timedelta:
        """Heartbeats go to the server at most this often."""
        return min(timedelta(seconds=5), self.heartbeat / 3)


EMBEDDED = Pace(
    heartbeat=timedelta(seconds=3), task=timedelta(seconds=4), sticky=timedelta(seconds=2)
)
SERVER = Pace(
    heartbeat=timedelta(seconds=30), task=timedelta(seconds=10), sticky=timedelta(seconds=5)
)


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    state_dir: str = Field(default=STATE_DIR, validation_alias="RESEARCH_HOME")
    """Where the embedded server, the store and the indexes are."""
    store: str = Field(validation_alias="RESEARCH_STORE")
    """A folder or a URL (s3://, gs://, az://, file://) for what must survive."""
    corpora: tuple[str, ...] = Field(default=(), validation_alias="RESEARCH_CORPORA")
    """The only folders a worker takes documents from, separated by `:`; any unless set."""
    corpus_files: int = Field(default=200_000, ge=1, validation_alias="RESEARCH_CORPUS_FILES")
    """How many files one corpus may hold."""
    corpus_bytes: int = Field(
        default=20_000_000_000, ge=1, validation_alias="RESEARCH_CORPUS_BYTES"
    )
    ocr: bool = Field(default=False, validation_alias="RESEARCH_OCR")
    """Whether text is recognised in images and on scanned pages; needs the extra `ocr`."""
    index_cache_bytes: int = Field(
        default=5_000_000_000, ge=0, validation_alias="RESEARCH_INDEX_CACHE_BYTES"
    )
    """How much room fetched indexes take on a worker's disk."""
    webhook_networks: tuple[IPvAnyNetwork, ...] = Field(
        default=(), validation_alias="RESEARCH_WEBHOOK_NETWORKS"
    )
    """Networks that are not public and to which webhooks may be sent, with `,` between them."""
    has_webhook_secret: bool = False
    keys: str | None = Field(default=None, validation_alias="RESEARCH_KEYS")
    """A file with encryption keys; with it, payloads and the store are encrypted."""

    keep_days: dict[str, float] = Field(
        default_factory=KEEP_DAYS.copy, validation_alias="RESEARCH_KEEP_DAYS"
    )
    """Other ages than those of `KEEP_DAYS`: `journal=14,reports=0`."""
    retention_hours: float = Field(default=24.0, ge=0, validation_alias="RESEARCH_RETENTION_HOURS")
    """How often what is too old is deleted; 0 is never."""
    people: str | None = Field(default=None, validation_alias="RESEARCH_PEOPLE")
    """The file of people who may use the console; `people.json` in the state folder unless set."""
    oidc: str | None = Field(default=None, validation_alias="RESEARCH_OIDC")
    """A file that names an identity provider, and the roles of its groups."""
    proxies: str | None = Field(default=None, validation_alias="RESEARCH_PROXIES")
    """Addresses of proxies whose `X-Forwarded-For` the console believes, separated by commas."""

    has_server: bool = False
    """True where Temporal's own variables name a server; else an embedded one is started."""
    has_credentials: bool = False
    base_url: str | None = Field(default=None, validation_alias="ANTHROPIC_BASE_URL")
    """Any endpoint that speaks the Messages API."""
    local_model: str | None = Field(default=None, validation_alias="RESEARCH_LOCAL_MODEL")
    """A GGUF file that the worker serves as the model `local`."""
    provider: Provider = Field(default="anthropic", validation_alias="RESEARCH_PROVIDER")
    models: dict[str, str] = Field(default_factory=dict)
    """RESEARCH_MODEL_<ROLE>: another model for a role than the table's."""
    efforts: dict[str, RoleEffort] = Field(default_factory=dict)
    """RESEARCH_EFFORT_<ROLE>: another effort for a role."""
    max_tokens: int = Field(default=MAX_TOKENS, ge=256, validation_alias="RESEARCH_MAX_TOKENS")
    """The output limit of a turn; a smaller limit of the model is learnt from its error."""
    context_window: int = Field(default=0, ge=0, validation_alias="RESEARCH_CONTEXT_WINDOW")
    """Tokens, for models that are not in the catalog; 0: learnt from the error, if at all."""
    mcp: str | None = Field(default=None, validation_alias="RESEARCH_MCP")
    """A file that names MCP servers and the roles that may use their tools."""

    worker_role: WorkerRole = Field(default="all", validation_alias="RESEARCH_WORKER_ROLE")
    """Whether a worker runs jobs, their subagents, or both.

    `alone` is both, where there is no other worker: the subagents of a job are on the job's own
    task queue, which saves a round trip through the server.
    """
    parallel_subagents: int = Field(default=40, ge=0, validation_alias="RESEARCH_WORKER_SUBAGENTS")
    """How many subagents one worker runs at once; 0 only answers queries and updates."""
    fleet_subagents: int | None = Field(
        default=None, ge=1, validation_alias="RESEARCH_FLEET_SUBAGENTS"
    )
    """How many subagents all workers together run at once."""
    fleet_turns_per_minute: float | None = Field(
        default=None, gt=0, validation_alias="RESEARCH_FLEET_TURNS_PER_MINUTE"
    )
    """How many model calls all workers together make."""
    task_queue: str = Field(default=TASK_QUEUE, validation_alias="RESEARCH_TASK_QUEUE")
    """The queue a worker takes jobs from. Commands set it for the worker of their own job."""
    heartbeat_timeout: float | None = Field(
        default=None, ge=1, le=600, validation_alias="RESEARCH_HEARTBEAT_SECONDS"
    )
    """After how long without a heartbeat an activity starts on another worker; see `Pace`."""
    task_timeout: float | None = Field(
        default=None, ge=1, le=120, validation_alias="RESEARCH_TASK_SECONDS"
    )
    """How long a worker may take for one workflow task."""
    max_pollers: int | None = Field(
        default=None, ge=1, le=200, validation_alias="RESEARCH_MAX_POLLERS"
    )
    """How many polls a worker keeps open at most, per task queue."""
    storage_wait: float = Field(
        default=3600.0, ge=0, validation_alias="RESEARCH_STORAGE_WAIT_SECONDS"
    )
    """How long a store that cannot be used is waited for before a job is parked."""
    overload_wait: float = Field(
        default=6 * 3600.0, ge=0, validation_alias="RESEARCH_OVERLOAD_WAIT_SECONDS"
    )
    """How long a provider that is overloaded or limits the rate is waited for."""
    sandbox: bool | None = Field(default=None, validation_alias="RESEARCH_SANDBOX")
    """Whether workflows run in the SDK's sandbox; see `uses_sandbox`."""
    deployment: str | None = Field(default=None, validation_alias="RESEARCH_DEPLOYMENT")
    """The name of the worker deployment; with a build id, workers are versioned."""
    build_id: str | None = Field(default=None, validation_alias="RESEARCH_BUILD_ID")
    health: str | None = Field(default=None, validation_alias="RESEARCH_HEALTH")
    """HOST:PORT of a worker's health checks and metrics; nothing listens unless set."""
    telemetry: bool = False
    """True where OpenTelemetry's own variables name a collector."""

    @property
    def default_model(self) -> str:
        if self.local_model:
            return LOCAL
        has_model = self.has_credentials or self.base_url or self.provider != "anthropic"
        return DEFAULT_CLAUDE if has_model else OFFLINE

    @property
    def is_embedded(self) -> bool:
        """Whether the server is the embedded one, on this machine."""
        return self.worker_role == "alone" or not self.has_server

    @property
    def pace(self) -> Pace:
        """The timeouts, as set, or the defaults of the place."""
        default = EMBEDDED if self.is_embedded else SERVER
        given: dict[str, Any] = {
            "heartbeat": self.heartbeat_timeout and timedelta(seconds=self.heartbeat_timeout),
            "task": self.task_timeout and timedelta(seconds=self.task_timeout),
            "max_pollers": self.max_pollers,
        }
        return replace(default, **{name: value for name, value in given.items() if value})

    @property
    def uses_sandbox(self) -> bool:
        """On unless set otherwise; off for the worker of an embedded server, which starts faster
        without it and whose jobs nobody else continues."""
        return self.worker_role != "alone" if self.sandbox is None else self.sandbox

    @field_validator("corpora", "webhook_networks", mode="before")
    @classmethod
    def _split(cls, value: object, info: ValidationInfo) -> object:
        separator = ":" if info.field_name == "corpora" else ","
        return tuple(filter(None, value.split(separator))) if isinstance(value, str) else value

    @field_validator("keep_days", mode="before")
    @classmethod
    def _read_ages(cls, value: object) -> object:
        given = (
            dict(part.strip().split("=", 1) for part in value.split(",") if "=" in part)
            if isinstance(value, str)
            else value
        )
        if not isinstance(given, dict) or not given or given.keys() - KEEP_DAYS.keys():
            raise ValueError(f"write it as journal=14,reports=0 with {', '.join(KEEP_DAYS)}")
        days = KEEP_DAYS | {name: float(number) for name, number in given.items()}
        if min(days.values()) < 0:
            raise ValueError("days cannot be negative")
        return days

    @classmethod
    def read(cls, env: Mapping[str, str]) -> Settings:
        """The settings of an environment; a variable that is empty counts as not set."""
        aliases = [str(field.validation_alias) for field in cls.model_fields.values()]
        variables: dict[str, Any] = {name: env[name] for name in aliases if env.get(name)}
        state_dir = variables.get("RESEARCH_HOME", STATE_DIR)
        variables.setdefault("RESEARCH_STORE", str(Path(state_dir) / "store"))
        return cls.model_validate(
            variables
            | {
                "has_server": any(env.get(name) for name in _SERVER),
                "has_credentials": any(env.get(name) for name in _CREDENTIALS),
                "has_webhook_secret": bool(env.get("RESEARCH_WEBHOOK_SECRET")),
                "telemetry": any(env.get(name) for name in _TELEMETRY),
                "models": _by_role(env, "RESEARCH_MODEL_"),
                "efforts": _by_role(env, "RESEARCH_EFFORT_"),
            }
        )


def _by_role(env: Mapping[str, str], prefix: str) -> dict[str, str]:
    """What is set for single roles, by the role's name."""
    return {role: value for role in ROLES if (value := env.get(prefix + role.upper()))}
