"""The worker: wires workflows and activities to a Temporal server and runs them until SIGTERM.

python worker.py
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.exceptions import ApplicationError
from temporalio.worker import (
    FixedSizeSlotSupplier,
    PollerBehaviorAutoscaling,
    UnsandboxedWorkflowRunner,
    Worker,
    WorkerDeploymentConfig,
    WorkerTuner,
)
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from activities.context import ActivityContext
from activities.fleet.heartbeat import detect_freezes
from activities.fleet.limits import Fleet, FleetLimits, FleetSlotSupplier
from activities.llm.client import Models
from activities.llm.errors import redact
from activities.mcp.server_settings import McpSettings
from activities.mcp.servers import McpServers
from activities.nexus import ResearchHandler
from activities.records import Records
from activities.storage.background_tasks import run_beside
from activities.storage.corpus_publishing import Limits
from activities.storage.retention import delete_stale_indexes
from activities.storage.store import Store
from activities.subagents.asking import Asking
from activities.subagents.evaluating import Evaluating
from activities.subagents.planning import Planning
from activities.subagents.researching import Researching
from activities.subagents.verifying import Verifying
from activities.subagents.writing import Writing
from activities.telemetry import CountingInterceptor, record_jobs
from activities.webhooks import SECRET_VARIABLE, Webhooks
from console.errors import exit_process
from console.runtime.connection import (
    FRESH_SERVER_SECONDS,
    connect,
    register,
    schedule_retention,
)
from console.runtime.data_converter import load_keyring
from console.runtime.health import count_jobs, serve_health
from console.runtime.logs import set_up_logging
from workflows.config.policies import SUBAGENT_QUEUE
from workflows.config.settings import Settings
from workflows.contracts.state import Timing
from workflows.coordinator import ResearchWorkflow
from workflows.refinement import RefinementWorkflow
from workflows.side_workflows import (
    AskWorkflow,
    ClarifyWorkflow,
    CompareWorkflow,
    CorpusWorkflow,
    RetentionWorkflow,
    WebhookWorkflow,
)

DRAIN = timedelta(seconds=30)
"""How long turns in flight may take to finish after SIGTERM."""

STALE_INDEX_SECONDS = 900.0


def build_context(
    settings: Settings, transport: httpx2.AsyncBaseTransport | None = None
) -> ActivityContext:
    """What the activities stand on. `transport` replaces the network of the models."""
    store = Store.open(settings.store, load_keyring(settings))
    limits = FleetLimits(settings.fleet_subagents, settings.fleet_turns_per_minute)
    name = f"{socket.gethostname()}-{os.getpid()}"
    fleet = Fleet(store, name, limits, settings.parallel_subagents) if limits.is_set else None
    named = McpSettings.load(Path(settings.mcp), os.environ) if settings.mcp else None
    return ActivityContext(
        store,
        Models(
            transport,
            settings.provider,
            fleet=fleet,
            context_window=settings.context_window,
            local_model=settings.local_model,
        ),
        _index_folder(settings),
        McpServers(named, store) if named else None,
        fleet,
        settings.provider,
        settings.corpora,
        settings.max_tokens,
        Limits(settings.corpus_files, settings.corpus_bytes, settings.ocr),
        settings.index_cache_bytes,
        settings.ocr,
    )


def _index_folder(settings: Settings) -> Path:
    return Path(settings.state_dir) / "indexes"


@asynccontextmanager
async def build_worker(
    client: Client, settings: Settings, context: ActivityContext
) -> AsyncIterator[None]:
    """Run jobs, their subagents, or both, as the settings say, while the body runs."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(detect_freezes())
        # Without subagents a worker still runs the workflows: it answers queries and updates.
        subagents = settings.worker_role != "coordinator" and settings.parallel_subagents > 0
        if subagents and not _shares_queue(settings, context):
            if context.fleet:
                await stack.enter_async_context(context.fleet.join())
            await stack.enter_async_context(_for_subagents(client, settings, context))
        if settings.worker_role != "subagents":
            await stack.enter_async_context(_for_jobs(client, settings, context))
            if settings.health or settings.telemetry:
                await stack.enter_async_context(run_beside(count_jobs(client, record_jobs)))
        if subagents:
            # Last, because it takes longest; the workers poll already.
            await context.models.wait_until_loaded()
        yield


def _for_jobs(client: Client, settings: Settings, context: ActivityContext) -> Worker:
    shares_queue = _shares_queue(settings, context)
    timing = Timing(
        heartbeat_seconds=settings.pace.heartbeat.total_seconds(),
        storage_wait_seconds=settings.storage_wait,
        overload_wait_seconds=settings.overload_wait,
    )
    records = Records(context, _subagent_queue(settings, context), timing, settings.keep_days)
    return Worker(
        client,
        task_queue=settings.task_queue,
        workflows=[
            ResearchWorkflow,
            RefinementWorkflow,
            CorpusWorkflow,
            AskWorkflow,
            CompareWorkflow,
            ClarifyWorkflow,
            WebhookWorkflow,
            RetentionWorkflow,
        ],
        activities=[
            Verifying(context).reconcile,
            records.publish,
            records.keep_checkpoint,
            records.post_control_messages,
            records.delete_old_objects,
            Webhooks(os.environ.get(SECRET_VARIABLE, ""), settings.webhook_networks).deliver,
            *(_subagents(context) if settings.worker_role != "coordinator" else ()),
        ],
        max_concurrent_activities=max(settings.parallel_subagents, 1) if shares_queue else None,
        workflow_runner=SandboxedWorkflowRunner()
        if settings.uses_sandbox
        else UnsandboxedWorkflowRunner(),
        nexus_service_handlers=[ResearchHandler(settings.pace.task)],
        no_remote_activities=settings.parallel_subagents == 0,
        interceptors=[CountingInterceptor()],
        workflow_task_poller_behavior=_pollers(settings),
        activity_task_poller_behavior=_pollers(settings),
        max_heartbeat_throttle_interval=settings.pace.heartbeat_throttle,
        sticky_queue_schedule_to_start_timeout=settings.pace.sticky,
        graceful_shutdown_timeout=DRAIN,
        deployment_config=_deployment(settings),
    )


def _for_subagents(client: Client, settings: Settings, context: ActivityContext) -> Worker:
    return Worker(
        client,
        task_queue=_subagent_queue(settings, context) or SUBAGENT_QUEUE,
        activities=_subagents(context),
        tuner=_tuner(settings, context),
        interceptors=[CountingInterceptor()],
        activity_task_poller_behavior=_pollers(settings),
        max_heartbeat_throttle_interval=settings.pace.heartbeat_throttle,
        graceful_shutdown_timeout=DRAIN,
        deployment_config=_deployment(settings),
    )


def _shares_queue(settings: Settings, context: ActivityContext) -> bool:
    """Whether subagents are on their job's queue; the limits of a fleet need another one."""
    return settings.worker_role == "alone" and context.fleet is None


def _subagent_queue(settings: Settings, context: ActivityContext) -> str | None:
    """Where the jobs of this worker send their subagents; None for the queue of all workers."""
    if settings.worker_role != "alone":
        return None
    suffix = "" if _shares_queue(settings, context) else "-subagents"
    return settings.task_queue + suffix


def _pollers(settings: Settings) -> PollerBehaviorAutoscaling:
    most = settings.pace.max_pollers
    return PollerBehaviorAutoscaling(minimum=1, initial=min(2, most), maximum=most)


def _subagents(context: ActivityContext) -> list[Callable[..., Any]]:
    planning, records = Planning(context), Records(context)
    verifying = Verifying(context)
    return [
        records.open_corpus,
        records.parse_files,
        records.compare_reports,
        Asking(context).ask,
        planning.plan,
        planning.review_plan,
        planning.clarify,
        Researching(context).research,
        verifying.judge_claims,
        verifying.judge_relations,
        verifying.judge_gaps,
        Writing(context).write,
        Evaluating(context).evaluate,
    ]


def _tuner(settings: Settings, context: ActivityContext) -> WorkerTuner:
    """How many subagents run at once: as the settings say, or this worker's share of the fleet."""
    unused = FixedSizeSlotSupplier(1)
    fixed = FixedSizeSlotSupplier(settings.parallel_subagents)
    return WorkerTuner.create_composite(
        workflow_supplier=unused,
        activity_supplier=FleetSlotSupplier(context.fleet) if context.fleet else fixed,
        local_activity_supplier=unused,
        nexus_supplier=unused,
    )


def _deployment(settings: Settings) -> WorkerDeploymentConfig | None:
    """With a deployment and a build id, running jobs stay on the version they started on."""
    if not (settings.deployment and settings.build_id):
        return None
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(settings.deployment, settings.build_id),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )


async def _delete_stale_indexes(settings: Settings, context: ActivityContext) -> None:
    """What is deleted in the store does not stay in this worker's copies of indexes."""
    while True:
        with suppress(ApplicationError, OSError):  # the store or the disk cannot be used now
            await delete_stale_indexes(context.store, _index_folder(settings))
        await asyncio.sleep(STALE_INDEX_SECONDS)


async def main() -> None:
    set_up_logging(redact)
    settings = Settings.read(os.environ)
    # The modules that are imported now stay: garbage collection would search them in vain.
    gc.disable()
    async with serve_health(settings.health) as health:
        client = await connect(settings, patience=60)
        # An embedded server may just have been created.
        await register(client, FRESH_SERVER_SECONDS if settings.worker_role == "alone" else 0.0)
        if not settings.is_embedded:
            await schedule_retention(client, settings)
        stop = asyncio.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, stop.set)
        context = build_context(settings)
        async with (
            build_worker(client, settings, context),
            run_beside(_delete_stale_indexes(settings, context)),
        ):
            gc.freeze()
            gc.enable()
            health.ready(client)
            await stop.wait()
            health.drain()
        await context.close()


if __name__ == "__main__":
    asyncio.run(main())
    # Temporal's core may abort the interpreter at exit (temporalio/sdk-python#300).
    exit_process(0)
