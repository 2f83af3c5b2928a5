"""Spans of model calls, and metrics, through OpenTelemetry's API.

Without a provider all of this does nothing. Spans carry ids and counts, labels carry roles, models
and kinds: nothing of questions, sources or answers. A facet's id is made of its words, so a span
has a digest of it. Counters count what this process did; what a job cost over all workers is in its
report and in the spans of its trace.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.util.types import AttributeValue
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.llm.errors import RATE_LIMITED
from activities.storage.journal import Turn
from workflows.config.roles import EVALUATOR, PLANNER, RESEARCHER, REVIEWER, VERIFIER, WRITER
from workflows.contracts.activity_io import PublishBrief, ResearchBrief, Researched
from workflows.contracts.request import OFFLINE
from workflows.contracts.spend import Spend
from workflows.rules.acceptance import is_partial

JsonObject = dict[str, Any]
RecordTurn = Callable[[Turn, Spend], None]

log = logging.getLogger(__name__)

SCOPE = "durable-research"

_tracer = trace.get_tracer(SCOPE)
_meter = metrics.get_meter(SCOPE)
_spawned = _meter.create_counter(
    "research.subagents.spawned",
    description="Subagents started; retries and follow-ups of one are not counted.",
)
_running = _meter.create_up_down_counter(
    "research.subagents.running", description="Subagents that run in this process."
)
_outcomes = _meter.create_counter(
    "research.subagent.outcomes", description="Outcomes of research subagents."
)
_retries = _meter.create_counter(
    "research.retries",
    description="Subagents retried, by the coordinator or by Temporal, and the reason.",
)
_turns = _meter.create_counter("research.turns", description="Model calls.")
_repeated_calls = _meter.create_counter(
    "research.turns.bought_again",
    description="Model calls that were repeated because their answer was lost.",
)
_tokens = _meter.create_counter("research.tokens", description="Tokens of the model calls.")
_cost = _meter.create_counter("research.cost.usd", description="Price of the model calls.")
_gaps = _meter.create_counter(
    "research.gaps", description="Gaps of published reports, and how they ended."
)
_rate_limited = _meter.create_counter(
    "research.rate_limited", description="Model calls the provider refused with a rate limit."
)
_seconds = _meter.create_histogram(
    "research.turn",
    unit="s",
    description="How long a model call took.",
    explicit_bucket_boundaries_advisory=[0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600],
)
_jobs = _meter.create_gauge("research.jobs", description="Open jobs, by status.")

_ROLES = {
    "plan": PLANNER.name,
    "review_plan": REVIEWER.name,
    "research": RESEARCHER.name,
    "judge_claims": VERIFIER.name,
    "judge_relations": VERIFIER.name,
    "judge_gaps": VERIFIER.name,
    "write": WRITER.name,
    "evaluate": EVALUATOR.name,
}
"""The role of each activity that runs a subagent."""

_PROVIDERS = {
    "bedrock": "aws.bedrock",
    "vertex": "gcp.vertex_ai",
    "foundry": "azure.ai.inference",
}
"""As the GenAI conventions call them, where that is another name."""


def record_jobs(status: str, count: int) -> None:
    """Set how many jobs of the whole server have this status."""
    _jobs.set(count, {"status": status})


@dataclass(frozen=True)
class TurnTelemetry:
    """Records the turns of one subagent."""

    role: str
    model: str
    job: str = ""
    provider: str = "anthropic"
    facet: str | None = None

    def start(self) -> None:
        """Describe the subagent on the span of its activity."""
        trace.get_current_span().set_attributes(
            self._shared() | {"gen_ai.operation.name": "invoke_agent"}
        )

    def found_turn(self) -> None:
        """A turn came from the journal: no call was made, so it has no span of its own."""
        trace.get_current_span().add_event("turn found in the journal")

    @contextmanager
    def measure_call(self, body: JsonObject) -> Iterator[RecordTurn]:
        """The span of one model call; call what it yields with the turn."""
        asked = self._shared() | {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": self.model,
            "gen_ai.request.max_tokens": body.get("max_tokens", 0),
        }
        began, labels = time.monotonic(), {"role": self.role, "model": self.model}
        with _tracer.start_as_current_span(
            f"chat {self.model}",
            kind=SpanKind.CLIENT,
            attributes=asked,
            # The text of an exception may hold what was asked.
            record_exception=False,
            set_status_on_exception=False,
        ) as span:

            def record(turn: Turn, spend: Spend) -> None:
                _seconds.record(time.monotonic() - began, labels)
                _count(turn, spend, labels)
                span.set_attributes(_describe(turn, spend))

            try:
                yield record
            except BaseException as error:
                named = error.type if isinstance(error, ApplicationError) else None
                kind = named or type(error).__name__
                span.set_status(StatusCode.ERROR, kind)
                span.set_attribute("error.type", kind)
                log.warning("a model call of the %s failed: %s", self.role, kind)
                if kind == RATE_LIMITED:
                    _rate_limited.add(1, labels)
                raise

    def _shared(self) -> dict[str, str]:
        known = {
            "gen_ai.provider.name": "offline"
            if self.model == OFFLINE
            else _PROVIDERS.get(self.provider, self.provider),
            "gen_ai.conversation.id": self.job,
            "gen_ai.agent.name": self.role,
            "research.role": self.role,
        }
        return known | ({"research.facet": digest(self.facet)} if self.facet else {})


def _count(turn: Turn, spend: Spend, labels: dict[str, str]) -> None:
    _turns.add(1, labels)
    _repeated_calls.add(turn.repeated_calls, labels)
    _tokens.add(spend.input_tokens, labels | {"direction": "input"})
    _tokens.add(spend.output_tokens, labels | {"direction": "output"})
    _cost.add(spend.usd, labels)


class CountingInterceptor(Interceptor):
    """Counts subagents and their outcomes as activities start and end."""

    def __init__(self) -> None:
        # A counter that is not there before its first event hides that event from `increase`.
        for by, reason in (("coordinator", "failed"), ("temporal", "error")):
            _retries.add(0, {"by": by, "role": RESEARCHER.name, "reason": reason})
        for event in ("opened", "closed"):
            _gaps.add(0, {"event": event})

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _ActivityCounter(next)


class _ActivityCounter(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        brief = input.args[0] if input.args else None
        role = _ROLES.get(info.activity_type)
        if role is None:
            result = await super().execute_activity(input)
            if isinstance(brief, PublishBrief):
                _count_gaps(brief)
            return result
        _count_start(role, brief, info.attempt)
        _running.add(1, {"role": role})
        try:
            result = await super().execute_activity(input)
        finally:
            _running.add(-1, {"role": role})
        if isinstance(result, Researched):
            partial = str(is_partial(result.outcome)).lower()
            labels = {"outcome": result.outcome.status, "role": role, "partial_data": partial}
            _outcomes.add(1, labels)
        return result


def _count_start(role: str, brief: object, attempt: int) -> None:
    """A researcher that is retried or followed up is still one researcher."""
    if attempt > 1:
        _retries.add(1, {"by": "temporal", "role": role, "reason": "error"})
        return
    if isinstance(brief, ResearchBrief):
        if brief.follow_ups:
            return
        if brief.attempt > 0:
            reason = brief.retried_after
            _retries.add(1, {"by": "coordinator", "role": role, "reason": reason})
            return
    _spawned.add(1, {"role": role})


def _count_gaps(brief: PublishBrief) -> None:
    """Only the coordinator sees gaps close; `publish` receives its state, once in a job."""
    for gap in brief.state.gaps:
        _gaps.add(1, {"event": "opened"})
        if gap.status != "open":
            _gaps.add(1, {"event": gap.status})


def _describe(turn: Turn, spend: Spend) -> dict[str, AttributeValue]:
    message = turn.message
    written = (message.get("usage") or {}).get("cache_creation_input_tokens") or 0
    return {
        "gen_ai.response.id": str(message.get("id") or ""),
        "gen_ai.response.model": str(message.get("model") or ""),
        "gen_ai.response.finish_reasons": [str(message.get("stop_reason"))],
        "gen_ai.usage.input_tokens": spend.input_tokens,
        "gen_ai.usage.output_tokens": spend.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": spend.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": written,
        "research.cost.usd": spend.usd,
        "research.turn.bought_again": turn.repeated_calls,
    }


def digest(name: str) -> str:
    """Eight characters in place of a name that says too much."""
    return hashlib.sha256(name.encode()).hexdigest()[:8]
