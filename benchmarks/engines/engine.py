"""What the benchmark asks of an engine; one module per engine answers.

An engine works in real processes, started by `open`, so that what each used can be read from
outside and any of them can be killed. `jobs` runs so many at once and says how long each took.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.engines import topology


@dataclass(frozen=True)
class Traces:
    """What one finished job left behind at the engine."""

    events: int = 0
    history_bytes: int = 0
    actions: int = 0
    """What a cloud bill of Temporal counts."""
    workflow_tasks: int = 0


class Engine(Protocol):
    name: str
    in_a_row: int
    """Turns one after another in one job: what no engine can be faster than."""
    in_all: int

    def open(self, folder: Path) -> None:
        """Start whatever it needs, in this folder; returns when jobs can be run."""

    def close(self) -> None:
        """End all of it."""

    def jobs(self, names: Sequence[str], seconds: float) -> list[float]:
        """Run these jobs at once, with turns that take so long; how long each took."""

    def begin(self, name: str, seconds: float) -> None:
        """Start a job and do not wait for it."""

    def finish(self, name: str) -> None:
        """Wait for a job that was begun, also when its worker was killed meanwhile."""

    def kill_worker(self) -> None:
        """SIGKILL to the process that does the work; what keeps its state lives on."""

    def start_worker(self) -> None: ...

    @property
    def log(self) -> Path:
        """The file its turns are put down in."""

    def pids(self) -> Mapping[str, int]:
        """Its processes, by what they are."""

    def traces(self, name: str) -> Traces: ...

    def stored(self) -> int:
        """Bytes it keeps on disk."""


IN_A_ROW, IN_ALL = topology.IN_A_ROW, topology.IN_ALL
