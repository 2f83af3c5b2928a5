"""What alert rules, the dashboard and Prometheus ask for: only metrics that somebody exposes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.telemetry.metric_names import METRICS as PRODUCT_METRICS
from tests.test_deploy import (
    DEPLOY,
    HEALTH_PORT,
    SERVER_METRICS,
    SERVICES,
    TELEMETRY,
    WORKERS,
    document,
    violations,
)

# As Prometheus sees them. A histogram stands here without `_bucket`, `_sum` and `_count`.
SDK_METRICS = {  # of the Temporal SDK, with the suffixes that the collector adds
    "temporal_activity_schedule_to_start_latency_milliseconds",
    "temporal_long_request_failure_total",
    "temporal_num_pollers",
    "temporal_worker_task_slots_available",
    "temporal_workflow_completed_total",
    "temporal_workflow_failed_total",
    "temporal_workflow_task_execution_failed_total",
}
METRICS = PRODUCT_METRICS | SDK_METRICS | SERVER_METRICS | {"up"}

_LITERAL = re.compile(r"\"[^\"]*\"|\{[^}]*\}|\[[^]]*\]|\b(?:by|without|on|ignoring) *\([^)]*\)")
_NAME = re.compile(r"(?<![\w:.])([a-zA-Z_][\w:]*)(?!\w* *\()(?![\w:])")
_WORDS = {"and", "or", "unless", "by", "without", "on", "ignoring", "bool"}


def metrics_in(expression: str) -> set[str]:
    """The metrics a PromQL expression asks for."""
    bare = _LITERAL.sub(" ", expression)
    names = {name for name in _NAME.findall(bare) if name not in _WORDS}
    return {re.sub(r"_(bucket|sum|count)$", "", n) if n not in METRICS else n for n in names}


ALERTS = [
    rule for group in document(TELEMETRY / "alerts.yaml")["groups"] for rule in group["rules"]
]
DASHBOARD = json.loads((TELEMETRY / "grafana" / "research.json").read_text("utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def test_the_alert_rules_follow_their_schema_and_none_stands_twice() -> None:
    assert violations("rules", document(TELEMETRY / "alerts.yaml")) == []
    names = [rule["alert"] for rule in ALERTS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_asks_for_known_metrics_and_names_a_chapter_that_is_there(
    rule: dict[str, Any],
) -> None:
    assert metrics_in(rule["expr"])
    assert metrics_in(rule["expr"]) <= METRICS
    assert rule["annotations"]["runbook"].partition("#")[2] in set(chapters())


def chapters() -> Iterator[str]:
    for title in re.findall(r"^#+ (.+)$", (DEPLOY / "RUNBOOK.md").read_text("utf-8"), re.M):
        yield re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def test_the_dashboard_follows_its_schema_and_no_panel_lies_on_another() -> None:
    assert violations("dashboard", DASHBOARD) == []
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_asks_for_known_metrics(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        assert metrics_in(target["expr"])
        assert metrics_in(target["expr"]) <= METRICS


def test_every_metric_of_the_product_is_shown() -> None:
    shown = {name for panel in PANELS for t in panel["targets"] for name in metrics_in(t["expr"])}
    assert PRODUCT_METRICS - shown == set()


def test_prometheus_asks_who_is_there_and_counts_nothing_twice() -> None:
    jobs = {
        job["job_name"]: job
        for job in document(TELEMETRY / "prometheus.yaml")["scrape_configs"]
    }  # fmt: skip
    (workers,) = jobs["research-workers"]["dns_sd_configs"]
    assert set(workers["names"]) == set(WORKERS)
    assert workers["port"] == HEALTH_PORT
    exporter = document(TELEMETRY / "collector.yaml")["exporters"]["prometheus"]["endpoint"]
    assert jobs["collector"]["static_configs"][0]["targets"] == [
        f"collector:{exporter.rpartition(':')[2]}"
    ]
    assert jobs["temporal"]["static_configs"][0]["targets"] == [
        f"temporal:{SERVICES['temporal']['environment']['PROMETHEUS_ENDPOINT'].rpartition(':')[2]}"
    ]
    for metric in METRICS - {"up"}:
        came = [name for name, job in jobs.items() if passes(job, metric)]
        assert len(came) == 1 or metric in PRODUCT_METRICS, (metric, came)
        if metric in PRODUCT_METRICS:
            assert came == ["research-workers"]


def passes(job: dict[str, Any], metric: str) -> bool:
    """Whether a metric gets through a job's rules; workers know nothing of the server's own."""
    if job["job_name"] == "research-workers" and metric in SERVER_METRICS:
        return False
    for rule in job["metric_relabel_configs"]:
        matched = re.fullmatch(rule["regex"], metric) is not None
        if matched != (rule["action"] == "keep"):
            return False
    return True
