"""The topology in DBOS; runs in the engines' own environment.

python -m benchmarks.engines.dbos_worker TURN_LOG DATABASE_URL
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from pathlib import Path
from typing import Any

from dbos import DBOS, SetWorkflowID  # type: ignore[import-not-found]
from sqlalchemy import event  # type: ignore[import-not-found]
from sqlalchemy.engine import Engine  # type: ignore[import-not-found]

from benchmarks.engines import topology
from benchmarks.engines.orders import serve
from benchmarks.engines.topology import TurnLog

LOG = TurnLog(Path(sys.argv[1]))


@DBOS.step()  # type: ignore[untyped-decorator]
async def turn(job: str, which: str, seconds: float) -> str:
    await LOG.turn(job, which, seconds)
    return f"what {which} said"


@DBOS.workflow()  # type: ignore[untyped-decorator]
async def research(job: str, task: str, verified: bool, seconds: float) -> str:
    found = ""
    for n in range(topology.RESEARCH_TURNS):
        found = await turn(job, f"{task}-{n}", seconds)
    if verified:
        found = await turn(job, f"{task}-verify", seconds)
    return found


@DBOS.workflow()  # type: ignore[untyped-decorator]
async def job(name: str, seconds: float) -> None:
    await turn(name, "plan", seconds)
    # Started one by one: what begins in which order must be the same when it goes on.
    begun = [
        await DBOS.start_workflow_async(
            research, name, f"facet-{n}", n < topology.VERIFIED, seconds
        )
        for n in range(topology.RESEARCHERS)
    ]
    for handle in begun:
        await handle.get_result()
    await turn(name, "write-0", seconds)
    await turn(name, "evaluate-0", seconds)
    await research(name, "gap", True, seconds)
    await turn(name, "write-1", seconds)
    await turn(name, "evaluate-1", seconds)


async def run(name: str, seconds: float, again: bool) -> None:
    if again:
        # DBOS itself goes on with what was under way, at its launch.
        handle = await DBOS.retrieve_workflow_async(name)
    else:
        with SetWorkflowID(name):
            handle = await DBOS.start_workflow_async(job, name, seconds)
    await handle.get_result()


def quick(connection: Any, _: Any) -> None:
    """As for every engine here: no wait for the disk at every commit."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous=NORMAL")


async def main(url: str) -> None:
    if url.startswith("sqlite:///"):
        event.listen(Engine, "connect", quick)
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        connection.execute("PRAGMA journal_mode=WAL")
        connection.close()
    DBOS(config={
        "name": "engines", "system_database_url": url, "application_version": "1",
        "executor_id": "local", "log_level": "WARNING",
    })  # fmt: skip
    DBOS.launch()
    await serve(LOG, run)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[2]))
