"""Processes of an engine: started, killed by their id, and what each of them used."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[2]
_TICKS = os.sysconf("SC_CLK_TCK")
_FOREIGN = ("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_")
_GRACE = 20.0
_PATIENCE = 120.0
T = TypeVar("T")


class Process:
    """One process of an engine; its log says why it ended."""

    def __init__(
        self, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**clean(), **(env or {})},
                cwd=ROOT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def kill(self) -> None:
        if self.alive:
            os.kill(self.pid, signal.SIGKILL)
        self._end()

    def stop(self) -> None:
        if self.alive:
            os.kill(self.pid, signal.SIGTERM)
        self._end()

    def _end(self) -> None:
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


def python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


def clean() -> dict[str, str]:
    """The environment without what would lead a process to another server, key or store."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def peak_bytes(pid: int) -> int:
    """The most memory a process held at once."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def folder_bytes(folder: Path) -> int:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


def until(condition: Callable[[], T | None], what: str, every: float = 0.01) -> T:
    deadline = time.monotonic() + _PATIENCE
    while True:
        if found := condition():
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {_PATIENCE:.0f} s")
        time.sleep(every)
