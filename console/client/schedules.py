"""Schedules on a Temporal server that keeps running: research that repeats.

Each run of a schedule is a job of its own, named after the schedule and the time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from pydantic import ValidationError
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleDescription,
    ScheduleIntervalSpec,
    ScheduleListDescription,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
)
from temporalio.service import RPCError, RPCStatusCode

from console.client import corpora, validation
from console.client.audit import current_actor, is_visible, recorded
from console.client.checkpoints import CheckpointStore
from console.client.job_list import format_time
from console.client.jobs import WORKFLOW
from console.client.research_request import parse_duration
from console.client.runs import tenant_attribute
from console.errors import COMMAND, BadInputError, ConflictError, ConsoleError, NotFoundError
from workflows.config.settings import Settings
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.rules.status import describe_request

Action = Literal["pause", "unpause", "trigger", "delete"]

# After an outage: runs missed longer ago than this are skipped.
_CATCH_UP = timedelta(hours=12)


@dataclass(frozen=True)
class ScheduleRecord:
    name: str
    paused: bool
    next: str
    """When it runs next; empty if it does not."""
    last: str
    """The id of its last job; `never` if there is none."""


@dataclass(frozen=True)
class ScheduledRun:
    id: str
    at: str


@dataclass(frozen=True)
class ScheduleDetails:
    name: str
    question: str
    corpus: str
    paused: bool
    note: str
    next: str
    runs: tuple[ScheduledRun, ...]
    skipped: int
    """Runs that were left out because the previous one was not over."""


def require_server(settings: Settings) -> Settings:
    if not settings.has_server:
        raise BadInputError(
            "`schedule` needs a Temporal server that keeps running: set TEMPORAL_ADDRESS, and start"
            " a worker there with `python worker.py`."
        )
    return settings


def build_spec(every: str | None, cron: str | None, zone: str | None) -> ScheduleSpec:
    if (every is None) == (cron is None):
        raise BadInputError('Say when: with --every 24h, or with --cron "0 6 * * 1-5"; not both.')
    if cron is not None:
        return ScheduleSpec(cron_expressions=[cron], time_zone_name=zone)
    if zone is not None:
        raise BadInputError("--time-zone belongs to --cron: omit it with --every.")
    seconds = parse_duration(every or "", "--every", 366)
    return ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(seconds=seconds))])


async def create(
    client: Client, settings: Settings, name: str, request: ResearchRequest, spec: ScheduleSpec
) -> ScheduleDetails:
    """Create a schedule. Its runs never overlap; each reads the newest version of its corpus."""
    store_id = await CheckpointStore(settings).identify()
    request = current_actor().restrict(request)
    request = await corpora.publish_for(request, settings)
    corpus = request.corpus.partition("@")[0] if request.corpus is not None else None
    request = request.model_copy(
        update={"report_changes": True, "store_id": store_id, "corpus": corpus}
    )
    schedule = Schedule(
        action=ScheduleActionStartWorkflow(
            WORKFLOW,
            request,
            id=validation.check_job_id(name),
            task_queue=TASK_QUEUE,
            task_timeout=settings.pace.task,
            **describe_request(request),
        ),
        spec=spec,
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=_CATCH_UP),
    )
    async with _translate_errors(name):
        try:
            with recorded("schedule create", name):
                # As a job has them: they say who may see the schedule.
                await client.create_schedule(
                    name,
                    schedule,
                    memo={"labels": list(request.labels)},
                    search_attributes=tenant_attribute(request),
                )
        except ScheduleAlreadyRunningError:
            raise ConflictError(
                f"There is already a schedule {name}: choose another name, or"
                f" `{COMMAND} schedule delete {name}` first."
            ) from None
    return await find(client, name)


async def list_all(client: Client) -> list[ScheduleRecord]:
    async with _translate_errors(""):
        return [
            _summarize(entry)
            async for entry in await client.list_schedules()
            if getattr(entry.schedule and entry.schedule.action, "workflow", None) == WORKFLOW
            and await is_visible(entry)
        ]


async def find(client: Client, name: str) -> ScheduleDetails:
    async with _translate_errors(name):
        description = await _describe(client, name)
        request = await _read_request(client, description)
    info, state = description.info, description.schedule.state
    return ScheduleDetails(
        name=name,
        question=request.question if request else "",
        corpus=(request.corpus or "") if request else "",
        paused=state.paused,
        note=state.note or "",
        next=format_time(info.next_action_times[0]) if info.next_action_times else "",
        runs=tuple(
            ScheduledRun(getattr(run.action, "workflow_id", ""), format_time(run.started_at))
            for run in info.recent_actions
        ),
        skipped=info.num_actions_skipped_overlap,
    )


async def control(client: Client, name: str, action: Action, note: str | None = None) -> None:
    """Pause it, unpause it, delete it, or run it now or as soon as its current run is over."""
    handle = client.get_schedule_handle(name)
    async with _translate_errors(name):
        await _describe(client, name)
        with recorded(f"schedule {action}", name):
            match action:
                case "pause":
                    await handle.pause(note=note)
                case "unpause":
                    await handle.unpause()
                case "trigger":
                    await handle.trigger(overlap=ScheduleOverlapPolicy.BUFFER_ONE)
                case "delete":
                    await handle.delete()


async def _describe(client: Client, name: str) -> ScheduleDescription:
    description = await client.get_schedule_handle(name).describe()
    if not await is_visible(description):
        raise _not_found(name)
    return description


def _not_found(name: str) -> NotFoundError:
    return NotFoundError(
        f"There is no schedule {name}: `{COMMAND} schedule list` shows the existing ones."
    )


@asynccontextmanager
async def _translate_errors(name: str) -> AsyncIterator[None]:
    """Raise the server's errors as `ConsoleError` with a remedy."""
    try:
        yield
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise _not_found(name) from error
        if error.status is RPCStatusCode.INVALID_ARGUMENT:
            raise BadInputError(
                f"The server rejects this schedule: correct --cron, --time-zone or the name"
                f" ({error.message})."
            ) from error
        raise ConsoleError(f"The server does not answer ({error.message}): try again.") from error


async def _read_request(client: Client, description: ScheduleDescription) -> ResearchRequest | None:
    """The schedule's request; None if another version of the program wrote it."""
    try:
        values = await client.data_converter.decode(
            list(getattr(description.schedule.action, "args", ())), [ResearchRequest]
        )
    except ValidationError:
        return None
    return values[0] if values else None


def _summarize(entry: ScheduleListDescription) -> ScheduleRecord:
    info, schedule = entry.info, entry.schedule
    recent = info.recent_actions if info else ()
    upcoming = info.next_action_times if info else ()
    return ScheduleRecord(
        name=entry.id,
        paused=bool(schedule and schedule.state.paused),
        next=format_time(upcoming[0]) if upcoming else "",
        last=getattr(recent[-1].action, "workflow_id", "") if recent else "never",
    )
