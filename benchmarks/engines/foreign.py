"""Engines of an environment of their own, so that what they need is no part of the product's.

`make bench-engines-install` makes it. Such an engine is one worker process, which takes jobs on
standard input (see `orders`) and keeps its state in a file of its folder, or where a DSN says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from benchmarks.engines import topology
from benchmarks.engines.engine import Traces
from benchmarks.engines.processes import ROOT, Process, folder_bytes, until

ENVIRONMENT = ROOT / ".venv-engines"
INSTALL = "make bench-engines-install"


class Foreign:
    name = ""
    package: ClassVar[str]
    """What must be installed over there, as it is imported."""
    worker: ClassVar[tuple[str, ...]]
    """The worker's module and its options."""
    in_a_row, in_all = topology.IN_A_ROW, topology.IN_ALL

    @classmethod
    def lacks(cls) -> str:
        """What to do before this engine can take part; nothing if it can."""
        there = ENVIRONMENT.glob(f"lib/python*/site-packages/{cls.package}")
        return "" if any(there) else f"not installed: {INSTALL}"

    def open(self, folder: Path) -> None:
        self._folder, self._kept = folder, folder / "kept"
        self._kept.mkdir()
        self._begun: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        self._read = 0
        self.start_worker()
        self.jobs(["warm-1", "warm-2"], 0.0)

    def close(self) -> None:
        self._worker.stop()

    def start_worker(self) -> None:
        module, *options = self.worker
        command = [str(ENVIRONMENT / "bin" / "python"), "-m", f"benchmarks.engines.{module}"]
        self._worker = Process(
            [*command, str(self.log), self.place(), *options], self._folder / "worker.log"
        )
        for name, seconds in self._begun.items():
            self._order([name], seconds, again=True)

    def place(self) -> str:
        """Where the worker keeps its state."""
        return str(self._kept / "state.sqlite")

    def kill_worker(self) -> None:
        self._worker.kill()

    def jobs(self, names: Sequence[str], seconds: float) -> list[float]:
        self._order(names, seconds)
        return [self._took(name) for name in names]

    def begin(self, name: str, seconds: float) -> None:
        self._begun[name] = seconds
        self._order([name], seconds)

    def finish(self, name: str) -> None:
        self._took(name)
        del self._begun[name]

    @property
    def log(self) -> Path:
        return self._folder / "turns.log"

    def pids(self) -> Mapping[str, int]:
        return {"worker": self._worker.pid}

    def traces(self, name: str) -> Traces:
        return Traces()

    def stored(self) -> int:
        return folder_bytes(self._kept)

    def _order(self, names: Sequence[str], seconds: float, again: bool = False) -> None:
        order = {"names": list(names), "seconds": seconds, "again": again}
        self._worker.say(json.dumps(order))

    def _took(self, name: str) -> float:
        def ended() -> bool:
            if not self._worker.alive:
                raise RuntimeError(f"{self.name}: the worker ended; see {self._worker.log}")
            self._look()
            return name in self._ended

        until(ended, f"{self.name}: the job {name} ends")
        return self._ended[name]

    def _look(self) -> None:
        """Read on in the log: only what is new, as reading costs the machine that is measured."""
        if not self.log.exists():
            return
        with self.log.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.decode().splitlines():
            if line.startswith("ended "):
                _, name, seconds = line.split()
                self._ended[name] = float(seconds)
