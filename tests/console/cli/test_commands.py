"""The commands, run as a person runs them, on a real server with a worker that stands in."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from console.devserver.server import DevServer
from tests.console.conftest import ROOT, Place, call, eventually, processes

GOOD = ("--corpus", "docs")
COMMANDS = ("run", "start", "watch", "status", "plan", "result", "list", "roles", "approve",
            "steer", "pause", "resume", "finish", "cancel", "checkpoints", "restart",
            "fork", "gaps", "serve", "schedule", "doctor")  # fmt: skip
Served = tuple[Place, DevServer]


def wait_for(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    seen = ""
    while words not in seen:
        line = process.stdout.readline()
        assert line, seen + (process.stderr.read() if process.stderr else "")
        seen += line
    return seen


def test_help_opens_without_what_is_slow_to_load() -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "starter.py", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0
    for command in COMMANDS:
        assert f" {command} " in ended.stdout
    assert "temporalio" not in ended.stderr
    assert "pydantic" not in ended.stderr


def test_every_command_shows_how_it_is_typed() -> None:
    for command in (set(COMMANDS) - {"schedule"}) | {"schedule create", "schedule list"}:
        said = call(*command.split(), "--help")[1]
        assert f"python starter.py {command} " in " ".join(said.split()), command


def test_an_interrupted_job_leaves_no_process_and_is_taken_up_again(place: Place) -> None:
    command = ("run", "hold on", *GOOD, "--id", "kept")
    process = place.popen(*command)
    wait_for(process, "The one facet: running")
    process.send_signal(signal.SIGINT)
    said, complained = process.communicate(timeout=60)
    assert (process.returncode, complained) == (130, "")
    assert "`python starter.py resume kept` continues the job" in said
    assert not processes(place.folder)

    process = place.popen("resume", "kept")
    wait_for(process, "The one facet: running")
    process.kill()
    process.communicate()
    assert eventually(lambda: not processes(place.folder)), processes(place.folder)

    # The command's worker starts before the command asks for the job: the job is held until then.
    process = place.popen(*command)
    said = wait_for(process, "kept is unfinished and continues")
    (place.state / "go").touch()
    rest, complained = process.communicate(timeout=100)
    assert (process.returncode, complained) == (0, "")
    said += rest
    assert "No API key found: using the offline model" in said
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
    assert "twice is finished; its report is written again" in said
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
    assert eventually(lambda: '"id": "js"' in call("list", "--status", "completed", "--json")[1])


def test_a_blocked_job_says_why_and_goes_on_when_told(served: Served) -> None:
    code, _, complained = call("run", "please block", *GOOD, "--id", "parked")
    assert code == 1
    assert "blocked at planning: no key" in complained
    why = "    at planning: no key; Set a key."
    assert eventually(lambda: why in call("list", "--status", "blocked")[1].splitlines())
    said = call("status", "parked")[1]
    assert "state: blocked" in said
    assert (
        "blocked at planning: no key\nSet a key.\nThen: `python starter.py resume parked`." in said
    )
    told = json.loads(call("status", "parked", "--json")[1])
    assert (told["state"], told["blocked"]["remedy"]) == ("blocked", "Set a key.")
    assert "Set a key. Then: `python starter.py resume parked`." in complained

    code, said, _ = call("resume", "parked")
    assert code == 0
    assert "It was blocked (no key) and continues now." in said


def test_a_failed_job_says_why_and_is_taken_up_from_its_checkpoint(served: Served) -> None:
    code, _, complained = call("run", "please fail", *GOOD, "--id", "f")
    assert code == 1
    assert "The job f did not finish: the moon is in the way. `restart f` continues" in complained

    code, _, complained = call("run", "better now", *GOOD, "--id", "f")
    assert (code, "belongs to a job with another question" in complained) == (2, True)
    code, said, _ = call("run", "please fail", *GOOD, "--id", "f", "--max-passes", "1")
    assert code == 0
    assert "Job f had ended and restarts from planned." in said
    assert "It keeps the settings it was started with; `python starter.py fork f --set" in said


def test_a_job_that_is_not_there_is_bad_input(served: Served) -> None:
    for command in ("status", "resume"):
        code, _, complained = call(command, "nobody")
        assert code == 2
        assert "There is no job nobody: `list` shows the existing ones, and" in complained


def test_a_configured_server_is_used_and_its_missing_worker_noticed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, server = served
    monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
    monkeypatch.setattr("console.client.jobs.TASK_QUEUE", "elsewhere")
    monkeypatch.setattr("console.client.runs.find_task_queue", lambda *_: "elsewhere")
    code, said, _ = call("start", "away", *GOOD, "--id", "away")
    assert code == 0
    assert "No worker polls the task queue" in said
    assert "`python starter.py watch away` shows it" in said
    code, _, complained = call("result", "away")
    assert code == 1
    assert "has no report yet" in complained
    assert eventually(lambda: "away " in call("list", "--status", "running")[1])


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
    for command in ("resume", "cancel", "pause", "finish", "approve"):
        code, _, complained = call(command, "there")
        assert (code, "is complete: `result there` writes its report" in complained) == (2, True)


def test_what_a_job_may_spend_is_said_before_it_starts(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, server = served
    monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    code, said, _ = call("start", "from the web", "--id", "w", "--effort", "quick", "--approve")
    assert code == 0
    assert said.startswith("Model: Claude, a model per role, because an API key is set;")
    assert said.splitlines()[1:3] == [
        "Spends at most $1.00 (the default of quick effort): --budget-usd changes it.",
        "Job w starts.",
    ]
    assert "`python starter.py plan w` shows the plan; `approve w` approves it." in said
    assert call("cancel", "w")[0] == 0


def test_a_running_job_is_cancelled(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    _, server = served
    monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
    call("start", "hold on", *GOOD, "--id", "c")
    assert "The job c is cancelled; `python starter.py restart c`" in call("cancel", "c")[1]
    said = call("status", "c")[1]
    assert "state: cancelled" in said
    assert "`python starter.py restart c` restarts it from the last." in said
    code, _, complained = call("pause", "c")
    assert (code, "has already ended (cancelled): `restart c` restarts" in complained) == (2, True)


def test_a_server_that_does_not_answer_is_named(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
    code, _, complained = call("list")
    assert code == 1
    assert "No Temporal server answers at 127.0.0.1:1" in complained


def test_help_names_no_type_for_flags() -> None:
    for command in ([], ["run"], ["serve"], ["schedule"], ["schedule", "create"], ["approve"]):
        said = call(*command, "--help")[1]
        assert "--help" in said
        assert "<bool>" not in said, command
