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
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import PollerBehaviorAutoscaling, Worker, WorkerDeploymentConfig

from activities.errors import redacted
from activities.evaluating import Evaluating
from activities.indexing import Indexing
from activities.keeping import Keeping
from activities.mcp.servers import McpServers
from activities.mcp.settings import McpSettings
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
from workflows.policies import STICKY
from workflows.refinement import RefinementWorkflow
from workflows.settings import Settings

POLLERS = PollerBehaviorAutoscaling(minimum=1, initial=2, maximum=20)
DRAIN = timedelta(seconds=30)
"""How long a worker that is told to stop lets turns in flight finish."""


def build_workshop(
    settings: Settings, transport: httpx2.AsyncBaseTransport | None = None
) -> Workshop:
    """What the activities stand on. `transport` stands in for the models' network."""
    store = Store.open(settings.store)
    named = McpSettings.load(Path(settings.mcp), os.environ) if settings.mcp else None
    return Workshop(
        store,
        Models(transport, settings.provider),
        Path(settings.state_dir) / "indexes",
        McpServers(named, store) if named else None,
    )


def build_worker(client: Client, settings: Settings, workshop: Workshop) -> Worker:
    """A worker with every workflow and activity."""
    indexing, planning, keeping = Indexing(workshop), Planning(workshop), Keeping(workshop)
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
            keeping.keep_checkpoint,
            keeping.post_orders,
        ],
        # A worker for no subagents still runs the jobs themselves: it answers and takes orders.
        no_remote_activities=settings.parallel_subagents == 0,
        max_concurrent_activities=settings.parallel_subagents or None,
        # Few open polls: what a frozen worker has asked for is lost on it until it is missed.
        workflow_task_poller_behavior=POLLERS,
        activity_task_poller_behavior=POLLERS,
        max_heartbeat_throttle_interval=timedelta(seconds=1),
        sticky_queue_schedule_to_start_timeout=STICKY,
        graceful_shutdown_timeout=DRAIN,
        deployment_config=_deployment(settings),
    )


def _deployment(settings: Settings) -> WorkerDeploymentConfig | None:
    """With a deployment and a build id, running jobs stay with the version they began on."""
    if not (settings.deployment and settings.build_id):
        return None
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(settings.deployment, settings.build_id),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )


class Discreet(logging.Formatter):
    """Log lines without keys: what crashes may quote all that it was given."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))


async def main() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(Discreet("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # At lower levels the libraries log the address they call, with what stands in it.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    logging.getLogger("anthropic").setLevel(logging.INFO)
    settings = Settings.read(os.environ)
    client = await connect(settings, patience=60)
    await register(client)
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    workshop = build_workshop(settings)
    async with build_worker(client, settings, workshop):
        await stop.wait()
    await workshop.close()


if __name__ == "__main__":
    asyncio.run(main())
    # Temporal's core may abort the interpreter at exit (temporalio/sdk-python#300).
    leave(0)
