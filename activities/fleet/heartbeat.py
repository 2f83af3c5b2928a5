"""Heartbeats of activities, and the end of an activity whose process was frozen.

Heartbeats tell Temporal that the worker runs, and people how far a subagent is; progress itself is
in the journal. A process that was frozen for longer than the heartbeat timeout has been replaced by
another attempt: when it wakes it makes no further model call. Where Temporal says that the activity
is over, the SDK cancels the body at the next heartbeat.

A task that was polled before a freeze may be delivered after it, when another worker already has
it. So a worker that has just woken sends heartbeats for a new task, and waits for an objection of
Temporal's before it starts the body.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.background import run_beside

BEAT_SECONDS = 1.0
FROZEN_SECONDS = 2.5
"""A process that missed its own clock for this long was frozen."""
OBJECTION_SECONDS = 2.5
"""How long after waking an objection of Temporal's is waited for."""

_woke_at = -math.inf
_shown: ContextVar[dict[str, str | int] | None] = ContextVar("shown", default=None)
_check_replaced: ContextVar[Callable[[], None]] = ContextVar(
    "_check_replaced", default=lambda: None
)


def show_progress(**known: str | int) -> None:
    """What the next heartbeats say of the subagent: numbers and ids, never what it reads."""
    shown = _shown.get()
    if shown is not None:
        shown.update(known)


def ensure_not_replaced() -> None:
    """Raise ApplicationError where the process was frozen so long that it was replaced.

    Called before each model call: the body may wake and get there before the heartbeat that would
    end it.
    """
    _check_replaced.get()()


@asynccontextmanager
async def detect_freezes(still: float = FROZEN_SECONDS, every: float = 0.5) -> AsyncIterator[None]:
    """Notice, while the body runs, that the whole process was frozen."""
    clock = asyncio.get_running_loop().time

    async def watch() -> None:
        global _woke_at
        while True:
            last = clock()
            await asyncio.sleep(every)
            if clock() - last > still:
                _woke_at = clock()

    async with run_beside(watch()):
        yield


@asynccontextmanager
async def send_heartbeats(every: float = BEAT_SECONDS) -> AsyncIterator[None]:
    """Send heartbeats while the body runs. Raises ApplicationError where it was frozen."""
    body = asyncio.current_task()
    if body is None:
        raise RuntimeError("send_heartbeats() has to run in the task of an activity")
    if activity.info().is_local:
        # Part of a workflow task, which has a timeout of its own.
        yield
        return
    timeout = activity.info().heartbeat_timeout
    limit = timeout.total_seconds() if timeout else 0.0
    # A monotonic clock, which runs on while a process is frozen.
    clock = asyncio.get_running_loop().time
    gave_up, last = False, clock()
    shown: dict[str, str | int] = {}
    _shown.set(shown)
    objection_wait = _woke_at + OBJECTION_SECONDS - clock()

    async def beat() -> None:
        nonlocal gave_up, last
        # Temporal knows that the activity started: one that ends before the first heartbeat is
        # due needs none.
        if objection_wait > 0:
            activity.heartbeat()
        while True:
            last = clock()
            await asyncio.sleep(every)
            if was_frozen():
                gave_up = True
                body.cancel()
                return
            activity.heartbeat(*([dict(shown)] if shown else ()))

    def was_frozen() -> bool:
        return bool(limit) and clock() - last > limit

    def replaced_error() -> ApplicationError:
        return ApplicationError(
            f"this worker was frozen for more than {limit:g} s and has been replaced",
            type="frozen",
        )

    def check_replaced() -> None:
        if was_frozen():
            raise replaced_error()

    token = _check_replaced.set(check_replaced)
    try:
        async with run_beside(beat()):
            if objection_wait > 0:
                await asyncio.sleep(objection_wait)
            yield
    except asyncio.CancelledError:
        if not gave_up or body.uncancel() > 0:
            raise
        raise replaced_error() from None
    finally:
        _check_replaced.reset(token)
