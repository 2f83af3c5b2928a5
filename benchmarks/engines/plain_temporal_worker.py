"""The topology in plain Temporal, with an activity for each subagent or for each turn.

And the steps of this project with nothing in them: what Temporal alone takes for them.

python -m benchmarks.engines.plain_temporal_worker ADDRESS TURN_LOG
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from benchmarks.engines import topology
    from benchmarks.engines.topology import TurnLog

QUEUE = "engines"
_LIMIT = timedelta(minutes=10)
# Silence for so long and another worker is given the activity.
_SILENCE = timedelta(seconds=10)


@dataclass
class Job:
    name: str
    seconds: float


@dataclass
class Errand:
    """What a subagent is sent for: its turns, one after another."""

    job: str
    turns: list[str]
    seconds: float


class Subagents:
    def __init__(self, log: TurnLog) -> None:
        self._log = log

    @activity.defn
    async def subagent(self, errand: Errand) -> str:
        for turn in errand.turns:
            activity.heartbeat(turn)
            await self._log.turn(errand.job, turn, errand.seconds)
        return f"what {errand.turns[-1]} said"


async def _sent(job: Job, *turns: str) -> str:
    said: str = await workflow.execute_activity(
        "subagent",
        Errand(job.name, list(turns), job.seconds),
        start_to_close_timeout=_LIMIT,
        heartbeat_timeout=_SILENCE,
    )
    return said


def _researching(task: str) -> list[str]:
    return [f"{task}-{n}" for n in range(topology.RESEARCH_TURNS)]


@workflow.defn
class PerSubagent:
    @workflow.run
    async def run(self, job: Job) -> None:
        await _sent(job, "plan")
        tasks = [f"facet-{n}" for n in range(topology.RESEARCHERS)]
        await asyncio.gather(*(_sent(job, *_researching(task)) for task in tasks))
        await asyncio.gather(*(_sent(job, f"{task}-verify") for task in tasks[: topology.VERIFIED]))
        await _sent(job, "write-0")
        await _sent(job, "evaluate-0")
        await _sent(job, *_researching("gap"))
        for turn in ("gap-verify", "write-1", "evaluate-1"):
            await _sent(job, turn)


@workflow.defn
class PerTurn:
    @workflow.run
    async def run(self, job: Job) -> None:
        async def research(task: str, verified: bool) -> None:
            for turn in _researching(task) + [f"{task}-verify"] * verified:
                await _sent(job, turn)

        await _sent(job, "plan")
        await asyncio.gather(
            *(research(f"facet-{n}", n < topology.VERIFIED) for n in range(topology.RESEARCHERS))
        )
        await _sent(job, "write-0")
        await _sent(job, "evaluate-0")
        await research("gap", verified=True)
        await _sent(job, "write-1")
        await _sent(job, "evaluate-1")


@workflow.defn
class OurSteps:
    @workflow.run
    async def run(self, job: Job) -> None:
        async def pursue(n: int) -> None:
            await _sent(job, *_researching(f"facet-{n}"))
            if n < topology.VERIFIED:
                await _sent(job, f"facet-{n}-verify")

        for turn in ("plan", "review"):
            await _sent(job, turn)
        await asyncio.gather(*(pursue(n) for n in range(topology.RESEARCHERS)))
        for turn in ("write-0", "evaluate-0"):
            await _sent(job, turn)
        await workflow.execute_child_workflow(OurPass.run, job, id=f"{job.name}/pass-1")


@workflow.defn
class OurPass:
    @workflow.run
    async def run(self, job: Job) -> None:
        await _sent(job, *_researching("gap"))
        for turn in ("gap-verify", "write-1", "evaluate-1"):
            await _sent(job, turn)


async def main(address: str, log: Path) -> None:
    client = await Client.connect(address)
    worker = Worker(
        client,
        task_queue=QUEUE,
        workflows=[PerSubagent, PerTurn, OurSteps, OurPass],
        activities=[Subagents(TurnLog(log)).subagent],
    )
    await worker.run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
