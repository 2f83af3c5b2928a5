"""Spans of model turns, and the numbers operators watch, through OpenTelemetry's API alone.

Where no provider is set all of this does nothing. Nothing that was asked, found or said goes in:
spans carry ids and counts, labels carry roles, models and kinds. A facet's id is made of its words,
so a span names it by a digest. Counters tell what this process did; what a job cost over all its
workers is in its report, and in the spans of its trace.
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
from opentelemetry.trace import Span, SpanKind, StatusCode
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.llm.errors import RATE_LIMITED
from activities.storage.journal import Turn
from workflows.config.roles import EVALUATOR, PLANNER, RESEARCHER, REVIEWER, VERIFIER, WRITER
from workflows.contracts.activity_io import PublishBrief, ResearchBrief, Researched
from workflows.contracts.request import OFFLINE
from workflows.contracts.spend import Spend

JsonObject = dict[str, Any]
Bought = Callable[[Turn, Spend], None]

log = logging.getLogger(__name__)

SCOPE = "durable-research"
METRICS = frozenset(
    {
        "research_cost_usd_total",
        "research_gaps_total",
        "research_jobs",
        "research_rate_limited_total",
        "research_retries_total",
        "research_subagent_outcomes_total",
        "research_subagents_running",
        "research_subagents_spawned_total",
        "research_tokens_total",
        "research_turn_seconds",
        "research_turns_bought_again_total",
        "research_turns_total",
    }
)
"""What the instruments below are called in Prometheus: alerts and dashboards go by these names."""

_tracer = trace.get_tracer(SCOPE)
_meter = metrics.get_meter(SCOPE)
_spawned = _meter.create_counter(
    "research.subagents.spawned", description="Subagents sent out; follow-ups are not counted."
)
_running = _meter.create_up_down_counter(
    "research.subagents.running", description="Subagents at work in this process."
)
_outcomes = _meter.create_counter(
    "research.subagent.outcomes", description="What research subagents came back with."
)
_retries = _meter.create_counter(
    "research.retries", description="Subagents asked again, by the coordinator or by Temporal."
)
_turns = _meter.create_counter("research.turns", description="Turns bought.")
_bought_again = _meter.create_counter(
    "research.turns.bought_again", description="Purchases whose answer nobody kept."
)
_tokens = _meter.create_counter("research.tokens", description="Tokens of the turns bought.")
_cost = _meter.create_counter("research.cost.usd", description="Price of the turns bought.")
_gaps = _meter.create_counter(
    "research.gaps", description="Gaps of published reports, and how they ended."
)
_rate_limited = _meter.create_counter(
    "research.rate_limited", description="Turns the provider turned away for now."
)
_seconds = _meter.create_histogram(
    "research.turn",
    unit="s",
    description="How long a turn took to buy.",
    explicit_bucket_boundaries_advisory=[0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600],
)
_jobs = _meter.create_gauge("research.jobs", description="Jobs that are going on, by status.")

_ROLES = {
    "plan": PLANNER.name,
    "review_plan": REVIEWER.name,
    "research": RESEARCHER.name,
    "verify": VERIFIER.name,
    "write": WRITER.name,
    "evaluate": EVALUATOR.name,
}
"""Who an activity sends out; the others send nobody."""

_PROVIDERS = {
    "bedrock": "aws.bedrock",
    "vertex": "gcp.vertex_ai",
    "foundry": "azure.ai.inference",
}
"""As the GenAI conventions call them, where that is another name."""


def jobs_counted(status: str, count: int) -> None:
    """How many jobs are in this status, on the whole server."""
    _jobs.set(count, {"status": status})


@dataclass(frozen=True)
class Watch:
    """Keeps account of one subagent's turns."""

    role: str
    model: str
    job: str = ""
    provider: str = "anthropic"
    facet: str | None = None

    def begin(self) -> None:
        """Say on the activity's own span whose it is."""
        trace.get_current_span().set_attributes(
            self._shared() | {"gen_ai.operation.name": "invoke_agent"}
        )

    def kept(self) -> None:
        """A turn came from the journal: nothing was bought, so it has no span of its own."""
        trace.get_current_span().add_event("turn kept in the journal")

    @contextmanager
    def buying(self, body: JsonObject) -> Iterator[Bought]:
        """The span of one purchase; what it yields is told of the turn that came of it."""
        asked = self._shared() | {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": self.model,
            "gen_ai.request.max_tokens": body.get("max_tokens", 0),
        }
        began = time.monotonic()
        with _tracer.start_as_current_span(
            f"chat {self.model}",
            kind=SpanKind.CLIENT,
            attributes=asked,
            # Their words may hold what was asked.
            record_exception=False,
            set_status_on_exception=False,
        ) as span:

            def bought(turn: Turn, spend: Spend) -> None:
                _seconds.record(time.monotonic() - began, self._labels())
                _describe(span, turn, spend)
                self._count(turn, spend)

            try:
                yield bought
            except BaseException as error:
                kind = _kind(error)
                span.set_status(StatusCode.ERROR, kind)
                span.set_attribute("error.type", kind)
                log.warning("a turn for the %s came to nothing: %s", self.role, kind)
                if kind == RATE_LIMITED:
                    _rate_limited.add(1, self._labels())
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

    def _labels(self) -> dict[str, str]:
        return {"role": self.role, "model": self.model}

    def _count(self, turn: Turn, spend: Spend) -> None:
        labels = self._labels()
        _turns.add(1, labels)
        _bought_again.add(turn.bought_again, labels)
        _tokens.add(spend.input_tokens, labels | {"direction": "input"})
        _tokens.add(spend.output_tokens, labels | {"direction": "output"})
        _cost.add(spend.usd, labels)


class Counting(Interceptor):
    """Counts subagents and what they come back with, at the one door all of them pass."""

    def __init__(self) -> None:
        # A counter that is not there before its first event hides that event from `increase`.
        for by in ("coordinator", "temporal"):
            _retries.add(0, {"by": by, "role": RESEARCHER.name})
        for event in ("opened", "closed"):
            _gaps.add(0, {"event": event})

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Counted(next)


class _Counted(ActivityInboundInterceptor):
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
            _outcomes.add(1, {"outcome": result.outcome.status, "role": role})
        return result


def _count_start(role: str, brief: object, attempt: int) -> None:
    if attempt > 1:
        _retries.add(1, {"by": "temporal", "role": role})
        return
    if isinstance(brief, ResearchBrief):
        if brief.follow_ups:
            return
        if brief.attempt > 0:
            _retries.add(1, {"by": "coordinator", "role": role})
    _spawned.add(1, {"role": role})


def _count_gaps(brief: PublishBrief) -> None:
    """Only the coordinator sees gaps close; here its state comes by, once in a job."""
    for gap in brief.state.gaps:
        _gaps.add(1, {"event": "opened"})
        if gap.status != "open":
            _gaps.add(1, {"event": gap.status})


def _describe(span: Span, turn: Turn, spend: Spend) -> None:
    message = turn.message
    usage = message.get("usage") or {}
    span.set_attributes(
        {
            "gen_ai.response.id": str(message.get("id") or ""),
            "gen_ai.response.model": str(message.get("model") or ""),
            "gen_ai.response.finish_reasons": [str(message.get("stop_reason"))],
            "gen_ai.usage.input_tokens": spend.input_tokens,
            "gen_ai.usage.output_tokens": spend.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": spend.cache_read_tokens,
            "gen_ai.usage.cache_creation.input_tokens": (
                usage.get("cache_creation_input_tokens") or 0
            ),
            "research.cost.usd": spend.usd,
            "research.turn.bought_again": turn.bought_again,
        }
    )


def digest(name: str) -> str:
    """Eight characters that stand for a name which says too much."""
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def _kind(error: BaseException) -> str:
    return (error.type if isinstance(error, ApplicationError) else None) or type(error).__name__
