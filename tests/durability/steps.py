"""The steps of a job at which somebody is killed, and how each is waited for from outside.

A turn is waited for at the endpoint, which holds it up; what is kept, in the store; everything the
coordinator and its pass do (workflow tasks, activities, the child's start and end), in their
histories. What cannot be held up may have gone on a little when the signal comes: `late` says how
far.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from temporalio.api.enums.v1 import EventType

from tests.durability.counter import Stage
from tests.durability.jobs import Handle, Job
from tests.durability.site import Site
from tests.durability.waiting import until

Kind = Literal[
    "turn in flight",
    "turn half delivered",
    "turn delivered",
    "turn kept",
    "checkpoint",
    "event",
    "event of the pass",
]
_HELD: dict[Kind, Stage] = {
    "turn in flight": "in_flight",
    "turn half delivered": "half",
    "turn delivered": "delivered",
}


class Reached(NamedTuple):
    late: int = 0
    """How many steps of this kind lay behind it already."""
    name: str = ""
    """What happened at it, where its number does not say so."""


@dataclass(frozen=True)
class Step:
    kind: Kind
    n: int
    """Which one of its kind; requests are counted from when the step is armed."""

    def __str__(self) -> str:
        return f"{self.kind} {self.n}"

    async def arm(self, site: Site) -> int:
        """To be called before the job can come to this step; hand on what it returns."""
        since = len(site.endpoint.lines())
        if stage := _HELD.get(self.kind):
            await site.endpoint.hold(stage, self.n)
        return since

    async def reached(self, job: Job, armed: int) -> Reached:
        """Returns at the step."""
        match self.kind:
            case "turn kept":
                past = await until(lambda: _from(self.n, len(job.account().kept)), str(self))
                return Reached(past - 1)
            case "checkpoint":
                past = await until(lambda: _from(self.n, job.checkpoints()), str(self))
                name = job.checkpoint_files()[self.n - 1].stem.partition("-")[2]
                return Reached(past - 1, name)
            case "event":
                return await self._event(job, job.handle)
            case "event of the pass":
                return await self._event(job, job.pass_handle)
            case _:
                await until(lambda: job.site.endpoint.held(armed), str(self))
                return Reached()

    async def _event(self, job: Job, handle: Handle) -> Reached:
        name = ""
        async for event in job.events(handle):
            if event.event_id == self.n:
                name = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_").lower()
            if event.event_id >= self.n:
                return Reached(int(event.event_id) - self.n, name.replace("_", " "))
        # This run came to its end with fewer events; whoever waits looks for that as well.
        return await asyncio.Future()


def _from(wanted: int, there: int) -> int:
    """0 until it is there, and from then on one more than what is there beyond it."""
    return max(0, there - wanted + 1)


@dataclass(frozen=True)
class Extent:
    """How many steps of each kind an undisturbed job has."""

    turns: int
    checkpoints: int
    events: int
    pass_events: int

    @classmethod
    async def of(cls, job: Job) -> Extent:
        return cls(
            turns=job.account().turns,
            checkpoints=job.checkpoints(),
            events=len((await job.handle.fetch_history()).events),
            pass_events=len((await job.pass_handle.fetch_history()).events),
        )

    def steps(self, stride: int = 1) -> Iterator[Step]:
        """Every step, or every so many."""
        counts: dict[Kind, int] = {
            "turn in flight": self.turns,
            "turn half delivered": self.turns,
            "turn delivered": self.turns,
            "turn kept": self.turns,
            "checkpoint": self.checkpoints,
            "event": self.events,
            "event of the pass": self.pass_events,
        }
        for kind, count in counts.items():
            for n in range(1, count + 1, stride):
                yield Step(kind, n)
