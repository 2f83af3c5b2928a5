"""One job, one row: somebody is killed at a step and replaced, and the job is compared.

The same report, no kept turn asked for again, at most the turns in flight lost, and the count in
the report is the one made outside.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.durability.jobs import Job, JsonObject, comparable
from tests.durability.site import Site, a_site
from tests.durability.steps import Step
from workflows.contracts.result import ResearchResult

Who = Literal["worker", "server", "both"]

PARALLEL = 5
_IMPORTING = 0.4
"""Seconds within which no worker that was just started can have asked for anything."""


@dataclass
class Row:
    step: str
    who: Who
    kills: int = 0
    late: int = 0
    resumed: float | None = None
    """Seconds from the replacement's start to progress."""
    in_flight: int = 0
    lost: int = 0
    """Turns asked for again because their answer was not kept."""
    bought_again: int = 0
    """Turns asked for again though they were kept."""
    unsent: int = 0
    reported: int = 0
    same: bool = False
    failed: str = ""
    """Why it did not come to an end at all."""

    def faults(self) -> list[str]:
        """What must not be, in words."""
        found = [self.failed] if self.failed else []
        if not (self.same or self.failed):
            found.append("another report")
        if self.bought_again:
            found.append(f"{self.bought_again} kept turns asked for again")
        if self.lost > self.in_flight:
            found.append(f"{self.lost} turns lost, and only {self.in_flight} were in flight")
        if self.reported != self.lost + self.unsent:
            found.append(
                f"the report says {self.reported} bought again, outside {self.lost} were counted"
                f" and {self.unsent} put down but not sent"
            )
        return [f"{self.who} killed at {self.step}: {fault}" for fault in found]


def strike(site: Site, who: Who) -> None:
    """SIGKILL, with nothing in between."""
    if who != "server":
        site.worker.kill()
    if who != "worker":
        site.server.kill()


def replace(site: Site, who: Who) -> float:
    """Start what was killed; returns when."""
    began = time.monotonic()
    if who != "worker":
        site.start_server()
    if who != "server":
        site.start_worker()
    return began


async def kill_at(site: Site, job: Job, step: Step, armed: int, who: Who, row: Row) -> None:
    """Wait for the step, kill, replace, wait until the job goes on; nothing if it ends first."""
    waiting = asyncio.create_task(step.reached(job, armed))
    ending = asyncio.create_task(_ended(job))
    try:
        await asyncio.wait((waiting, ending), return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            return
        strike(site, who)
        reached = waiting.result()
        row.kills, row.late = row.kills + 1, reached.late
        row.step = row.step.replace(str(step), f"{step} {reached.name}".strip(), 1)
    finally:
        for task in (waiting, ending):
            task.cancel()
        await asyncio.gather(waiting, ending, return_exceptions=True)
    kept, mark = job.account().kept, job.mark()
    began = replace(site, who)
    await site.endpoint.go()
    row.resumed = max(row.resumed or 0.0, await job.progress(mark) - began)
    # A worker that lives may have any of its turns in flight while the server is away.
    row.in_flight += PARALLEL if who == "server" else len(_asked(job, began) - kept)


async def kills(site: Site, steps: Sequence[tuple[Step, Who]], reference: JsonObject) -> Row:
    """One job, killed at each of these steps in turn."""
    names, whos = [str(step) for step, _ in steps], {who for _, who in steps}
    row = Row(", ".join(names), whos.pop() if len(whos) == 1 else "both")
    job: Job | None = None
    for step, who in steps:
        armed = await step.arm(site)
        job = job or await site.start_job()
        await kill_at(site, job, step, armed, who, row)
        await site.endpoint.go()
    assert job is not None, "name at least one step"
    settle(row, job, await job.result(), reference)
    return row


def settle(row: Row, job: Job, result: ResearchResult, reference: JsonObject) -> None:
    """Compare, and count."""
    account = job.account()
    row.same = comparable(result, job.site.corpus) == reference
    row.lost = account.again - account.kept_again
    row.bought_again, row.unsent = account.kept_again, account.unsent
    row.reported = result.telemetry.turns_bought_again


def publish(rows: Sequence[Row]) -> None:
    """Print the table, and put it into the file named KILL_TABLE."""
    written = table(rows)
    print(f"\n{written}")
    if place := os.environ.get("KILL_TABLE"):
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(written + "\n")


async def undisturbed(site: Site) -> tuple[Job, JsonObject]:
    """The job as it goes when nobody is killed."""
    job = await site.start_job()
    result = await job.result()
    assert result.passes[1:], "the job that is killed has a refinement pass"
    assert job.account().again == result.telemetry.turns_bought_again == 0
    return job, comparable(result, site.corpus)


async def campaign(
    folder: Path, steps: Iterable[tuple[Step, Who]], reference: JsonObject, lanes: int
) -> list[Row]:
    """All of the steps, a job each, so many side by side, each with a server of its own."""
    waiting = list(reversed(list(steps)))
    rows: list[Row] = []

    async def lane(n: int) -> None:
        places = itertools.count()
        while waiting:
            async with a_site(folder / f"lane-{n}-{next(places)}") as site:
                while waiting:
                    step, who = waiting.pop()
                    try:
                        rows.append(await kills(site, [(step, who)], reference))
                    except AssertionError as fault:
                        # The others still count; they go on at a place where nothing is amiss.
                        rows.append(Row(str(step), who, failed=str(fault)))
                        break

    async with asyncio.TaskGroup() as group:
        for n in range(lanes):
            group.create_task(lane(n))
    return rows


def table(rows: Sequence[Row]) -> str:
    lines = [
        f"{'step':<58}{'killed':<8}{'late':>5}{'resumed after':>15}{'turns lost':>12}"
        f"{'bought again':>14}{'reported':>10}  report"
    ]
    for row in rows:
        resumed = f"{row.resumed:.2f} s" if row.resumed is not None else "-"
        lines.append(
            f"{row.step:<58}{row.who if row.kills else 'ended':<8}{row.late:>5}{resumed:>15}"
            f"{row.lost:>12}{row.bought_again:>14}{row.reported:>10}"
            f"  {'same' if row.same else 'ANOTHER'}"
        )
    times = sorted(row.resumed for row in rows if row.resumed is not None) or [0.0]
    kills, same = sum(row.kills for row in rows), sum(row.same for row in rows)
    lost, again = sum(row.lost for row in rows), sum(row.bought_again for row in rows)
    unsent = sum(row.unsent for row in rows)
    lines.append(
        f"{len(rows)} jobs, {kills} kills; resumed after {times[len(times) // 2]:.2f} s (median),"
        f" {times[-1]:.2f} s (longest); {lost} turns lost, {again} bought again, {unsent} put down"
        f" and not sent; {same} reports the same"
    )
    return "\n".join(lines)


def _asked(job: Job, began: float) -> set[str]:
    """The turns that whoever was killed had asked for; some still stood in the endpoint's queue."""
    requests = job.site.endpoint.arrived(job.id)
    return {line["fingerprint"] for line in requests if line["at"] < began + _IMPORTING}


async def _ended(job: Job) -> None:
    while True:
        if await job.ended():
            break
        await asyncio.sleep(0.25)
    # What is watched for in the store or in a history may have come with the end.
    await asyncio.sleep(1.0)
