"""How many jobs are in which status, asked of the server now and then.

Every worker that runs jobs asks for itself, so what they say is the same: take the largest.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from temporalio.client import Client
from temporalio.service import RPCError

STATUSES = ("running", "blocked", "paused", "awaiting_approval")
EVERY_SECONDS = 30.0

log = logging.getLogger(__name__)


@asynccontextmanager
async def census(
    client: Client, counted: Callable[[str, int], None], every: float = EVERY_SECONDS
) -> AsyncIterator[None]:
    """Tells `counted` each status and its number, while the body runs."""
    task = asyncio.create_task(_go_on(client, counted, every))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _go_on(client: Client, counted: Callable[[str, int], None], every: float) -> None:
    while True:
        try:
            for status in STATUSES:
                found = await client.count_workflows(
                    'WorkflowType="ResearchWorkflow" AND ExecutionStatus="Running"'
                    f' AND ResearchStatus="{status}"'
                )
                counted(status, found.count)
        except RPCError as error:
            log.warning("the jobs could not be counted: %s", error.message)
        await asyncio.sleep(every)
