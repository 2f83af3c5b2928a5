"""A folder with an embedded server in it, and the starter as a person would run it there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from console.cli.app import app
from console.devserver.server import DevServer, run_dev_server
from console.devserver.worker_process import WorkerProcess
from workflows.config.settings import Settings
from workflows.contracts.request import TASK_QUEUE

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = ROOT / "tests" / "console" / "stand_in_worker.py"
# The starter with a worker that needs no activities.
STARTER = """
import sys
from pathlib import Path
import console.devserver.worker_process
console.devserver.worker_process.SCRIPT = Path(sys.argv.pop(1))
from console.cli.app import app
from console.errors import exit_process
try:
    app()
except SystemExit as end:
    exit_process(end.code)
"""


def processes(place: Path) -> list[str]:
    """Every process that has this folder in its command line, but those that run the tests."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_text(errors="replace").split("\0")
        except OSError:
            continue
        testing = "pytest" in words or any(word.endswith("bin/pytest") for word in words)
        if str(place) in (line := " ".join(words)) and not testing:
            found.append(line[:200])
    return found


def call(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command run in this process."""
    ended = CliRunner().invoke(app, arguments)
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    return ended.exit_code, ended.stdout, ended.stderr


def eventually(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


class Place:
    """A working directory to run commands in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.worker = STAND_IN
        self.more: dict[str, str] = {}
        self.state = folder / "state"
        (folder / "docs").mkdir(parents=True)
        (folder / "docs" / "a.md").write_text("Something is written here.")

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def env(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_"))
        }
        return kept | {"RESEARCH_HOME": "state", "PYTHONPATH": str(ROOT)} | self.more

    def popen(self, *arguments: str, stdin: int | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", STARTER, str(self.worker), *arguments],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.env(),
        )

    def starter(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a command run to its end."""
        process = self.popen(*arguments)
        said, complained = process.communicate(timeout=100)
        return process.returncode, said, complained


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    yield Place(tmp_path / "a place, é")
    assert eventually(lambda: not processes(tmp_path)), processes(tmp_path)


class Idle:
    """In place of a command's own worker, where one is there already."""

    def __init__(self, *_: object, **__: object) -> None:
        return

    def __enter__(self) -> Idle:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def replace_if_dead(self) -> None:
        return None

    def stop(self) -> None:
        return


def forget_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("RESEARCH_HOME", "state")


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, DevServer]]:
    """A place whose server and worker are kept running."""
    place = Place(tmp_path_factory.mktemp("served") / "place")
    settings = Settings.read({"RESEARCH_HOME": str(place.state)})
    with pytest.MonkeyPatch.context() as patch, run_dev_server(place.state) as server:
        patch.setenv("PYTHONPATH", str(ROOT))
        with WorkerProcess(settings, server.address, STAND_IN):
            yield place, server
    assert not processes(place.folder)


@pytest.fixture
def served(
    running: tuple[Place, DevServer], monkeypatch: pytest.MonkeyPatch
) -> tuple[Place, DevServer]:
    """The same for commands called in this process: they join the server and find the worker."""
    place, server = running
    forget_settings(monkeypatch)
    monkeypatch.setattr("console.client.session.WorkerProcess", Idle)
    monkeypatch.setattr("console.client.runs.find_task_queue", lambda *_: TASK_QUEUE)
    monkeypatch.chdir(place.folder)
    return place, server


@pytest.fixture(scope="package")
def running_real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, DevServer]]:
    """The same with the real worker, started as it is beside a configured server."""
    place = Place(tmp_path_factory.mktemp("real") / "place")
    with run_dev_server(place.state) as server:
        place.more = {"TEMPORAL_ADDRESS": server.address}
        with (place.folder / "worker.log").open("wb") as log:
            worker = subprocess.Popen(
                [sys.executable, str(ROOT / "worker.py")],
                cwd=place.folder,
                env=place.env(),
                stdout=log,
                stderr=log,
            )
        yield place, server
        worker.terminate()
        worker.wait(60)
    assert not processes(place.folder)


@pytest.fixture
def researching(running_real: tuple[Place, DevServer], monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place whose commands talk to a configured server with the real worker."""
    place, server = running_real
    forget_settings(monkeypatch)
    monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
    monkeypatch.chdir(place.folder)
    return place
