"""Many jobs at once, under seeded blows: who is hit, how and when follows from the seed."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from tests.durability.campaign import Row, settle
from tests.durability.jobs import Job, JsonObject
from tests.durability.processes import Process
from tests.durability.site import Site

Blow = Literal["worker", "server", "both", "freeze"]
_FROZEN_SECONDS = 6.0
"""Longer than a heartbeat's timeout, so that another worker takes over."""


@dataclass
class Fleet:
    """Workers that are killed and replaced for as long as jobs run."""

    site: Site
    seed: int
    size: int = 2
    blows: tuple[Blow, ...] = ("worker",)
    every: float = 4.0
    """Seconds between two blows, on average."""
    struck: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._frozen: list[tuple[float, Process]] = []

    async def rage(self) -> None:
        """Strike until cancelled; on the way out everything runs again."""
        try:
            while True:
                await asyncio.sleep(self._chance.uniform(0.3, 1.7) * self.every)
                self._thaw(time.monotonic() - _FROZEN_SECONDS)
                await self._strike(self._chance.choice(self.blows))
        finally:
            self._thaw(time.monotonic())
            self._recruit()

    async def _strike(self, blow: Blow) -> None:
        self.struck.append(blow)
        staff = self._staff()
        victim = self._chance.choice(staff) if staff else None
        if blow == "freeze":
            if victim:
                victim.freeze()
                self._frozen.append((time.monotonic(), victim))
        else:
            if victim and blow != "server":
                victim.kill()
            if blow != "worker":
                self.site.server.kill()
                self.site.start_server()
                await self.site.served()
        self._recruit()

    def _staff(self) -> list[Process]:
        frozen = [process for _, process in self._frozen]
        return [w for w in self.site.workers if w.alive and w not in frozen]

    def _recruit(self) -> None:
        for _ in range(self.size - len(self._staff())):
            self.site.start_worker()

    def _thaw(self, before: float) -> None:
        for entry in [entry for entry in self._frozen if entry[0] <= before]:
            self._frozen.remove(entry)
            if entry[1].alive:
                entry[1].thaw()


async def survive(
    fleet: Fleet, jobs: int, reference: JsonObject, more: Callable[[], bool], seconds: float
) -> list[Row]:
    """So many jobs side by side, and further ones while `more` says so; all are settled."""
    rows: list[Row] = []

    async def one(job: Job) -> None:
        row = Row(job.id, "both", in_flight=10_000)
        settle(row, job, await job.result(seconds), reference)
        rows.append(row)

    async def lane() -> None:
        while True:
            await one(await fleet.site.start_job())
            if not more():
                return

    raging = asyncio.create_task(fleet.rage())
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(jobs):
                group.create_task(lane())
    finally:
        raging.cancel()
        await asyncio.gather(raging, return_exceptions=True)
    return rows
