"""What the `schedule` commands do: research that is asked again and again, and says what changed.

A schedule lives on a Temporal server that goes on without this command. Each of its runs is a job
of its own, called after the schedule and the time; `result` writes its report as any other's.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from console import checks, wishes
from console.faults import COMMAND, BadInputError, ConsoleError, ExitCode
from console.session import Session, current_settings, visit
from console.wishes import Wish
from workflows.config.policies import WORKFLOW_TASK_TIMEOUT
from workflows.config.settings import Settings
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.rules.status import describe_request

if TYPE_CHECKING:
    from temporalio.client import (
        Client,
        ScheduleDescription,
        ScheduleHandle,
        ScheduleListDescription,
        ScheduleSpec,
    )

_EVERY = re.compile(r"(\d{1,6})([dhm])")
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}
_LONGEST = timedelta(days=366)
# After an outage: what was missed longer ago than this is not made up for.
_CATCH_UP = timedelta(hours=12)


def create(
    name: str,
    wish: Wish,
    *,
    every: str | None,
    cron: str | None,
    zone: str | None,
    as_json: bool = False,
) -> ExitCode:
    """Make a schedule. Its runs never overlap: while one works, or waits, the next is left out."""
    settings, name = _on_a_server(), checks.job_id(name)
    request = wishes.request(wish, settings).model_copy(update={"report_changes": True})

    async def go(client: Client, desk: Session) -> ExitCode:
        from temporalio.client import (
            Schedule,
            ScheduleActionStartWorkflow,
            ScheduleAlreadyRunningError,
            ScheduleOverlapPolicy,
            SchedulePolicy,
        )

        from console.desk import warn_without_worker
        from console.jobs import WORKFLOW

        schedule = Schedule(
            action=ScheduleActionStartWorkflow(
                WORKFLOW,
                request,
                id=name,
                task_queue=TASK_QUEUE,
                task_timeout=WORKFLOW_TASK_TIMEOUT,
                **describe_request(request),
            ),
            spec=_spec(every, cron, zone),
            policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=_CATCH_UP),
        )
        async with _plainly(name):
            try:
                handle = await client.create_schedule(name, schedule)
            except ScheduleAlreadyRunningError:
                raise BadInputError(
                    f"There is a schedule {name} already: choose another name, or"
                    f" `{COMMAND} schedule delete {name}` first."
                ) from None
            about = await handle.describe()
        stream = sys.stderr if as_json else sys.stdout
        if cost := wishes.spending(request, by_default=wish.budget_usd is None):
            print(f"Each run: {cost}", file=stream)
        print(f"The schedule {name} is made; its first run is {_next(about)}.", file=stream)
        then = f"`{COMMAND} schedule trigger {name}` runs it now; `schedule show {name}` shows it."
        print(then, file=stream)
        await warn_without_worker(client, desk, stream)
        if as_json:
            print(json.dumps({"name": name, "command": "create", "next": _next(about)}))
        return ExitCode.REPORT

    _spec(every, cron, zone)  # what is wrong with it is said before a server is asked
    return visit(go, settings=settings)


def list_schedules(*, as_json: bool = False) -> ExitCode:
    async def go(client: Client, _desk: Session) -> ExitCode:
        from temporalio.client import ScheduleListActionStartWorkflow

        from console.jobs import WORKFLOW

        rows = []
        async with _plainly(""):
            async for entry in await client.list_schedules():
                action = entry.schedule.action if entry.schedule else None
                known = isinstance(action, ScheduleListActionStartWorkflow)
                if known and action.workflow == WORKFLOW:  # type: ignore[union-attr]
                    rows.append(_row(entry))
        if as_json:
            print(json.dumps(rows, indent=2))
        for row in rows if not as_json else ():
            state = "paused" if row["paused"] else f"next {row['next']}"
            print(f"{row['name']:<30} {state:<28} last {row['last']}")
        if not rows and not as_json:
            print(f"There is no schedule: `{COMMAND} schedule create NAME QUESTION` makes one.")
        return ExitCode.REPORT

    return visit(go, settings=_on_a_server())


def show(name: str, *, as_json: bool = False) -> ExitCode:
    async def go(client: Client, _desk: Session) -> ExitCode:
        async with _plainly(name):
            about = await client.get_schedule_handle(name).describe()
            request = await _request(client, about)
        runs = [
            {"id": getattr(run.action, "workflow_id", ""), "at": _time(run.started_at)}
            for run in about.info.recent_actions
        ]
        shown: dict[str, Any] = {
            "name": name,
            "question": request.question if request else "",
            "paused": about.schedule.state.paused,
            "note": about.schedule.state.note or "",
            "next": _next(about),
            "runs": runs,
            "skipped": about.info.num_actions_skipped_overlap,
        }
        if as_json:
            print(json.dumps(shown, indent=2))
            return ExitCode.REPORT
        print(f"{name}: {shown['question']}")
        print("paused" if shown["paused"] else f"next run: {shown['next']}")
        if shown["skipped"]:
            print(f"left out, because the run before was not over: {shown['skipped']}")
        for run in runs:
            print(f"  {run['at']}  {run['id']}")
        if runs:
            print(f"`{COMMAND} result {runs[-1]['id']}` writes the report, with what changed.")
        return ExitCode.REPORT

    return visit(go, settings=_on_a_server())


def pause(name: str, note: str | None, *, as_json: bool = False) -> ExitCode:
    said = f"The schedule {name} is paused."
    return _tell(name, "pause", lambda handle: handle.pause(note=note), said, as_json=as_json)


def unpause(name: str, *, as_json: bool = False) -> ExitCode:
    said = f"The schedule {name} goes on."
    return _tell(name, "unpause", lambda handle: handle.unpause(), said, as_json=as_json)


def trigger(name: str, *, as_json: bool = False) -> ExitCode:
    """A run now, or as soon as the one that works is over."""

    async def now(handle: ScheduleHandle) -> None:
        from temporalio.client import ScheduleOverlapPolicy

        await handle.trigger(overlap=ScheduleOverlapPolicy.BUFFER_ONE)

    said = f"{name} runs now, or after its last run: `{COMMAND} schedule show {name}` names it."
    return _tell(name, "trigger", now, said, as_json=as_json)


def delete(name: str, *, as_json: bool = False) -> ExitCode:
    said = f"The schedule {name} is deleted; its jobs stay, and one that runs goes on."
    return _tell(name, "delete", lambda handle: handle.delete(), said, as_json=as_json)


def _tell(
    name: str,
    command: str,
    word: Callable[[ScheduleHandle], Awaitable[None]],
    said: str,
    *,
    as_json: bool,
) -> ExitCode:
    async def go(client: Client, _desk: Session) -> ExitCode:
        async with _plainly(name):
            await word(client.get_schedule_handle(name))
        print(json.dumps({"name": name, "command": command}) if as_json else said)
        return ExitCode.REPORT

    return visit(go, settings=_on_a_server())


def _on_a_server() -> Settings:
    settings = current_settings()
    if not settings.has_server:
        raise BadInputError(
            "`schedule` needs a Temporal server that goes on without this command: set"
            " TEMPORAL_ADDRESS, and start a worker there with `python worker.py`."
        )
    return checks.local_settings(settings)


def _spec(every: str | None, cron: str | None, zone: str | None) -> ScheduleSpec:
    from temporalio.client import ScheduleIntervalSpec, ScheduleSpec

    if (every is None) == (cron is None):
        raise BadInputError('Say when: with --every 24h, or with --cron "0 6 * * 1-5"; not both.')
    if cron is not None:
        return ScheduleSpec(cron_expressions=[cron], time_zone_name=zone)
    if zone is not None:
        raise BadInputError("--time-zone is for --cron: leave it out with --every.")
    return ScheduleSpec(intervals=[ScheduleIntervalSpec(every=_interval(every or ""))])


def _interval(text: str) -> timedelta:
    match = _EVERY.fullmatch(text.strip().lower())
    span = timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else timedelta()
    if not timedelta() < span <= _LONGEST:
        raise BadInputError(f"--every {text!r} is not a time: write it as 7d, 24h or 90m.")
    return span


@asynccontextmanager
async def _plainly(name: str) -> AsyncIterator[None]:
    """What the server refuses, in a sentence with its remedy."""
    from temporalio.service import RPCError, RPCStatusCode

    try:
        yield
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise BadInputError(
                f"There is no schedule {name}: `{COMMAND} schedule list` shows the ones there are."
            ) from error
        if error.status is RPCStatusCode.INVALID_ARGUMENT:
            raise BadInputError(
                f"The server does not take this schedule: correct --cron, --time-zone or the name"
                f" ({error.message})."
            ) from error
        raise ConsoleError(f"The server does not answer ({error.message}): try again.") from error


async def _request(client: Client, about: ScheduleDescription) -> ResearchRequest | None:
    """What the schedule asks; None where another version wrote it."""
    from pydantic import ValidationError

    try:
        values = await client.data_converter.decode(
            list(getattr(about.schedule.action, "args", ())), [ResearchRequest]
        )
    except ValidationError:
        return None
    return values[0] if values else None


def _row(entry: ScheduleListDescription) -> dict[str, Any]:
    info, schedule = entry.info, entry.schedule
    recent = info.recent_actions if info else ()
    upcoming = info.next_action_times if info else ()
    return {
        "name": entry.id,
        "paused": bool(schedule and schedule.state.paused),
        "next": _time(upcoming[0]) if upcoming else "",
        "last": getattr(recent[-1].action, "workflow_id", "") if recent else "never",
    }


def _next(about: ScheduleDescription) -> str:
    upcoming = about.info.next_action_times
    return f"at {_time(upcoming[0])}" if upcoming else "never: its times are over"


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%SZ}"
