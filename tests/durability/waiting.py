"""Waiting for what is to happen, and no longer: limits are for a machine that does much else."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from temporalio.service import RPCError

T = TypeVar("T")

PATIENCE = 120.0
LOOK_EVERY = 0.01


async def until(
    condition: Callable[[], T | None],
    what: str,
    seconds: float = PATIENCE,
    every: float = LOOK_EVERY,
) -> T:
    """What the condition gives once it gives something true; an assertion that names it if not."""
    deadline = time.monotonic() + seconds
    while True:
        if found := condition():
            return found
        assert time.monotonic() < deadline, f"after {seconds:.0f} s still not: {what}"
        await asyncio.sleep(every)


def overloaded() -> bool:
    """Whether so much runs beside the test that seconds mean nothing."""
    return os.getloadavg()[0] > 2 * (os.cpu_count() or 1)


async def eventually(
    condition: Callable[[], Awaitable[T | None]], what: str, seconds: float = PATIENCE
) -> T:
    """As `until`, where looking takes a call to the server, which may be away."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(RPCError):
            if found := await condition():
                return found
        assert time.monotonic() < deadline, f"after {seconds:.0f} s still not: {what}"
        await asyncio.sleep(0.1)
