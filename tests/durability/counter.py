"""The counting endpoint as a test sees it: what was asked, by whom, and what is held up there."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Literal

from tests.durability.processes import Process
from tests.durability.waiting import until

Stage = Literal["in_flight", "half", "delivered"]
Line = dict[str, Any]


class Endpoint:
    """Runs the endpoint, and reads its log as it grows."""

    def __init__(self, folder: Path, store: Path | str) -> None:
        self._log = folder / "requests.jsonl"
        command = [sys.executable, "-m", "tests.durability.endpoint"]
        self.process = Process(
            "the endpoint",
            [*command, "--log", str(self._log), "--store", str(store)],
            folder / "endpoint.log",
            listens=True,
        )
        self._read = 0
        self._lines: list[Line] = []
        self._told = 0

    async def listening(self) -> str:
        """Its address, once there is one."""
        first = await until(lambda: self.lines(), "the endpoint listens")
        return f"http://127.0.0.1:{first[0]['port']}"

    def lines(self) -> list[Line]:
        """All of the log so far, whole lines only."""
        assert self.process.alive, f"the endpoint ended: {self.process.said()}"
        if self._log.exists():
            with self._log.open("rb") as log:
                log.seek(self._read)
                for line in log:
                    if not line.endswith(b"\n"):
                        break
                    self._read += len(line)
                    self._lines.append(json.loads(line))
        return self._lines

    def arrived(self, job: str | None = None) -> list[Line]:
        """The requests so far: of one job, or all."""
        return [
            line
            for line in self.lines()
            if line["event"] == "arrived" and (job is None or line["job"] == job)
        ]

    def held(self, since: int) -> bool:
        """Whether something was held after so many lines of the log."""
        return any(line["event"] == "held" for line in self.lines()[since:])

    async def hold(self, stage: Stage, nth: int) -> None:
        """Stop at the n-th different request from now on."""
        await self._tell(reset=True, hold={"stage": stage, "nth": nth})

    async def go(self) -> None:
        await self._tell(go=True)

    async def delay(self, seconds: float) -> None:
        await self._tell(delay=seconds)

    async def _tell(self, **command: object) -> None:
        self._told += 1
        n = self._told
        self.process.commands.write(json.dumps({"n": n, **command}).encode() + b"\n")
        self.process.commands.flush()
        await until(
            lambda: any(e["event"] == "obeyed" and e["n"] == n for e in reversed(self.lines())),
            "the endpoint obeys",
        )


class Account:
    """What was bought for one job, counted at the wire and in what its journal holds."""

    def __init__(self, requests: list[Line], journal: Path) -> None:
        self.requests = Counter(line["fingerprint"] for line in requests)
        self.kept_again = sum(line["kept"] for line in requests)
        """Requests for a turn that was in the journal when they came: there must be none."""
        self.kept = {file.stem for file in journal.glob("*.json") if "." not in file.stem}
        # A worker killed within a write leaves the file it wrote to, which has a "#" in its name.
        marks = (mark for mark in journal.glob("*/call-*") if "#" not in mark.name)
        purchases = Counter(mark.parent.name for mark in marks)
        self.unsent = sum(
            max(0, count - self.requests[fingerprint]) for fingerprint, count in purchases.items()
        )
        """Purchases a worker had put down when it was killed, before the request went out."""

    @property
    def turns(self) -> int:
        """Different turns that were asked for."""
        return len(self.requests)

    @property
    def again(self) -> int:
        """How often a turn was asked for that had been asked for before."""
        return sum(count - 1 for count in self.requests.values())

    @property
    def lost(self) -> set[str]:
        """Turns that were asked for and not kept."""
        return set(self.requests) - self.kept
