"""A worker is replaced when it dies, stopped with its starter, and told where it belongs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from console.devserver.worker_process import WorkerProcess, build_environment
from console.errors import ConsoleError
from tests.console.conftest import eventually, processes
from workflows.config.settings import Settings

PATIENT = "import os, sys, time; print(os.environ['TEMPORAL_ADDRESS'], os.getpid(), flush=True)\n"


def settings(place: Path) -> Settings:
    return Settings.read({"RESEARCH_HOME": str(place)})


def script(place: Path, text: str) -> Path:
    path = place / "worker.py"
    path.write_text(text)
    return path


def pids(worker: WorkerProcess) -> list[int]:
    return [int(line.split()[1]) for line in worker.log.read_text().splitlines()]


def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    waits = script(tmp_path, PATIENT + "time.sleep(60)")
    with WorkerProcess(settings(tmp_path), "host:1", waits) as worker:
        assert eventually(lambda: worker.log.exists() and len(pids(worker)) == 1)
        assert worker.replace_if_dead() is None
        os.kill(pids(worker)[0], signal.SIGKILL)
        while (note := worker.replace_if_dead()) is None:
            time.sleep(0.02)
        assert note == "The worker was killed by signal 9; another one continues its work."
        assert eventually(lambda: len(pids(worker)) == 2)
    assert not processes(tmp_path)


def test_a_worker_that_ends_while_it_starts_is_not_tried_again(tmp_path: Path) -> None:
    (tmp_path / "worker.log").write_text("an older story\n")
    fails = script(tmp_path, "raise SystemExit('no such key')")
    with WorkerProcess(settings(tmp_path), "host:1", fails) as worker:
        with pytest.raises(ConsoleError, match=r"ended with code 1.*\n    no such key") as raised:
            eventually(lambda: worker.replace_if_dead() is not None)
        assert "older story" not in str(raised.value)


def test_a_worker_that_will_not_drain_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.devserver.worker_process._GRACE", 0.3)
    deaf = script(tmp_path, "import signal; signal.signal(15, signal.SIG_IGN)\n" + PATIENT
                  + "time.sleep(60)")  # fmt: skip
    with WorkerProcess(settings(tmp_path), "host:1", deaf) as worker:
        assert eventually(lambda: worker.log.exists() and len(pids(worker)) == 1)
    assert not processes(tmp_path)


def test_the_environment_names_this_server_and_absolute_folders(tmp_path: Path) -> None:
    given = {"TEMPORAL_API_KEY": "k", "TEMPORAL_PROFILE": "p", "ANTHROPIC_API_KEY": "a"}
    told = build_environment(Settings(state_dir="here", store="s3://bucket/x"), "host:1", given)

    assert told["TEMPORAL_ADDRESS"] == "host:1"
    assert "TEMPORAL_API_KEY" not in told
    assert "TEMPORAL_PROFILE" not in told
    assert told["ANTHROPIC_API_KEY"] == "a"
    assert told["RESEARCH_HOME"] == str(Path("here").resolve())
    assert told["RESEARCH_STORE"] == "s3://bucket/x"


def test_a_process_that_is_left_is_found(tmp_path: Path) -> None:
    """What the other tests rest on: a check for leftovers that can fail."""
    left = subprocess.Popen([sys.executable, "-c", "input()", str(tmp_path)], stdin=subprocess.PIPE)
    try:
        assert eventually(lambda: len(processes(tmp_path)) == 1)
    finally:
        left.communicate(b"\n")
    assert not processes(tmp_path)


def test_the_worker_does_not_get_the_token_of_the_console(tmp_path: Path) -> None:
    env = {"RESEARCH_CONSOLE_TOKEN": "secret", "ANTHROPIC_API_KEY": "key"}
    given = build_environment(settings(tmp_path), "host:1", env)
    assert "secret" not in given.values()
    assert given["ANTHROPIC_API_KEY"] == "key"
