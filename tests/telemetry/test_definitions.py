"""What the rates of the telemetry mean, the same in metrics, dashboard and report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities import telemetry
from tests.workflows.test_plan import facet
from workflows.contracts.activity_io import Job, ResearchBrief, Researched
from workflows.contracts.outcomes import (
    Alternative,
    FindingsRef,
    Found,
    NoResults,
    Partial,
    SubagentOutcome,
    TimedOut,
)
from workflows.contracts.spend import Allowance, Spend

DASHBOARD = Path(__file__).parents[2] / "deploy" / "telemetry" / "grafana" / "research.json"
REF = FindingsRef(key="k", claims=1, sources=1)
WAY = (Alternative(kind="narrower", text="a part", query="a part"),)


class Counted:
    """The counters of the product, with a reader of their own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._reader = InMemoryMetricReader()
        meter = MeterProvider([self._reader], shutdown_on_exit=False).get_meter("test")
        for name in ("_spawned", "_retries", "_outcomes"):
            monkeypatch.setattr(telemetry, name, meter.create_counter(name[1:]))

    def sum(self, name: str, **labels: str) -> float:
        data = self._reader.get_metrics_data()
        points: list[Any] = [
            point
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]
        return float(
            sum(p.value for p in points if labels.items() <= dict(p.attributes or {}).items())
        )


def brief(**more: Any) -> ResearchBrief:
    job = Job(id="j", journal="j", model="offline", question="?", today="2026-11-01")
    return ResearchBrief(
        job=job, facet=facet("a"), ask="What?", task="a", cycles=3, max_claims=5,
        allowance=Allowance(), seconds=9, **more,
    )  # fmt: skip


class Answering(ActivityInboundInterceptor):
    """Ends each call with the outcome it was given."""

    def __init__(self, outcome: SubagentOutcome) -> None:
        self._outcome = outcome

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        return Researched(outcome=self._outcome, spend=Spend())


async def count(outcome: SubagentOutcome, given: ResearchBrief) -> None:
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, activity_type="research")
    counter = telemetry.CountingInterceptor().intercept_activity(Answering(outcome))
    call = ExecuteActivityInput(fn=lambda: None, args=[given], executor=None, headers={})
    await environment.run(counter.execute_activity, call)


async def test_a_researcher_that_is_retried_is_one_researcher_and_the_reason_is_a_label(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = Counted(monkeypatch)
    await count(TimedOut(asked="?", reason="late", alternatives=WAY, seconds=1), brief())
    again = brief(attempt=1, alternative=WAY[0], retried_after="timed_out")
    await count(Found(findings=REF), again)
    await count(Found(findings=REF), brief(follow_ups=("And this?",)))
    assert counted.sum("spawned", role="researcher") == 1
    assert counted.sum("retries", by="coordinator", role="researcher", reason="timed_out") == 1


async def test_partial_data_is_a_part_found_however_the_research_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = Counted(monkeypatch)
    why: dict[str, Any] = {"asked": "?", "reason": "late", "alternatives": WAY}
    await count(Found(findings=REF), brief())
    await count(Partial(findings=REF, missing=("x",)), brief())
    await count(TimedOut(**why, seconds=1, findings=REF), brief())
    await count(NoResults(**why, queries=("q",)), brief())
    assert counted.sum("outcomes", partial_data="true") == 2
    assert counted.sum("outcomes", partial_data="false") == 2


def test_the_dashboard_uses_the_same_definitions() -> None:
    shown = [
        target["expr"]
        for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]
        for target in panel.get("targets", ())
    ]
    retries = next(expr for expr in shown if "research_retries_total" in expr)
    assert 'by="coordinator"' in retries
    assert 'research_subagents_spawned_total{role="researcher"}' in retries
    assert any('outcomes_total{partial_data="true"}' in expr for expr in shown)
    assert any(expr.startswith("max_over_time(sum(research_subagents_running)") for expr in shown)
