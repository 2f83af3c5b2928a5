"""The commands that use checkpoints: checkpoints, restart, fork.

On a configured server, restart and fork return at once unless told to wait for the report. The
embedded server stops with its command, so there they always wait.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from console import client
from console.cli.options import RECOVER, From, JobId, Json, OutIfWanted, Wait, check_id, examples
from console.cli.run import (
    finish_job,
    follow_job,
    interruption_message,
    temporal_ui_link,
    warn_without_worker,
)
from console.client.job_options import new_job_id
from console.errors import COMMAND, BadInputError, ConsoleError, ExitCode
from console.formatting import message_stream, say

if TYPE_CHECKING:
    from console.client.jobs import Job
    from console.client.session import Session
    from workflows.config.settings import Settings

app = typer.Typer()


@app.command(rich_help_panel=RECOVER, epilog=examples("checkpoints x1"))
def checkpoints(job_id: JobId, as_json: Json = False) -> None:
    """List a job's checkpoints, from the store alone."""
    store = client.checkpoints.CheckpointStore(client.session.prepare_settings())
    found, faults = asyncio.run(store.load_all(job_id))
    if faults and not found:
        raise ConsoleError(faults[0])
    for fault in faults:
        say(fault, sys.stderr)
    if not found:
        raise BadInputError(
            f"The store has no checkpoint of a job {job_id}: `list` shows the jobs, and"
            " RESEARCH_STORE must name the workers' store."
        )
    rows = [
        client.checkpoints.summarize_checkpoint(checkpoint, state) for checkpoint, state in found
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    run_id = ""
    for row in rows:
        if row["run_id"] != run_id:
            run_id = row["run_id"]
            print(f"run {run_id}")
        spent = f"${row['usd']:.2f} {row['turns']:>5} turns"
        start = f"  {row['name']:<12} {row['at']:<20} {spent}  "
        say(row["holds"], first=start, then=" " * len(start))
    say(f"`{COMMAND} restart {job_id} --from NAME` or `fork {job_id} --from NAME` continues there.")


@app.command(
    rich_help_panel=RECOVER,
    epilog=examples(
        "restart x1 --from researched",
        "restart x1 --facet insurance",
        "restart --query 'ResearchStatus=\"blocked\"'",
    ),
)
def restart(
    job_id: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="The job's id.", show_default=False, callback=check_id),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("--query", metavar="Q", help="All jobs that this visibility query finds."),
    ] = None,
    name: From = None,
    facet: Annotated[
        str | None,
        typer.Option(
            "--facet", metavar="ID", help="Research this facet again, also of a complete job."
        ),
    ] = None,
    out: OutIfWanted = None,
    wait: Wait = False,
    as_json: Json = False,
) -> ExitCode:
    """Restart a job that failed, timed out, was cancelled or terminated, or is blocked.

    A run that is still open is closed first. Completed model turns are not paid again.
    """
    if (job_id is None) == (query is None):
        raise BadInputError("Which job? Give its ID, or --query for several.")
    if facet is not None and job_id is None:
        raise BadInputError("--facet names a facet of one job: give its ID instead of --query.")
    settings, folder, wait = prepare(out, wait)
    stream = message_stream(as_json)

    async def action(session: Session) -> ExitCode:
        store = client.checkpoints.CheckpointStore(settings)
        if job_id is not None:
            job = await _restart(session, store, job_id, name, stream, facet)
            return await follow_or_name(job, session, folder if wait else None, as_json)
        assert query is not None  # noqa: S101
        started, failed = await _restart_all(session, store, query, name, stream)
        for job in started:
            session.start_worker(job.id)
            try:
                await follow_or_name(job, session, folder / job.id if wait else None, as_json)
            except ConsoleError as error:
                failed += 1
                say(f"Error: {error}", sys.stderr)
            await session.stop_worker(job.id)
        return ExitCode.FAILED if failed else ExitCode.REPORT

    interrupted = interruption_message(settings, job_id or "ID", folder)
    return client.session.run(action, settings=settings, job_id=job_id, on_interrupt=interrupted)


@app.command(
    rich_help_panel=RECOVER,
    epilog=examples("fork x1 --from planned --set effort=deep --set budget_usd=20"),
)
def fork(
    job_id: JobId,
    name: From = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Another setting; repeatable."),
    ] = None,
    new_id: Annotated[
        str | None,
        typer.Option("--id", metavar="NEW", help="The new job's id.", callback=check_id),
    ] = None,
    out: OutIfWanted = None,
    wait: Wait = False,
    as_json: Json = False,
) -> ExitCode:
    """Start another job from a checkpoint of this one, with other settings.

    Settings: model, effort, max_passes, max_facets, max_claims, budget_usd,
    budget_tokens, parallel, subagent_seconds; for one role (see `roles`)
    model.ROLE and effort.ROLE.
    """
    changes = client.runs.parse_changes(assignments or [])
    new_job = new_id or new_job_id(f"{job_id[:150]}-fork")
    settings, folder, wait = prepare(out, wait)
    stream = message_stream(as_json)

    async def action(session: Session) -> ExitCode:
        store = client.checkpoints.CheckpointStore(settings)
        job, origin, limit = await client.runs.fork(
            session.client, store, job_id, name=name, changes=changes, new_id=new_job
        )
        if limit is not None:
            say(f"Spends at most ${limit:,.2f}: --set budget_usd=X changes it.", stream)
        text = (
            f"Job {new_job} continues from {job_id} at {origin.checkpoint}; earlier work is not"
            f" paid again. {temporal_ui_link(session, new_job)}"
        )
        say(text.rstrip(), stream)
        return await follow_or_name(job, session, folder if wait else None, as_json)

    interrupted = interruption_message(settings, new_job, folder)
    return client.session.run(action, settings=settings, job_id=new_job, on_interrupt=interrupted)


def prepare(out: Path | None, wait: bool) -> tuple[Settings, Path, bool]:
    """The settings, the report's folder, and whether to wait for the report."""
    settings = client.session.prepare_settings()
    wait = wait or out is not None or not settings.has_server
    folder = client.validation.check_writable(out or Path("out"), "--out") if wait else Path("out")
    return settings, folder, wait


async def _restart(
    session: Session,
    store: client.checkpoints.CheckpointStore,
    job_id: str,
    name: str | None,
    stream: TextIO,
    facet: str | None = None,
) -> Job:
    job, origin = await client.runs.restart(session.client, store, job_id, name, facet)
    for fault in origin.faults:
        say(fault, stream)
    spent = f" (${origin.state.spend.usd:.2f} spent before)" if origin.state else ""
    text = f"Job {job_id} restarts from {origin.checkpoint}{spent}."
    say(f"{text} {temporal_ui_link(session, job_id)}".rstrip(), stream)
    return job


async def _restart_all(
    session: Session,
    store: client.checkpoints.CheckpointStore,
    query: str,
    name: str | None,
    stream: TextIO,
) -> tuple[list[Job], int]:
    """The restarted jobs, and how many could not be restarted."""
    started: list[Job] = []
    failed = 0
    matches = await client.runs.find_runs(session.client, query)
    for job_id, run_ids in sorted(matches.items()):
        description = await client.jobs.describe(session.client, job_id)
        if description is None or description.run_id not in run_ids:
            say(f"Job {job_id} has a newer run and is skipped.", stream)
            continue
        try:
            started.append(await _restart(session, store, job_id, name, stream))
        except ConsoleError as error:
            failed += 1
            say(f"Error: {error}", sys.stderr)
    say(f"{len(started)} of {len(matches)} jobs restarted.", stream)
    return started, failed


async def follow_or_name(job: Job, session: Session, out: Path | None, as_json: bool) -> ExitCode:
    """Follow the job and write its report to `out`; without `out` only name the commands."""
    stream = message_stream(as_json)
    await warn_without_worker(session, stream)
    if out is not None:
        return finish_job(await follow_job(job, session, stream), out, stream, as_json=as_json)
    say(f"`{COMMAND} watch {job.id}` shows it; `result {job.id}` writes the report.", stream)
    if as_json:
        print(json.dumps({"id": job.id, "found": job.found}))
    return ExitCode.REPORT
