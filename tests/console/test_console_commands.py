"""The commands, run as a person runs them, on a real server with a worker that stands in."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from console.embedded import Server

from .conftest import ROOT, Place, call, eventually, processes

GOOD = ("--corpus", "docs")
Served = tuple[Place, Server]


def wait_for(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    seen = ""
    while words not in seen:
        line = process.stdout.readline()
        assert line, seen + (process.stderr.read() if process.stderr else "")
        seen += line
    return seen


def test_help_opens_fast() -> None:
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "starter.py", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert ended.returncode == 0
    assert "resume" in ended.stdout
    assert time.monotonic() - began < 1.5

    modules = subprocess.run(
        [sys.executable, "-X", "importtime", "starter.py", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stderr
    assert "temporalio" not in modules
    assert "pydantic" not in modules


def test_an_interrupted_job_leaves_no_process_and_is_taken_up_again(place: Place) -> None:
    command = ("run", "hold on", *GOOD, "--id", "kept")
    for number in (signal.SIGINT, signal.SIGTERM):
        process = place.popen(*command)
        wait_for(process, "The one facet: running")
        process.send_signal(number)
        said, complained = process.communicate(timeout=20)
        assert (process.returncode, complained) == (130, "")
        assert "`python starter.py resume kept` takes the job up where it was" in said
        assert not processes(place.folder)

    process = place.popen("resume", "kept")
    wait_for(process, "The one facet: running")
    process.kill()
    process.communicate()
    assert eventually(lambda: not processes(place.folder)), processes(place.folder)

    (place.state / "go").touch()
    code, said, complained = place.starter(*command)
    assert (code, complained) == (0, "")
    assert "No API key found: using the offline model" in said
    assert "kept is unfinished and is taken up where it was" in said
    assert "The one facet: found" in said
    for name in ("report.md", "report.html", "report.json"):
        assert str(place.out / name) in said
    assert json.loads((place.out / "report.json").read_text())["id"] == "kept"
    assert not processes(place.folder)


def test_a_finished_job_is_written_again_and_never_mixed_up(served: Served) -> None:
    place, _ = served
    command = ("run", "a big one", *GOOD, "--id", "twice")
    assert call(*command, "--json")[0] == 0
    (place.out / "report.md").unlink()

    code, said, _ = call(*command)
    assert code == 0
    assert "twice is finished; its report is written again, nothing is run" in said
    assert len((place.out / "report.md").read_text()) > 300_000
    # Seven times what the threshold allows: the result is in the store, not in history.
    assert list((place.state / "store" / "payloads").rglob("*"))

    code, _, complained = call("run", "another", *GOOD, "--id", "twice")
    assert code == 2
    assert "belongs to a job with another question: choose another --id" in complained


def test_json_goes_to_standard_output_alone(served: Served) -> None:
    code, said, remarks = call("run", "nothing here", *GOOD, "--id", "js", "--json")

    assert code == 4
    told = json.loads(said)
    assert (told["id"], told["status"], told["exit_code"]) == ("js", "nothing_found", 4)
    assert [Path(file).name for file in told["files"]] == [
        "report.md",
        "report.html",
        "report.json",
    ]
    assert "Nothing was found on this question" in remarks

    state = json.loads(call("status", "js", "--json")[1])
    assert (state["id"], state["state"]) == ("js", "completed")
    listed = json.loads(call("list", "--status", "completed", "--json")[1])
    assert "js" in [row["id"] for row in listed]


def test_a_blocked_job_says_why_and_goes_on_when_told(served: Served) -> None:
    code, _, complained = call("run", "please block", *GOOD, "--id", "parked")
    assert code == 1
    assert "blocked at planning: no key" in complained
    assert "Set a key. Then: `python starter.py resume parked`." in complained

    code, said, _ = call("resume", "parked")
    assert code == 0
    assert "It was blocked (no key) and goes on now." in said


def test_a_failed_job_says_why_and_can_be_started_again(served: Served) -> None:
    code, _, complained = call("run", "please fail", *GOOD, "--id", "f")
    assert code == 1
    assert "The job f did not finish: the moon is in the way." in complained
    code, said, _ = call("run", "better now", *GOOD, "--id", "f")
    assert (code, "Job f begins." in said) == (0, True)


def test_a_job_that_is_not_there_is_bad_input(served: Served) -> None:
    for command in ("status", "resume"):
        code, _, complained = call(command, "nobody")
        assert code == 2
        assert "There is no job nobody: `list` shows the ones there are." in complained


def test_a_configured_server_is_used_and_its_missing_worker_noticed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, server = served
    monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
    monkeypatch.setattr("console.jobs.TASK_QUEUE", "elsewhere")
    code, said, _ = call("start", "away", *GOOD, "--id", "away")
    assert code == 0
    assert "No worker is there yet" in said
    assert "`python starter.py watch away` shows it" in said
    code, _, complained = call("result", "away")
    assert code == 1
    assert "has no report yet" in complained
    assert call("list", "--status", "running")[1].startswith("away ")


def test_a_job_on_a_configured_server_is_watched_and_written(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, server = served
    monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
    assert call("start", "there", *GOOD, "--id", "there")[0] == 0
    code, said, _ = call("watch", "there")
    assert (code, "result there` writes the report" in said) == (0, True)
    assert call("result", "there", "--out", "elsewhere")[0] == 0
    assert (place.folder / "elsewhere" / "report.html").exists()
    code, _, complained = call("resume", "there")
    assert (code, "is not blocked" in complained) == (2, True)
    code, _, complained = call("cancel", "there")
    assert (code, "has ended already" in complained) == (2, True)


def test_a_running_job_is_cancelled(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    _, server = served
    monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
    call("start", "hold on", *GOOD, "--id", "c")
    assert "The job c is cancelled." in call("cancel", "c")[1]
    assert "state: cancelled" in call("status", "c")[1]


def test_a_server_that_does_not_answer_is_named(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
    code, _, complained = call("list")
    assert code == 1
    assert "No Temporal server answers at 127.0.0.1:1" in complained
