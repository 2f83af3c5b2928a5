"""Real processes: the Temporal server, workers, the endpoint. Started, frozen, killed by their id.

Each has a session and a log of its own and dies with the test that started it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

from console.devserver import ports, server
from console.devserver.worker_process import build_environment
from workflows.config.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
_MORTAL = Path(__file__).with_name("mortal.py")
_FOREIGN = ("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_")
_GRACE = 20.0


class Process:
    """One process that a test started; only ever signalled by its own id."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        env: Mapping[str, str] | None = None,
        *,
        listens: bool = False,
    ) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_MORTAL), *command],
                stdin=subprocess.PIPE if listens else subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(env) if env is not None else clean(),
                cwd=ROOT,
                start_new_session=True,
            )
        self.started = time.monotonic()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def commands(self) -> IO[bytes]:
        assert self._process.stdin is not None, f"{self.name} does not listen"
        return self._process.stdin

    def kill(self) -> None:
        """SIGKILL: nothing is said, nothing is written, nothing is handed over."""
        if self.alive:
            os.kill(self.pid, signal.SIGKILL)
        self._process.wait(_GRACE)
        self._close()

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """SIGTERM, and when its time is up SIGKILL."""
        if self.alive:
            os.kill(self.pid, signal.SIGTERM)
            try:
                self._process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                os.kill(self.pid, signal.SIGKILL)
        self._process.wait(_GRACE)
        self._close()

    def said(self) -> str:
        """The end of its log, for a test that has to say why it failed."""
        return self.log.read_text(errors="replace")[-2000:]

    def _close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()


def server_command(folder: Path, port: int, web_port: int) -> list[str]:
    """The embedded server exactly as the product starts it, without its keeper."""
    order = server.build_spec(folder, server.find_binary(), port, web_port)
    return [str(word) for word in order["command"]]


def serves(process: Process, port: int) -> bool:
    assert process.alive, f"the server ended: {process.said()}"
    return ports.is_listening(process.pid, port) and ports.speaks_http2(port)


def worker_environment(home: Path, store: Path, address: str, endpoint: str) -> dict[str, str]:
    settings = Settings(state_dir=str(home), store=str(store))
    return build_environment(settings, address, clean()) | {
        "ANTHROPIC_BASE_URL": endpoint,
        "ANTHROPIC_API_KEY": "none-needed",
    }


def clean(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment without what would lead a process to another server, key or store."""
    kept = {name: value for name, value in env.items() if not name.startswith(_FOREIGN)}
    # Where a run is measured for coverage, killed processes would leave torn files behind.
    return {name: value for name, value in kept.items() if not name.startswith("COV")}


def end_all(processes: Iterable[Process]) -> None:
    for process in processes:
        process.kill()
