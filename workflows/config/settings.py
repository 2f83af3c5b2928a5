"""The one home of settings: what the environment says, read once at the door and passed on.

`Settings.read(os.environ)` is pure: it takes the mapping. Secrets are not among the fields; only
whether they are there. Their values are read by the clients that need them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from workflows.config.model_catalog import DEFAULT_CLAUDE
from workflows.config.roles import ROLES
from workflows.contracts.evidence import Record
from workflows.contracts.request import OFFLINE, RoleEffort

Provider = Literal["anthropic", "bedrock", "vertex", "foundry"]
WorkerRole = Literal["all", "alone", "coordinator", "subagents"]

STATE_DIR = ".research"
_TEMPORAL = ("TEMPORAL_ADDRESS", "TEMPORAL_PROFILE", "TEMPORAL_CONFIG_FILE")
_CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE")


class Settings(Record):
    state_dir: str = STATE_DIR
    """Where the embedded server, the store and the indexes live."""
    store: str
    """RESEARCH_STORE: a folder or a URL (s3://, gs://, az://, file://) for what must survive."""
    has_server: bool = False
    """True where Temporal's own variables name a server; else the embedded one is started."""
    has_credentials: bool = False
    base_url: str | None = None
    """ANTHROPIC_BASE_URL: any endpoint that speaks the Messages API."""
    telemetry: bool = False
    parallel_subagents: int = Field(default=40, ge=0)
    """RESEARCH_WORKER_SUBAGENTS: how many subagents one worker runs at once; 0 only answers."""
    worker_role: WorkerRole = "all"
    """RESEARCH_WORKER_ROLE: whether a worker runs jobs, their subagents, or both.

    `alone` is both, where every worker is: a job's subagents start with whoever runs the job, as
    long as it has places, without a way through the server's queues.
    """
    fleet_subagents: int | None = Field(default=None, ge=1)
    """RESEARCH_FLEET_SUBAGENTS: how many subagents all workers together run at once."""
    fleet_turns_per_minute: float | None = Field(default=None, gt=0)
    """RESEARCH_FLEET_TURNS_PER_MINUTE: how many turns all workers together buy."""
    models: dict[str, str] = Field(default_factory=dict)
    """RESEARCH_MODEL_<ROLE>: another model for a role than the table's."""
    efforts: dict[str, RoleEffort] = Field(default_factory=dict)
    """RESEARCH_EFFORT_<ROLE>: another effort for a role."""
    provider: Provider = "anthropic"
    """RESEARCH_PROVIDER: whose client is used."""
    mcp: str | None = None
    """RESEARCH_MCP: a file that names MCP servers and who may use their tools."""
    corpora: tuple[str, ...] = ()
    """RESEARCH_CORPORA: the only folders a worker reads documents from; any where it is not set."""
    keys: str | None = None
    """RESEARCH_KEYS: a file with encryption keys; with it, payloads and the store are sealed."""
    health: str | None = None
    """RESEARCH_HEALTH: where a worker answers for its health, as HOST:PORT; nowhere unless set."""
    deployment: str | None = None
    """RESEARCH_DEPLOYMENT: the worker deployment's name; with a build id, workers are versioned."""
    build_id: str | None = None
    """RESEARCH_BUILD_ID: this worker's version."""

    @property
    def default_model(self) -> str:
        has_model = self.has_credentials or self.base_url or self.provider != "anthropic"
        return DEFAULT_CLAUDE if has_model else OFFLINE

    @classmethod
    def read(cls, env: Mapping[str, str]) -> Settings:
        state_dir = env.get("RESEARCH_HOME") or STATE_DIR
        return cls(
            state_dir=state_dir,
            store=env.get("RESEARCH_STORE") or str(Path(state_dir) / "store"),
            has_server=any(env.get(name) for name in _TEMPORAL),
            has_credentials=any(env.get(name) for name in _CREDENTIALS),
            base_url=env.get("ANTHROPIC_BASE_URL") or None,
            telemetry=any(
                env.get(name)
                for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
            ),
            parallel_subagents=int(env.get("RESEARCH_WORKER_SUBAGENTS") or 40),
            worker_role=env.get("RESEARCH_WORKER_ROLE") or "all",
            fleet_subagents=env.get("RESEARCH_FLEET_SUBAGENTS") or None,
            fleet_turns_per_minute=env.get("RESEARCH_FLEET_TURNS_PER_MINUTE") or None,
            models=_by_role(env, "RESEARCH_MODEL_"),
            efforts=_by_role(env, "RESEARCH_EFFORT_"),
            provider=env.get("RESEARCH_PROVIDER") or "anthropic",
            mcp=env.get("RESEARCH_MCP") or None,
            corpora=tuple(part for part in env.get("RESEARCH_CORPORA", "").split(":") if part),
            keys=env.get("RESEARCH_KEYS") or None,
            health=env.get("RESEARCH_HEALTH") or None,
            deployment=env.get("RESEARCH_DEPLOYMENT") or None,
            build_id=env.get("RESEARCH_BUILD_ID") or None,
        )


def _by_role(env: Mapping[str, str], prefix: str) -> dict[str, Any]:
    """What is set for single roles, by the role's name."""
    return {role: value for role in ROLES if (value := env.get(prefix + role.upper()))}
