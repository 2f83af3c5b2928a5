"""Work that goes on beside a body, and ends with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any


@asynccontextmanager
async def run_beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run the work in a task of its own, which is cancelled where the body ends."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
