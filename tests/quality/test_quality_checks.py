"""Reports held against what can be counted, and judged by a model at the wire."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from activities.llm.client import Models
from benchmarks.quality.checks import check_report
from benchmarks.quality.rubric import CRITERIA, Judge, choose_judge
from benchmarks.quality.scale import Invented
from tests.corpora import index_folder
from tests.quality.reports import TEXT, report
from tests.simulator.brains import ByTitle, Scripted, json_answer
from tests.simulator.errors import ApiError
from tests.simulator.simulator import Simulator
from tests.simulator.transport import SimulatorTransport

TEXTS = {"h1": TEXT, "h2": TEXT}


def judged(score: float) -> dict[str, Any]:
    return {name: {"score": score, "reason": f"{name}: see [1]"} for name in CRITERIA}


def test_a_sound_report_passes_every_check() -> None:
    told = check_report(report(), TEXTS)
    assert told["coverage"] == (1, 2)
    assert told["quotes that stand"] == (2, 2)
    assert told["citations resolve"] == (3, 3)
    assert told["sides preserved"] == (1, 1)
    assert told["source quality"] == pytest.approx((0.3, 1))
    assert told["turns a claim"] == (6, 2)
    assert told["searches a claim"] == (3, 2)
    assert (told["usd"], told["seconds"]) == ((0.5, 1), (3.0, 1))


def test_a_quote_that_is_not_in_its_source_is_seen() -> None:
    lost = check_report(report(), {"h1": TEXT, "h2": "nothing of the kind"})
    assert lost["quotes that stand"] == (1, 2)
    assert check_report(report(), {"h1": TEXT})["quotes that stand"] == (1, 2)


def test_a_citation_without_a_source_is_seen() -> None:
    wrong = report(report_markdown="## Summary\n\nIt costs. [1][7]\n")
    assert check_report(wrong, TEXTS)["citations resolve"] == (1, 2)


def test_a_side_that_the_report_leaves_out_is_seen() -> None:
    one_sided = report(
        report_markdown="It costs 5. [2]\n\n## Where the sources disagree\n\n- 4 million [1]\n"
    )
    assert check_report(one_sided, TEXTS)["sides preserved"] == (0, 1)


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")


async def ask(script: Scripted) -> tuple[Any, Any]:
    models = Models(SimulatorTransport(Simulator(ByTitle({"RubricAnswer": script}))))
    try:
        return await Judge(models, "claude").score(report())
    finally:
        await models.close()


@pytest.mark.usefixtures("key")
async def test_a_model_judges_a_report_by_five_criteria_with_reasons() -> None:
    script = Scripted([json_answer(judged(0.75))])
    scores, reasons = await ask(script)
    assert scores["rubric factual accuracy"] == (0.75, 1)
    assert len(scores) == len(CRITERIA) == 5
    assert reasons["completeness"]["reason"] == "completeness: see [1]"
    (asked,) = script.asked
    brief = str(asked["messages"])
    assert "What does the ferry cost?" in brief
    assert "office says 5 million" in brief
    assert "tool_efficiency" in str(asked["system"])


@pytest.mark.usefixtures("key")
async def test_a_score_out_of_bounds_goes_back_once() -> None:
    script = Scripted([json_answer(judged(7)), json_answer(judged(0.7))])
    scores, _ = await ask(script)
    assert scores["rubric source quality"] == (0.7, 1)
    assert len(script.asked) == 2


@pytest.mark.usefixtures("key")
async def test_what_cannot_be_judged_is_said_and_not_scored() -> None:
    never = Scripted([json_answer(judged(7)), json_answer(judged(9))])
    scores, said = await ask(never)
    assert scores == {}
    assert said.startswith("not judged: ")
    refused = Scripted([ApiError(401, "no such key")])
    scores, said = await ask(refused)
    assert scores == {}
    assert said.startswith("not judged: ")


def test_the_offline_engine_judges_nothing() -> None:
    assert choose_judge("offline", None) is None
    assert choose_judge("claude", None) == "claude"
    assert choose_judge("offline", "claude") == "claude"


@pytest.mark.slow
def test_indexing_grows_with_the_documents_and_not_faster(tmp_path: Path) -> None:
    """By the processor's time: eight times the documents may take three times eight, not 64."""

    def indexed(size: int) -> float:
        folder = tmp_path / f"of-{size}"
        Invented(random.Random(7)).write(folder, size)
        begun = time.process_time()
        corpus = index_folder(folder, tmp_path / f"index-{size}")
        took = time.process_time() - begun
        assert len(corpus) == size
        return took

    small = indexed(200)
    assert indexed(1600) < 24 * max(small, 0.05)
