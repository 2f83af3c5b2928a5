"""The worker: wires workflows and activities to a Temporal server and runs them until SIGTERM.

python worker.py
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from datetime import timedelta
from pathlib import Path

import httpx2
from temporalio.client import Client
from temporalio.worker import Worker

from activities.evaluating import Evaluating
from activities.indexing import Indexing
from activities.model import Models
from activities.planning import Planning
from activities.publishing import Publishing
from activities.researching import Researching
from activities.store import Store
from activities.verifying import Verifying
from activities.workshop import Workshop
from activities.writing import Writing
from console.attributes import register
from console.connection import connect
from console.faults import leave
from workflows.contracts import TASK_QUEUE
from workflows.coordinator import ResearchWorkflow
from workflows.refinement import RefinementWorkflow
from workflows.settings import Settings

DRAIN = timedelta(seconds=30)
"""How long a worker that is told to stop lets turns in flight finish."""


def build_worker(
    client: Client, settings: Settings, transport: httpx2.AsyncBaseTransport | None = None
) -> Worker:
    """A worker with every workflow and activity. `transport` stands in for the models' network."""
    workshop = Workshop(
        Store.open(settings.store), Models(transport), Path(settings.state_dir) / "indexes"
    )
    indexing, planning = Indexing(workshop), Planning(workshop)
    researching, verifying = Researching(workshop), Verifying(workshop)
    writing, evaluating, publishing = (
        Writing(workshop), Evaluating(workshop), Publishing(workshop),
    )  # fmt: skip
    return Worker(
        client,
        task_queue=TASK_QUEUE,
        workflows=[ResearchWorkflow, RefinementWorkflow],
        activities=[
            indexing.open_corpus,
            planning.plan,
            planning.review_plan,
            researching.research,
            verifying.reconcile,
            verifying.verify,
            writing.write,
            evaluating.evaluate,
            publishing.publish,
        ],
        max_concurrent_activities=settings.parallel_subagents,
        max_heartbeat_throttle_interval=timedelta(seconds=1),
        # A job whose worker was killed is not held up for long by that worker's own queue.
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=3),
        graceful_shutdown_timeout=DRAIN,
    )


async def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    settings = Settings.read(os.environ)
    client = await connect(settings, patience=60)
    await register(client)
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    async with build_worker(client, settings):
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main())
    # Temporal's core may abort the interpreter at exit (temporalio/sdk-python#300).
    leave(0)
