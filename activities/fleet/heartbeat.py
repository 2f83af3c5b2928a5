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
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.storage.background_tasks import run_beside

BEAT_SECONDS = 1.0
FROZEN_SECONDS = 2.5
"""A process that missed its own clock for this long was frozen."""
OBJECTION_SECONDS = 2.5
"""How long after waking an objection of Temporal's is waited for."""

_woke_at = -math.inf


@dataclass
class _Heartbeats:
    """The heartbeats of one activity."""

    limit: float
    """Seconds without one after which another attempt starts; 0 where none does."""
    last: float
    progress: dict[str, str | int] = field(default_factory=dict)

    def ensure_not_replaced(self) -> None:
        # A monotonic clock, which runs on while a process is frozen.
        if self.limit and asyncio.get_running_loop().time() - self.last > self.limit:
            raise ApplicationError(
                f"this worker was frozen for more than {self.limit:g} s and has been replaced",
                type="frozen",
            )


_current: ContextVar[_Heartbeats | None] = ContextVar("heartbeats", default=None)


def show_progress(**known: str | int) -> None:
    """What the next heartbeats say of the subagent: numbers and ids, never what it reads."""
    if heartbeats := _current.get():
        heartbeats.progress.update(known)


def ensure_not_replaced() -> None:
    """Raise ApplicationError where the process was frozen so long that it was replaced.

    Called before each model call: the body may wake and get there before the heartbeat that would
    end it.
    """
    if heartbeats := _current.get():
        heartbeats.ensure_not_replaced()


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
    clock = asyncio.get_running_loop().time
    heartbeats = _Heartbeats(timeout.total_seconds() if timeout else 0.0, clock())
    frozen: ApplicationError | None = None
    objection_wait = _woke_at + OBJECTION_SECONDS - clock()

    async def send() -> None:
        nonlocal frozen
        # Temporal knows that the activity started: one that ends before the first heartbeat is
        # due needs none.
        if objection_wait > 0:
            activity.heartbeat()
        while True:
            heartbeats.last = clock()
            await asyncio.sleep(every)
            try:
                heartbeats.ensure_not_replaced()
            except ApplicationError as error:
                frozen = error
                body.cancel()
                return
            progress = heartbeats.progress
            activity.heartbeat(*([dict(progress)] if progress else ()))

    token = _current.set(heartbeats)
    try:
        async with run_beside(send()):
            if objection_wait > 0:
                await asyncio.sleep(objection_wait)
            yield
    except asyncio.CancelledError:
        if frozen is None or body.uncancel() > 0:
            raise
        raise frozen from None
    finally:
        _current.reset(token)
