"""Signs of life while a subagent works, and the end of one that was taken for dead.

Heartbeats say that this worker lives, and for people who look how far a subagent is; nothing rests
on that, for progress is in the journal. A worker that stood still for longer than its heartbeat
timeout has been replaced: when it wakes it buys nothing more. Where Temporal itself says that the
activity is over, the SDK cancels the body at the next beat.

What a worker asked for before it stood still may reach it when it wakes, and be another's by then.
So a worker that has just woken gives signs of life for what it is handed, and waits for an
objection before it acts.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar

from temporalio import activity
from temporalio.exceptions import ApplicationError

BEAT_SECONDS = 1.0
STILL_SECONDS = 2.5
"""A process that missed its own clock for so long stood still."""
OBJECTION_SECONDS = 2.5
"""How long after waking an objection of Temporal's is waited for."""

_woke = -math.inf
_shown: ContextVar[dict[str, str | int] | None] = ContextVar("shown", default=None)
_go_on: ContextVar[Callable[[], None]] = ContextVar("_go_on", default=lambda: None)


def show(**known: str | int) -> None:
    """What the next signs of life say of the subagent: numbers and ids, never what it reads."""
    shown = _shown.get()
    if shown is not None:
        shown.update(known)


def must_be_alive() -> None:
    """For who is about to pay: raises where the body stood still so long that it was replaced.

    It may wake in the middle of a step, and be faster than the beat that would end it.
    """
    _go_on.get()()


@asynccontextmanager
async def watching(still: float = STILL_SECONDS, every: float = 0.5) -> AsyncIterator[None]:
    """Notices, while the body runs, that the whole process stood still."""
    clock = asyncio.get_running_loop().time

    async def watch() -> None:
        global _woke
        while True:
            last = clock()
            await asyncio.sleep(every)
            if clock() - last > still:
                _woke = clock()

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def beating(every: float = BEAT_SECONDS) -> AsyncIterator[None]:
    """Heartbeats while the body runs. Raises ApplicationError where the body stood still."""
    body = asyncio.current_task()
    if body is None:
        raise RuntimeError("beating() is for the task of an activity")
    if activity.info().is_local:
        # Part of a workflow task, which Temporal itself looks after.
        yield
        return
    timeout = activity.info().heartbeat_timeout
    limit = timeout.total_seconds() if timeout else 0.0
    # Monotonic, and it runs on while a process is stopped.
    clock = asyncio.get_running_loop().time
    gave_up, last = False, clock()
    shown: dict[str, str | int] = {}
    _shown.set(shown)
    objecting = _woke + OBJECTION_SECONDS - clock()

    async def beat() -> None:
        nonlocal gave_up, last
        # That it was begun is known; who is over before the first beat is due costs no message.
        if objecting > 0:
            activity.heartbeat()
        while True:
            last = clock()
            await asyncio.sleep(every)
            if stood_still():
                gave_up = True
                body.cancel()
                return
            activity.heartbeat(*([dict(shown)] if shown else ()))

    def stood_still() -> bool:
        return bool(limit) and clock() - last > limit

    def taken_for_dead() -> ApplicationError:
        return ApplicationError(
            f"this worker stood still for more than {limit:g} s and was taken for dead",
            type="stood_still",
        )

    def go_on() -> None:
        if stood_still():
            raise taken_for_dead()

    token = _go_on.set(go_on)
    task = asyncio.create_task(beat())
    try:
        if objecting > 0:
            await asyncio.sleep(objecting)
        yield
    except asyncio.CancelledError:
        if not gave_up or body.uncancel() > 0:
            raise
        raise taken_for_dead() from None
    finally:
        _go_on.reset(token)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
