"""Bare asyncio: the same topology in one process, with nothing kept. The floor, and no more.

`python -m benchmarks.engines.bare LOG` is that process: it takes jobs as lines on standard input
and tells of their ends in the log.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.engines import topology
from benchmarks.engines.engine import Traces
from benchmarks.engines.processes import Process, python, until
from benchmarks.engines.topology import TurnLog


async def job(log: TurnLog, name: str, seconds: float) -> None:
    async def turn(which: str) -> None:
        await log.turn(name, which, seconds)

    async def research(task: str, verified: bool) -> None:
        for n in range(topology.RESEARCH_TURNS):
            await turn(f"{task}-{n}")
        if verified:
            await turn(f"{task}-verify")

    await turn("plan")
    await asyncio.gather(
        *(research(f"facet-{n}", n < topology.VERIFIED) for n in range(topology.RESEARCHERS))
    )
    await turn("write-0")
    await turn("evaluate-0")
    await research("gap", verified=True)
    await turn("write-1")
    await turn("evaluate-1")


class Bare:
    name = "bare asyncio"
    in_a_row, in_all = topology.IN_A_ROW, topology.IN_ALL

    def open(self, folder: Path) -> None:
        self._folder = folder
        self._begun: dict[str, float] = {}
        self.start_worker()

    def close(self) -> None:
        self._worker.stop()

    def start_worker(self) -> None:
        self._worker = Process(
            python("-m", "benchmarks.engines.bare", str(self.log)), self._folder / "bare.log"
        )
        # Nothing was kept: what was under way begins anew.
        for name, seconds in self._begun.items():
            self._tell([name], seconds)

    def kill_worker(self) -> None:
        self._worker.kill()

    def jobs(self, names: Sequence[str], seconds: float) -> list[float]:
        self._tell(names, seconds)
        return [self._took(name) for name in names]

    def begin(self, name: str, seconds: float) -> None:
        self._begun[name] = seconds
        self._tell([name], seconds)

    def finish(self, name: str) -> None:
        self._took(name)
        del self._begun[name]

    @property
    def log(self) -> Path:
        return self._folder / "bare-turns.log"

    def pids(self) -> Mapping[str, int]:
        return {"worker": self._worker.pid}

    def traces(self, name: str) -> Traces:
        return Traces()

    def stored(self) -> int:
        return 0

    def _tell(self, names: Sequence[str], seconds: float) -> None:
        self._worker.say(json.dumps({"names": list(names), "seconds": seconds}))

    def _took(self, name: str) -> float:
        mark = f"ended {name} "

        def ended() -> float | None:
            lines = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
            return next((float(x.rpartition(" ")[2]) for x in lines if x.startswith(mark)), None)

        return until(ended, f"the job {name} ends")


async def main(file: Path) -> None:
    log = TurnLog(file)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
    )

    async def timed(name: str, seconds: float) -> None:
        began = time.perf_counter()
        await job(log, name, seconds)
        log.ended(name, time.perf_counter() - began)

    running: set[asyncio.Task[None]] = set()
    while line := await lines.readline():
        order = json.loads(line)
        for name in order["names"]:
            task = asyncio.create_task(timed(name, float(order["seconds"])))
            running.add(task)
            task.add_done_callback(running.discard)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
