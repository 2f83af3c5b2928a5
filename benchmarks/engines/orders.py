"""A worker's side of an engine that takes jobs on standard input and tells of them in the log.

A line is an order: which jobs, how long a turn takes, and whether they were under way before the
worker was killed. Only the standard library: workers of other environments use it too.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable

from benchmarks.engines.topology import TurnLog

Run = Callable[[str, float, bool], Awaitable[None]]
"""A job by its name, the seconds of a turn, and whether it goes on instead of beginning."""


async def serve(log: TurnLog, run: Run) -> None:
    """Run every job that is ordered, until standard input ends."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
    )

    async def timed(name: str, seconds: float, again: bool) -> None:
        began = time.perf_counter()
        await run(name, seconds, again)
        log.ended(name, time.perf_counter() - began)

    running: set[asyncio.Task[None]] = set()
    while line := await lines.readline():
        order = json.loads(line)
        for name in order["names"]:
            task = asyncio.create_task(timed(name, float(order["seconds"]), bool(order["again"])))
            running.add(task)
            task.add_done_callback(running.discard)
