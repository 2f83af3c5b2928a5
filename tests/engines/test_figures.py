"""What the measurements compute from what they saw: no clock, no engine."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from benchmarks.engines import measure, others, plot, topology
from benchmarks.engines.dbos import Dbos, DbosPostgres
from benchmarks.engines.foreign import Foreign
from benchmarks.engines.langgraph import LangGraph
from benchmarks.engines.plain_temporal import PlainTemporal
from benchmarks.engines.processes import ROOT
from benchmarks.growth import curves, library
from benchmarks.growth.curves import Curve
from benchmarks.growth.library import Shape
from benchmarks.profiles import job, load, startup


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.engines.foreign.ENVIRONMENT", tmp_path)


@pytest.mark.usefixtures("nothing_installed")
def test_an_engine_that_is_not_installed_says_how_to_install_it() -> None:
    absent = others.absent(others.OTHERS)
    assert absent[LangGraph.name] == "not installed: make bench-engines-install"
    assert absent[Dbos.name] == absent[DbosPostgres.name] == absent[LangGraph.name]
    assert PlainTemporal.name not in absent


def test_an_engine_that_is_installed_takes_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("benchmarks.engines.foreign.ENVIRONMENT", tmp_path)
    monkeypatch.delenv("BENCH_POSTGRES", raising=False)
    (tmp_path / "lib/python3.11/site-packages/dbos").mkdir(parents=True)
    assert others.lacking(Dbos) == ""
    assert "BENCH_POSTGRES" in others.lacking(DbosPostgres)
    assert others.lacking(LangGraph)


def test_a_job_of_another_environment_has_ended_only_with_a_whole_line(tmp_path: Path) -> None:
    engine = Foreign()
    engine._folder, engine._ended, engine._read = tmp_path, {}, 0
    engine.log.write_text("asked a plan\nended a 1.25\nended b 0.", "utf-8")
    engine._look()
    assert engine._ended == {"a": 1.25}
    with engine.log.open("a") as more:
        more.write("5\n")
    engine._look()
    assert engine._ended == {"a": 1.25, "b": 0.5}


def test_turns_bought_again_are_told_from_those_that_had_been_answered(tmp_path: Path) -> None:
    log = tmp_path / "turns.log"
    log.write_text(
        "asked a one\nanswered a one\nasked a two\nasked b one\nasked a one\nasked a two\n", "utf-8"
    )
    assert topology.bought(log, "a") == topology.Bought(turns=2, again=2, finished_again=1)
    assert measure.spread([3.0, 1.0, 2.0]) == {"median": 2.0, "min": 1.0, "max": 3.0}


# --- curves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_law_is_found(power: float) -> None:
    points = [(x, 3.0 * x**power) for x in (1.0, 10.0, 60.0, 500.0)]
    found = curves.slope(points)
    assert found is not None
    assert math.isclose(found, power, abs_tol=1e-9)


def test_a_curve_that_turns_upwards_is_not_taken_for_linear() -> None:
    flat_then_square = Curve("claims", "job", "s", ((1, 1.0), (10, 1.1), (100, 2), (300, 18)))
    assert flat_then_square.exponent is not None
    assert flat_then_square.exponent < 1
    assert flat_then_square.verdict == "steeper than linear"
    assert Curve("claims", "job", "s", ((1, 1), (10, 9), (100, 95))).verdict == "linear or better"


def test_a_curve_without_points_says_why() -> None:
    absent = Curve("documents", "index", "s", (), "not here")
    assert (absent.exponent, absent.at_the_end, absent.verdict) == (None, None, "not here")
    assert "not here" in curves.table([absent])
    assert json.loads(json.dumps(absent.told()))["exponent"] is None


def test_the_library_knows_what_it_is_asked_for(tmp_path: Path) -> None:
    shape = Shape(60, 50, 6)
    assert Shape.named(shape.model) == shape
    library.write_documents(tmp_path)
    assert len(list(tmp_path.glob("*.md"))) == 60
    everything = [sentence for town in range(60) for sentence in library.said(town)]
    assert len(set(everything)) == len(everything)


# --- the picture ----------------------------------------------------------------------------------


def figures(name: str, overhead: float, again: int) -> dict[str, Any]:
    return {
        "engine": name,
        "overhead_seconds": {"median": overhead},
        "job_seconds_with_turns": {"median": 2.6 + overhead},
        "jobs_per_second": {"median": 1 / overhead},
        "cpu_seconds_per_job": {"median": overhead / 2},
        "turns_paid_twice": {"median": again},
        "finished_turns_paid_twice": again // 2,
        "seconds_to_progress": {"median": 10 * overhead},
    }


def drawn(*engines: dict[str, Any]) -> str:
    return plot.drawn(
        {"machine": {"cores": 2}, "jobs_at_once": 50, "rounds": 3, "engines": list(engines)}
    )


def test_bars_are_as_long_as_what_they_show_and_say_it() -> None:
    picture = drawn(figures("this project", 0.2, 0), figures("another <one>", 0.4, 10))
    root = ET.fromstring(picture)
    bars = [e for e in root.iter() if e.tag.endswith("rect") and e.get("class") in ("bar", "ours")]
    assert len(bars) == 2 * len(plot.PANELS)
    ours, other = (float(str(bar.get("width"))) for bar in bars[:2])
    assert math.isclose(2 * ours, other, rel_tol=0.01)
    assert [bar.get("class") for bar in bars[:2]] == ["ours", "bar"]
    words = " ".join(e.text or "" for e in root.iter() if e.tag.endswith("text"))
    for said in ("200 ms", "400 ms", "5.0", "10, 5 finished", "another <one>", "3 rounds"):
        assert said in words
    assert "prefers-color-scheme:dark" in picture


def test_what_keeps_nothing_is_cut_only_where_the_others_would_vanish() -> None:
    picture = drawn(figures("bare asyncio", 0.001, 11), figures("this project", 0.2, 10))
    assert "1,000.0 (cut)" in picture
    assert "11, 5 finished<" in picture


def test_an_engine_without_figures_is_left_out_of_the_picture() -> None:
    picture = drawn(figures("this project", 0.2, 0), {"engine": "LangGraph", "lacks": "install"})
    assert "LangGraph" not in picture


# --- profiles -------------------------------------------------------------------------------------


def event(n: int, kind: str, at: float, **attributes: Any) -> HistoryEvent:
    when = Timestamp()
    when.FromMilliseconds(round(1000 * at))
    return HistoryEvent(
        event_id=n, event_type=EventType.Value(f"EVENT_TYPE_{kind}"), event_time=when, **attributes
    )


def test_the_time_of_a_job_is_told_apart_by_what_was_running() -> None:
    history = [
        event(1, "WORKFLOW_EXECUTION_STARTED", 0),
        event(2, "WORKFLOW_TASK_SCHEDULED", 0),
        event(3, "WORKFLOW_TASK_STARTED", 1),
        event(4, "WORKFLOW_TASK_COMPLETED", 2, workflow_task_completed_event_attributes={
            "scheduled_event_id": 2, "started_event_id": 3}),
        event(5, "ACTIVITY_TASK_SCHEDULED", 2, activity_task_scheduled_event_attributes={
            "activity_type": {"name": "plan"}}),
        event(6, "ACTIVITY_TASK_STARTED", 3),
        event(7, "ACTIVITY_TASK_COMPLETED", 8, activity_task_completed_event_attributes={
            "scheduled_event_id": 5, "started_event_id": 6}),
        event(8, "WORKFLOW_EXECUTION_COMPLETED", 10),
    ]  # fmt: skip
    found = job.spent(history)
    assert found.seconds == 10
    assert found.kinds["plan"] == job.Kind(count=1, waited=1.0, worked=5.0)
    assert math.isclose(found.idle, 0.4)
    assert math.isclose(found.idle_and_untasked, 0.3)
    assert re.search(r"\| plan \| 1 \| 1000 \| 5000 \|", job.table("job", found))


def test_functions_are_put_down_to_whoever_wrote_them() -> None:
    site = "/x/lib/python3.11/site-packages"
    assert load.group(f"{site}/pydantic/main.py", "f") == "pydantic"
    assert load.group(f"{site}/httpx2/_client.py", "f") == "anthropic client"
    assert load.group(str(ROOT / "workflows" / "ledger.py"), "f") == "our code"
    assert load.group("", "<method 'execute' of 'sqlite3.Connection' objects>") == "SQLite"
    assert load.group(asyncio_file(), "f") == "asyncio"


def asyncio_file() -> str:
    import asyncio

    return str(Path(str(asyncio.__file__)).parent / "events.py")


def test_imports_are_summed_by_package() -> None:
    told = """\
import time: self [us] | cumulative | imported package
import time:       100 |        100 |   anthropic.types
import time:       200 |        300 | anthropic
import time:        50 |         50 | json
a warning in between
"""
    found = startup.read_imports(told)
    assert found.packages == {"anthropic": 300, "json": 50}
    assert math.isclose(found.seconds, 0.00035)
