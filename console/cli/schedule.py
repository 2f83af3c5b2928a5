"""The `schedule` commands: research that repeats, and reports what changed since the last run.

A schedule lives on a Temporal server that keeps running. Each run is a job of its own, named after
the schedule and the time.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from console import client
from console.cli.options import HelpGroup, Json, examples, with_job_options
from console.client.job_options import JobOptions
from console.errors import COMMAND, BadInputError, ConsoleError, ExitCode
from console.formatting import message_stream

if TYPE_CHECKING:
    from temporalio.client import (
        ScheduleDescription,
        ScheduleHandle,
        ScheduleListDescription,
        ScheduleSpec,
    )

    from console.client.session import Session
    from workflows.config.settings import Settings
    from workflows.contracts.request import ResearchRequest

_WHEN = "When"
# After an outage: runs missed longer ago than this are skipped.
_CATCH_UP = timedelta(hours=12)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The schedule's name.", show_default=False)
]

app = typer.Typer(
    cls=HelpGroup,
    help="Repeat research on a schedule; each report lists what changed since the last run.",
    no_args_is_help=True,
)


@app.command(
    epilog=examples(
        'schedule create weekly "What is new on X?" --web --every 7d',
        'schedule create x "News on X?" --web --cron "0 6 * * *"',
    )
)
@with_job_options
def create(
    options: JobOptions,
    name: Name,
    every: Annotated[
        str | None,
        typer.Option("--every", metavar="TIME", help="7d, 24h or 90m.", rich_help_panel=_WHEN),
    ] = None,
    cron: Annotated[
        str | None,
        typer.Option(
            "--cron",
            metavar="EXPR",
            help='As in a crontab: "0 6 * * 1-5" is 6:00 on weekdays.',
            rich_help_panel=_WHEN,
        ),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            "--time-zone",
            metavar="NAME",
            help="For --cron, such as Europe/Berlin; UTC by default.",
            rich_help_panel=_WHEN,
        ),
    ] = None,
    as_json: Json = False,
) -> ExitCode:
    """Create a schedule on a configured server. Its runs never overlap."""
    from console.cli.run import warn_without_worker
    from workflows.contracts.request import TASK_QUEUE
    from workflows.rules.status import describe_request

    settings, name = _require_server(), client.validation.check_job_id(name)
    request = client.research_request.build_request(options, settings).model_copy(
        update={"report_changes": True}
    )
    client.session.check_job_files(settings)
    spec = _build_spec(every, cron, zone)

    async def action(session: Session) -> ExitCode:
        nonlocal request
        store_id = await client.checkpoints.CheckpointStore(settings).identify()
        from temporalio.client import (
            Schedule,
            ScheduleActionStartWorkflow,
            ScheduleAlreadyRunningError,
            ScheduleOverlapPolicy,
            SchedulePolicy,
        )

        request = await client.corpora.publish_for(request, settings)
        if request.corpus is not None:
            # Every run reads the newest version at its time.
            corpus = request.corpus.partition("@")[0]
            request = request.model_copy(update={"corpus": corpus})
        schedule = Schedule(
            action=ScheduleActionStartWorkflow(
                client.jobs.WORKFLOW,
                request.model_copy(update={"store_id": store_id}),
                id=name,
                task_queue=TASK_QUEUE,
                task_timeout=settings.pace.task,
                **describe_request(request),
            ),
            spec=spec,
            policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=_CATCH_UP),
        )
        async with _translate_errors(name):
            try:
                handle = await session.client.create_schedule(name, schedule)
            except ScheduleAlreadyRunningError:
                raise BadInputError(
                    f"There is already a schedule {name}: choose another name, or"
                    f" `{COMMAND} schedule delete {name}` first."
                ) from None
            description = await handle.describe()
        stream = message_stream(as_json)
        if cost := client.research_request.describe_budget(
            request, by_default=options.budget_usd is None
        ):
            print(f"Each run: {cost}", file=stream)
        if request.corpus is not None:
            print(await client.corpora.describe_refresh(settings, request.corpus), file=stream)
        first = _next_run(description)
        print(f"The schedule {name} is created; its first run is {first}.", file=stream)
        print(
            f"`{COMMAND} schedule trigger {name}` runs it now; `schedule show {name}` shows it.",
            file=stream,
        )
        await warn_without_worker(session, stream)
        if as_json:
            print(json.dumps({"name": name, "command": "create", "next": first}))
        return ExitCode.REPORT

    return client.session.run(action, settings=settings)


@app.command(name="list", epilog=examples("schedule list --json"))
def list_schedules(as_json: Json = False) -> ExitCode:
    """List the schedules, with their next and last runs."""

    async def action(session: Session) -> ExitCode:
        rows = []
        async with _translate_errors(""):
            async for entry in await session.client.list_schedules():
                started = entry.schedule.action if entry.schedule else None
                if getattr(started, "workflow", None) == client.jobs.WORKFLOW:
                    rows.append(_summarize(entry))
        if as_json:
            print(json.dumps(rows, indent=2))
            return ExitCode.REPORT
        for row in rows:
            state = "paused" if row["paused"] else f"next {row['next']}"
            print(f"{row['name']:<30} {state:<28} last {row['last']}")
        if not rows:
            print(f"No schedules: `{COMMAND} schedule create NAME QUESTION` creates one.")
        return ExitCode.REPORT

    return client.session.run(action, settings=_require_server())


@app.command(epilog=examples("schedule show weekly"))
def show(name: Name, as_json: Json = False) -> ExitCode:
    """Show a schedule's question, its next run and its last runs."""

    async def action(session: Session) -> ExitCode:
        async with _translate_errors(name):
            description = await session.client.get_schedule_handle(name).describe()
            request = await _read_request(session, description)
        runs = [
            {
                "id": getattr(run.action, "workflow_id", ""),
                "at": client.job_list.format_time(run.started_at),
            }
            for run in description.info.recent_actions
        ]
        fields: dict[str, Any] = {
            "name": name,
            "question": request.question if request else "",
            "paused": description.schedule.state.paused,
            "note": description.schedule.state.note or "",
            "next": _next_run(description),
            "runs": runs,
            "skipped": description.info.num_actions_skipped_overlap,
        }
        if as_json:
            print(json.dumps(fields, indent=2))
            return ExitCode.REPORT
        print(f"{name}: {fields['question']}")
        print("paused" if fields["paused"] else f"next run: {fields['next']}")
        if fields["skipped"]:
            print(f"skipped because the previous run was not over: {fields['skipped']}")
        for run in runs:
            print(f"  {run['at']}  {run['id']}")
        if runs:
            print(f"`{COMMAND} result {runs[-1]['id']}` writes the report, with what changed.")
        return ExitCode.REPORT

    return client.session.run(action, settings=_require_server())


@app.command(epilog=examples('schedule pause weekly --note "until the vote"'))
def pause(
    name: Name,
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Why.")] = None,
    as_json: Json = False,
) -> ExitCode:
    """Pause a schedule: it starts nothing until it is unpaused."""
    done = f"The schedule {name} is paused."
    return _call(name, "pause", lambda handle: handle.pause(note=note), done, as_json=as_json)


@app.command(epilog=examples("schedule unpause weekly"))
def unpause(name: Name, as_json: Json = False) -> ExitCode:
    """Continue a paused schedule."""
    done = f"The schedule {name} continues."
    return _call(name, "unpause", lambda handle: handle.unpause(), done, as_json=as_json)


@app.command(epilog=examples("schedule trigger weekly"))
def trigger(name: Name, as_json: Json = False) -> ExitCode:
    """Run a schedule now, or as soon as its current run is over."""

    async def run_now(handle: ScheduleHandle) -> None:
        from temporalio.client import ScheduleOverlapPolicy

        await handle.trigger(overlap=ScheduleOverlapPolicy.BUFFER_ONE)

    done = f"{name} runs now, or after its current run: `{COMMAND} schedule show {name}` names it."
    return _call(name, "trigger", run_now, done, as_json=as_json)


@app.command(epilog=examples("schedule delete weekly"))
def delete(name: Name, as_json: Json = False) -> ExitCode:
    """Delete a schedule. Its jobs stay."""
    done = f"The schedule {name} is deleted; its jobs stay, and a running one continues."
    return _call(name, "delete", lambda handle: handle.delete(), done, as_json=as_json)


def _call(
    name: str,
    command: str,
    call: Callable[[ScheduleHandle], Awaitable[None]],
    done: str,
    *,
    as_json: bool,
) -> ExitCode:
    async def action(session: Session) -> ExitCode:
        async with _translate_errors(name):
            await call(session.client.get_schedule_handle(name))
        print(json.dumps({"name": name, "command": command}) if as_json else done)
        return ExitCode.REPORT

    return client.session.run(action, settings=_require_server())


def _require_server() -> Settings:
    settings = client.session.read_settings()
    if not settings.has_server:
        raise BadInputError(
            "`schedule` needs a Temporal server that keeps running: set TEMPORAL_ADDRESS, and start"
            " a worker there with `python worker.py`."
        )
    return client.validation.prepare_folders(settings)


def _build_spec(every: str | None, cron: str | None, zone: str | None) -> ScheduleSpec:
    from temporalio.client import ScheduleIntervalSpec, ScheduleSpec

    if (every is None) == (cron is None):
        raise BadInputError('Say when: with --every 24h, or with --cron "0 6 * * 1-5"; not both.')
    if cron is not None:
        return ScheduleSpec(cron_expressions=[cron], time_zone_name=zone)
    if zone is not None:
        raise BadInputError("--time-zone belongs to --cron: omit it with --every.")
    seconds = client.research_request.parse_duration(every or "", "--every", 366)
    return ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(seconds=seconds))])


@asynccontextmanager
async def _translate_errors(name: str) -> AsyncIterator[None]:
    """Raise the server's errors as `ConsoleError` with a remedy."""
    from temporalio.service import RPCError, RPCStatusCode

    try:
        yield
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise BadInputError(
                f"There is no schedule {name}: `{COMMAND} schedule list` shows the existing ones."
            ) from error
        if error.status is RPCStatusCode.INVALID_ARGUMENT:
            raise BadInputError(
                f"The server rejects this schedule: correct --cron, --time-zone or the name"
                f" ({error.message})."
            ) from error
        raise ConsoleError(f"The server does not answer ({error.message}): try again.") from error


async def _read_request(
    session: Session, description: ScheduleDescription
) -> ResearchRequest | None:
    """The schedule's request; None if another version of the program wrote it."""
    from pydantic import ValidationError

    from workflows.contracts.request import ResearchRequest

    try:
        values = await session.client.data_converter.decode(
            list(getattr(description.schedule.action, "args", ())), [ResearchRequest]
        )
    except ValidationError:
        return None
    return values[0] if values else None


def _summarize(entry: ScheduleListDescription) -> dict[str, Any]:
    info, schedule = entry.info, entry.schedule
    recent = info.recent_actions if info else ()
    upcoming = info.next_action_times if info else ()
    return {
        "name": entry.id,
        "paused": bool(schedule and schedule.state.paused),
        "next": client.job_list.format_time(upcoming[0]) if upcoming else "",
        "last": getattr(recent[-1].action, "workflow_id", "") if recent else "never",
    }


def _next_run(description: ScheduleDescription) -> str:
    upcoming = description.info.next_action_times
    return (
        f"at {client.job_list.format_time(upcoming[0])}"
        if upcoming
        else "never: the schedule has no more runs"
    )
