"""Count the jobs by status, for the metrics.

Every worker that runs workflows counts for itself, so all report the same numbers: alert rules take
the maximum.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from temporalio.client import Client
from temporalio.service import RPCError

STATUSES = ("running", "blocked", "paused", "awaiting_approval")
INTERVAL_SECONDS = 30.0

log = logging.getLogger(__name__)


@asynccontextmanager
async def count_jobs(
    client: Client, record: Callable[[str, int], None], interval: float = INTERVAL_SECONDS
) -> AsyncIterator[None]:
    """Call `record` with each status and its number of jobs, while the body runs."""
    task = asyncio.create_task(_count_repeatedly(client, record, interval))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _count_repeatedly(
    client: Client, record: Callable[[str, int], None], interval: float
) -> None:
    while True:
        try:
            for status in STATUSES:
                found = await client.count_workflows(
                    'WorkflowType="ResearchWorkflow" AND ExecutionStatus="Running"'
                    f' AND ResearchStatus="{status}"'
                )
                record(status, found.count)
        except RPCError as error:
            log.warning("the jobs could not be counted: %s", error.message)
        await asyncio.sleep(interval)
