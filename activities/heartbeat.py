"""Signs of life while a subagent works, and the end of one that was taken for dead.

Heartbeats say that this worker lives; progress is in the journal. A worker that stood still for
longer than its heartbeat timeout has been replaced: when it wakes it buys nothing more. Where
Temporal itself says that the activity is over, the SDK cancels the body at the next beat.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from temporalio import activity
from temporalio.exceptions import ApplicationError

BEAT_SECONDS = 1.0


@asynccontextmanager
async def beating(every: float = BEAT_SECONDS) -> AsyncIterator[None]:
    """Heartbeats while the body runs. Raises ApplicationError where the body stood still."""
    body = asyncio.current_task()
    if body is None:
        raise RuntimeError("beating() is for the task of an activity")
    timeout = activity.info().heartbeat_timeout
    limit = timeout.total_seconds() if timeout else 0.0
    # Monotonic, and it runs on while a process is stopped.
    clock = asyncio.get_running_loop().time
    gave_up = False

    async def beat() -> None:
        nonlocal gave_up
        while True:
            activity.heartbeat()
            last = clock()
            await asyncio.sleep(every)
            if limit and clock() - last > limit:
                gave_up = True
                body.cancel()
                return

    task = asyncio.create_task(beat())
    try:
        yield
    except asyncio.CancelledError:
        if not gave_up or body.uncancel() > 0:
            raise
        raise ApplicationError(
            f"this worker stood still for more than {limit:g} s and was taken for dead",
            type="stood_still",
        ) from None
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
