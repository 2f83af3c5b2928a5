"""Histories of every released version replay: code may change under running jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer
from temporalio.workflow import NondeterminismError

from console.runtime.data_converter import data_converter
from tests.histories.scrubbing import traces
from workflows.config.settings import Settings
from workflows.contracts.state import StopReason
from workflows.coordinator import ResearchWorkflow
from workflows.refinement import RefinementWorkflow
from workflows.rules import gaps
from workflows.stages import evaluation, writing
from workflows.stages.execution import Execution

HERE = Path(__file__).parent
KEPT = sorted(HERE.glob("*/*.json"))
STARTED = "workflowExecutionStartedEventAttributes"


def name(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


def load(file: Path) -> WorkflowHistory:
    events: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return WorkflowHistory.from_json(events["events"][0][STARTED]["workflowId"], events)


@pytest.fixture
def replayer(tmp_path: Path) -> Replayer:
    """With an empty store: what is kept here holds all it needs."""
    settings = Settings.read({"RESEARCH_STORE": str(tmp_path / "empty")})
    return Replayer(
        workflows=[ResearchWorkflow, RefinementWorkflow], data_converter=data_converter(settings)
    )


def test_there_is_something_to_replay() -> None:
    assert KEPT, "run `python -m tests.histories.record`"


@pytest.mark.parametrize("file", KEPT, ids=name)
async def test_a_kept_history_replays(replayer: Replayer, file: Path) -> None:
    await replayer.replay_workflow(load(file))


@pytest.mark.parametrize("file", KEPT, ids=name)
def test_a_kept_history_tells_nothing_of_where_it_was_recorded(file: Path) -> None:
    assert sorted(set(traces(json.loads(file.read_text("utf-8"))))) == []


async def test_a_step_that_is_left_out_is_noticed(
    replayer: Replayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_: Any, **__: Any) -> None: ...

    monkeypatch.setattr(evaluation, "evaluate", nothing)
    with pytest.raises(NondeterminismError):
        await replayer.replay_workflow(load(newest("plain")))


async def test_a_checkpoint_that_is_added_is_noticed(
    replayer: Replayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = writing.write

    async def save_twice(execution: Execution, *args: Any, **more: Any) -> None:
        await write(execution, *args, **more)
        await execution.save_checkpoint("written")

    monkeypatch.setattr(writing, "write", save_twice)
    with pytest.raises(NondeterminismError):
        await replayer.replay_workflow(load(newest("plain-pass-1")))


async def test_another_reason_to_stop_is_noticed(
    replayer: Replayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only calls count: a rule that decides otherwise about a running job is a change, too."""
    monkeypatch.setattr(gaps, "stop", lambda *_: StopReason.SUFFICIENT)
    with pytest.raises(NondeterminismError):
        await replayer.replay_workflow(load(newest("plain")))


def newest(stem: str) -> Path:
    return [file for file in KEPT if file.stem == stem][-1]
