"""What a receiver hears of a job: one trace, whole, with nothing in it that was asked or found."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from activities.telemetry import digest
from tests.telemetry.metric_names import METRICS

from .collector import Span
from .conftest import CONTENT, HANGING, QUESTION, Place, eventually, get


def job_trace(place: Place, job: str) -> list[Span]:
    """The spans of the job's trace, which are told from others by what started it."""
    spans = place.collector.spans()
    (root,) = [
        span
        for span in spans
        if span.name == "StartWorkflow:ResearchWorkflow"
        and span.attributes["temporalWorkflowID"] == job
    ]
    assert root.parent == b""
    return [span for span in spans if span.trace == root.trace]


def assert_whole(spans: list[Span]) -> None:
    """Every span once, and every parent there."""
    ids = Counter(span.id for span in spans)
    assert [span.name for span in spans if ids[span.id] > 1] == []
    lost = [f"{span.name} of {span.process}" for span in spans if span.parent and
            span.parent not in ids]  # fmt: skip
    assert lost == []


def parents(spans: list[Span], prefix: str) -> set[str]:
    names = {span.id: span.name for span in spans}
    return {names[span.parent] for span in spans if span.name.startswith(prefix)}


def assert_no_content(place: Place) -> None:
    for path, body in place.collector.received:
        found = [word for word in CONTENT if word in body.lower()]
        assert found == [], path


@pytest.fixture
def finished(place: Place) -> tuple[Place, str, dict[str, object], str]:
    """A small job, run to its end by the starter and a worker; its report, and the scrape after."""
    with place.worker():
        ended = place.starter(
            "run", QUESTION, "--corpus", "docs", "--out", "out", "--id", "plain-1"
        )
        assert ended.returncode in (0, 3), ended.stderr + ended.stdout
        scraped = get(place.port, "/metrics")[1]
    report = json.loads(next((place.folder / "out").rglob("report.json")).read_text("utf-8"))
    return place, "plain-1", report, scraped


def test_a_job_is_one_trace_and_its_numbers_are_those_of_the_report(
    finished: tuple[Place, str, dict[str, object], str],
) -> None:
    place, job, report, scraped = finished
    spans = job_trace(place, job)
    assert_whole(spans)
    assert parents(spans, "RunWorkflow:ResearchWorkflow") == {"StartWorkflow:ResearchWorkflow"}
    assert parents(spans, "RunWorkflow:RefinementWorkflow") == {"RunWorkflow:ResearchWorkflow"}
    assert parents(spans, "RunActivity:plan") == {"RunWorkflow:ResearchWorkflow"}
    assert parents(spans, "RunActivity:research") == {
        "RunWorkflow:ResearchWorkflow",
        "RunWorkflow:RefinementWorkflow",
    }
    assert parents(spans, "chat ") >= {"RunActivity:plan", "RunActivity:research"}
    assert_no_content(place)

    # Turns, with the GenAI conventions.
    turns = [span for span in spans if span.name.startswith("chat ")]
    told = report["telemetry"]
    assert isinstance(told, dict)
    assert len(turns) == told["turns"]
    for turn in turns:
        assert turn.attributes["gen_ai.operation.name"] == "chat"
        assert turn.attributes["gen_ai.provider.name"] == "offline"
        assert turn.attributes["gen_ai.conversation.id"] == job
        assert turn.attributes["gen_ai.request.model"] == report["model"]
        assert turn.attributes["gen_ai.response.model"]
        assert turn.attributes["gen_ai.response.finish_reasons"]
    for kind in ("input", "output"):
        counted = sum(turn.attributes[f"gen_ai.usage.{kind}_tokens"] for turn in turns)
        assert counted == told[f"{kind}_tokens"]
    facets = {digest(facet["id"]) for facet in report["plan"]["facets"]}  # type: ignore[index]
    assert {t.attributes.get("research.facet") for t in turns} == facets | {None}

    # The same in metrics, over OTLP.
    sums = place.collector.sums
    assert sum(sums("research.turns").values()) == told["turns"]
    for kind in ("input", "output"):
        tokens = sums("research.tokens")
        counted = sum(n for labels, n in tokens.items() if ("direction", kind) in labels)
        assert counted == told[f"{kind}_tokens"]
    assert sum(sums("research.cost.usd").values()) == pytest.approx(told["usd"])
    assert sum(sums("research.turns.bought_again").values()) == told["turns_bought_again"] == 0
    spawned = sums("research.subagents.spawned")
    many = sum(spawned[(("role", role),)] for role in ("researcher", "verifier"))
    assert many == told["spawned"]
    assert sums("research.gaps")[(("event", "opened"),)] == len(report["gaps"])  # type: ignore[arg-type]
    assert set(sums("research.subagents.running").values()) == {0}

    # And for Prometheus. No turn was turned away, which is the one thing there is no number for.
    named = {line.split()[2] for line in scraped.splitlines() if line.startswith("# TYPE")}
    assert METRICS - named <= {"research_rate_limited_total"}
    counted = sum(
        float(line.rpartition(" ")[2])
        for line in scraped.splitlines()
        if line.startswith("research_turns_total{")
    )
    assert counted == told["turns"]
    assert not [word for word in CONTENT if word.decode() in scraped.lower()]

    # Temporal's own metrics come from the same sender as ours.
    ours, core = (place.collector.senders(prefix) for prefix in ("research.", "temporal_"))
    assert ours
    assert ours <= core
    assert {service for service, _ in ours | core} == {"durable-research"}


@pytest.mark.slow
def test_a_trace_is_whole_after_a_worker_was_killed_in_mid_research(
    place: Place, tmp_path: Path
) -> None:
    sign, job = tmp_path / "reached", "killed-1"
    with place.worker(HANGING, SIGN=str(sign)) as first:
        started = place.starter("start", QUESTION, "--corpus", "docs", "--id", job)
        assert started.returncode == 0, started.stderr
        eventually(sign.exists, "the turn in which the worker is killed")
        eventually(
            lambda: any(s.attributes.get("research.role") == "researcher"
                        for s in place.collector.spans()),
            "a research turn of the first worker",
        )  # fmt: skip
        first.kill()
        first.wait()
    with place.worker():
        ended = place.starter("watch", job)
        assert ended.returncode in (0, 3), ended.stderr + ended.stdout

    spans = job_trace(place, job)
    assert_whole(spans)
    assert_no_content(place)
    turns = [span for span in spans if span.name.startswith("chat ")]
    researched = [t for t in turns if t.attributes["research.role"] == "researcher"]
    # Both workers' turns hang below activities that only the second could end.
    assert len({turn.process for turn in researched}) == 2
    above = {span.id: span for span in spans}
    assert {above[turn.parent].name for turn in researched} == {"RunActivity:research"}
    (last,) = {above[turn.parent].process for turn in researched}
    assert last != next(t.process for t in turns if t.attributes["research.role"] == "planner")
    for turn in researched:
        assert above[turn.parent].start <= turn.start
    (run,) = [span for span in spans if span.name == "RunWorkflow:ResearchWorkflow"]
    assert run.process == last
    # The turn that was asked for and never answered was paid for twice.
    assert any(turn.attributes["research.turn.bought_again"] for turn in researched)

    # A try that failed stands beside what came of the others, and tells no more than its kind.
    (failed,) = [span for span in spans if span.name.startswith("FailedTry:")]
    assert above[failed.parent].name == failed.name.replace("FailedTry", "RunActivity")
    assert failed.error == "api_error"
    assert above[failed.parent].error == ""
    by = place.collector.sums("research.retries")
    assert by[(("by", "temporal"), ("reason", "error"), ("role", "researcher"))] >= 1

    # Lines of the log are found by the same ids.
    log = (place.folder / "worker.log").read_text("utf-8")
    assert f"job_id={job} trace_id={run.trace.hex()}" in log
