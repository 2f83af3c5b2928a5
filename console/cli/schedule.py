"""The `schedule` commands: research that repeats, and reports what changed since the last run.

A schedule lives on a Temporal server that keeps running. Each run is a job of its own, named after
the schedule and the time.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from console import client
from console.cli.options import HelpGroup, Json, check_id, examples, with_job_options
from console.client.job_options import JobOptions
from console.errors import COMMAND, ExitCode
from console.formatting import message_stream

if TYPE_CHECKING:
    from console.client.schedules import Action, ScheduleDetails
    from console.client.session import Session
    from workflows.config.settings import Settings

_when = partial(typer.Option, rich_help_panel="When")

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The schedule's name.", show_default=False, callback=check_id
    ),
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
    every: Annotated[str | None, _when(metavar="TIME", help="7d, 24h or 90m.")] = None,
    cron: Annotated[
        str | None,
        _when(metavar="EXPR", help='As in a crontab: "0 6 * * 1-5" is 6:00 on weekdays.'),
    ] = None,
    zone: Annotated[
        str | None,
        _when(
            "--time-zone",
            metavar="NAME",
            help="For --cron, such as Europe/Berlin; UTC by default.",
        ),
    ] = None,
    as_json: Json = False,
) -> ExitCode:
    """Create a schedule on a configured server. Its runs never overlap."""
    from console.cli.run import warn_without_worker

    settings = _read_settings()
    request = client.research_request.build_request(options, settings)
    client.session.check_job_files(settings)
    spec = client.schedules.build_spec(every, cron, zone)

    async def action(session: Session) -> None:
        created = await client.schedules.create(session.client, settings, name, request, spec)
        stream = message_stream(as_json)
        if cost := client.research_request.describe_budget(
            request, by_default=options.budget_usd is None
        ):
            print(f"Each run: {cost}", file=stream)
        if created.corpus:
            print(await client.corpora.describe_refresh(settings, created.corpus), file=stream)
        first = _describe_next(created)
        print(f"The schedule {name} is created; its first run is {first}.", file=stream)
        print(
            f"`{COMMAND} schedule trigger {name}` runs it now; `schedule show {name}` shows it.",
            file=stream,
        )
        await warn_without_worker(session, stream)
        if as_json:
            print(json.dumps({"name": name, "command": "create", "next": first}))

    return client.session.run(action, settings=settings)


@app.command(name="list", epilog=examples("schedule list --json"))
def list_schedules(as_json: Json = False) -> ExitCode:
    """List the schedules, with their next and last runs."""

    async def action(session: Session) -> None:
        rows = await client.schedules.list_all(session.client)
        if as_json:
            print(json.dumps([asdict(row) for row in rows], indent=2))
            return
        for row in rows:
            state = "paused" if row.paused else f"next {row.next}"
            print(f"{row.name:<30} {state:<28} last {row.last}")
        if not rows:
            print(f"No schedules: `{COMMAND} schedule create NAME QUESTION` creates one.")

    return client.session.run(action, settings=_read_settings())


@app.command(epilog=examples("schedule show weekly"))
def show(name: Name, as_json: Json = False) -> ExitCode:
    """Show a schedule's question, its next run and its last runs."""

    async def action(session: Session) -> None:
        found = await client.schedules.find(session.client, name)
        if as_json:
            print(json.dumps(asdict(found) | {"next": _describe_next(found)}, indent=2))
            return
        print(f"{name}: {found.question}")
        print("paused" if found.paused else f"next run: {_describe_next(found)}")
        if found.skipped:
            print(f"skipped because the previous run was not over: {found.skipped}")
        for run in found.runs:
            print(f"  {run.at}  {run.id}")
        if found.runs:
            print(f"`{COMMAND} result {found.runs[-1].id}` writes the report, with what changed.")

    return client.session.run(action, settings=_read_settings())


@app.command(epilog=examples('schedule pause weekly --note "until the vote"'))
def pause(
    name: Name,
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Why.")] = None,
    as_json: Json = False,
) -> ExitCode:
    """Pause a schedule: it starts nothing until it is unpaused."""
    return _control(name, "pause", f"The schedule {name} is paused.", note, as_json=as_json)


@app.command(epilog=examples("schedule unpause weekly"))
def unpause(name: Name, as_json: Json = False) -> ExitCode:
    """Continue a paused schedule."""
    return _control(name, "unpause", f"The schedule {name} continues.", as_json=as_json)


@app.command(epilog=examples("schedule trigger weekly"))
def trigger(name: Name, as_json: Json = False) -> ExitCode:
    """Run a schedule now, or as soon as its current run is over."""
    done = f"{name} runs now, or after its current run: `{COMMAND} schedule show {name}` names it."
    return _control(name, "trigger", done, as_json=as_json)


@app.command(epilog=examples("schedule delete weekly"))
def delete(name: Name, as_json: Json = False) -> ExitCode:
    """Delete a schedule. Its jobs stay."""
    done = f"The schedule {name} is deleted; its jobs stay, and a running one continues."
    return _control(name, "delete", done, as_json=as_json)


def _control(
    name: str, action: Action, done: str, note: str | None = None, *, as_json: bool
) -> ExitCode:
    async def send(session: Session) -> None:
        await client.schedules.control(session.client, name, action, note)
        print(json.dumps({"name": name, "command": action}) if as_json else done)

    return client.session.run(send, settings=_read_settings())


def _read_settings() -> Settings:
    settings = client.schedules.require_server(client.session.read_settings())
    return client.validation.prepare_folders(settings)


def _describe_next(schedule: ScheduleDetails) -> str:
    return f"at {schedule.next}" if schedule.next else "never: the schedule has no more runs"
