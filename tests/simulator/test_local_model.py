"""A job on llama.cpp's own server, started by the worker, with a tiny model that is written here.

LLAMA=/path/to/packages pytest -m slow tests/simulator/test_local_model.py

`LLAMA` is a folder with the packages xllamacpp, gguf and numpy; `make test-models` installs them.
`LOCAL_MODEL` names a GGUF file to use instead of the tiny one.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from activities.agent.conversation import Answered
from activities.agent.interrupts import Interrupts
from activities.agent.loop import Subagent
from activities.agent.request_template import build_template
from activities.agent.schemas import PlanDraft
from activities.agent.turns import TurnSource
from activities.llm.client import Models
from activities.storage.journal import Journal
from activities.storage.store import Store
from tests.simulator.jobs import ROOT, starter, write_documents
from workflows.config.model_catalog import LOCAL
from workflows.config.roles import PLANNER

PACKAGES = os.environ.get("LLAMA", "")
WINDOW = 16_384

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not PACKAGES, reason="set LLAMA to a folder with xllamacpp and gguf"),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    if named := os.environ.get("LOCAL_MODEL"):
        return named
    file = tmp_path_factory.mktemp("model") / "tiny.gguf"
    command = [sys.executable, "-m", "tests.simulator.tiny_model", str(file)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": PACKAGES}, check=True)
    return str(file)


@pytest.fixture
async def models(model: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Models]:
    monkeypatch.setenv("PYTHONPATH", PACKAGES)
    monkeypatch.syspath_prepend(PACKAGES)
    models = Models(local_model=model, context_window=WINDOW)
    yield models
    await models.close()


async def test_the_answer_follows_the_schema_although_the_server_ignores_it(
    models: Models, tmp_path: Path
) -> None:
    store = Store.open(str(tmp_path))
    template = build_template(PLANNER, LOCAL, "high", max_tokens=2000)
    subagent = Subagent(
        TurnSource(models, Journal(store, "job"), template, Interrupts(store, "job", "plan"))
    )
    reply = await subagent.converse(PlanDraft, {"question": "What is known about ferries?"})
    assert isinstance(reply, Answered)
    assert reply.answer.facets
    assert reply.spend.output_tokens > 0


async def test_a_conversation_larger_than_the_window_is_told_from_other_errors(
    models: Models, tmp_path: Path
) -> None:
    store = Store.open(str(tmp_path))
    template = build_template(PLANNER, LOCAL, "high", max_tokens=200)
    subagent = Subagent(
        TurnSource(models, Journal(store, "job"), template, Interrupts(store, "job", "plan"))
    )
    reply = await subagent.converse(PlanDraft, {"question": "word " * WINDOW})
    assert not isinstance(reply, Answered)
    assert reply.why == "context_full"


async def test_a_server_that_died_is_started_again(models: Models) -> None:
    body = {"model": LOCAL, "max_tokens": 8, "messages": [{"role": "user", "content": "hello"}]}
    await models.ask(body)
    (child,) = _children(os.getpid(), "activities.llm.local_server")
    os.kill(child, signal.SIGKILL)
    answer = {}
    for _ in range(50):
        # As Temporal does: the first call may still find the address of the dead server.
        with suppress(ApplicationError):
            answer = await models.ask(body)
            break
        await asyncio.sleep(0.2)
    assert answer["stop_reason"]
    assert _children(os.getpid(), "activities.llm.local_server") != [child]


def test_a_job_runs_on_a_model_file_and_leaves_no_process_behind(
    model: str, tmp_path: Path
) -> None:
    write_documents(tmp_path / "documents")
    run = starter(
        tmp_path,
        {"PYTHONPATH": PACKAGES, "RESEARCH_CONTEXT_WINDOW": str(WINDOW),
         "RESEARCH_MAX_TOKENS": "2000"},
        "run", "What is known about the harbour line?", "--corpus", "documents",
        "--local-model", model, "--model", "local,writer=offline,evaluator=offline",
        "--effort", "quick", "--max-facets", "1", "--max-passes", "0", "--json",
        seconds=560,
    )  # fmt: skip
    # The tiny model never searches, so it finds nothing; another one may.
    assert run.returncode in (0, 4), run.stdout + run.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert report["telemetry"]["by_role"]["planner"]["turns"] > 0
    assert report["telemetry"]["by_role"]["researcher"]["turns"] > 0
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert model not in listed.stdout, "the server ended with the worker"


def _children(parent: int, named: str) -> list[int]:
    command = ["ps", "-o", "pid=,stat=,args=", "--ppid", str(parent)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [int(pid) for pid, state, args in rows if named in args and "Z" not in state]
