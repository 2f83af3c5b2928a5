"""The commands that start a job or follow it to its end: run, start, watch, resume."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from console import client
from console.cli.control import ask_approval, ask_back
from console.cli.options import (
    ASK,
    CONTROL,
    INSPECT,
    Estimate,
    FailOnGaps,
    Formats,
    JobId,
    Json,
    LocalModel,
    NewId,
    Out,
    examples,
    with_job_options,
)
from console.client.job_options import JobOptions, new_job_id
from console.errors import COMMAND, BadInputError, ConsoleError, ExitCode
from console.formatting import message_stream, say

if TYPE_CHECKING:
    from console.client.jobs import Job
    from console.client.session import Session
    from workflows.config.settings import Settings
    from workflows.contracts.request import ResearchRequest
    from workflows.contracts.result import ResearchResult

# How long a command waits for the webhook's receiver at its end.
_DELIVERY_SECONDS = 30.0

app = typer.Typer()


@app.command(
    rich_help_panel=ASK,
    epilog=examples(
        'run "What is known about X?" --corpus documents',
        'run "Compare A and B" --web --effort deep --budget-usd 10',
        'run "What is known about X?" --corpus documents --approve',
    ),
)
@with_job_options
def run(
    options: JobOptions,
    job_id: NewId = None,
    out: Out = Path("out"),
    formats: Formats = None,
    fail_on_gaps: FailOnGaps = False,
    as_json: Json = False,
    local_model: LocalModel = None,
    estimate: Estimate = False,
) -> ExitCode:
    """Research a question and write report.md, report.html and report.json, or other formats.

    Exit codes: 0 a report was written, 1 failed or blocked, 2 bad input,
    3 gaps are left (with --fail-on-gaps), 4 nothing was found.
    """
    if local_model is not None:
        # The worker of this command reads it from there.
        file = client.validation.check_local_model(local_model)
        os.environ["RESEARCH_LOCAL_MODEL"] = str(file)
    settings, request, job_id = _prepare(options, job_id)
    out = client.validation.check_writable(out, "--out")
    stream = message_stream(as_json)
    _announce(stream, options, request, settings)
    if estimate:
        return client.session.run(partial(_estimate, request=request), settings=settings)

    async def action(session: Session) -> ExitCode:
        job = await _begin(session, job_id, request, stream)
        result = await follow_job(job, session, stream, unblock=job.found == "running")
        # On the embedded server the worker of this command delivers the messages.
        if (
            request.webhook
            and session.server is not None
            and not await client.job_list.wait_for_deliveries(
                session.client, job_id, _DELIVERY_SECONDS
            )
        ):
            say("The webhook has not accepted every message; the rest is not sent.", stream)
        return finish_job(
            result, out, stream, formats=formats, fail_on_gaps=fail_on_gaps, as_json=as_json
        )

    interrupted = interruption_message(settings, job_id, out)
    return client.session.run(action, settings=settings, job_id=job_id, on_interrupt=interrupted)


@app.command(
    rich_help_panel=ASK,
    epilog=examples('start "What is known about X?" --web'),
)
@with_job_options
def start(options: JobOptions, job_id: NewId = None, as_json: Json = False) -> ExitCode:
    """Start a job on a configured server and return at once."""
    if not client.session.read_settings().has_server:
        # The embedded server stops with its command.
        raise BadInputError(
            "`start` needs a Temporal server that keeps running: set TEMPORAL_ADDRESS, or use"
            " `run`."
        )
    settings, request, job_id = _prepare(options, job_id)
    stream = message_stream(as_json)
    _announce(stream, options, request, settings)

    async def action(session: Session) -> None:
        job = await _begin(session, job_id, request, stream)
        say(f"`{COMMAND} watch {job_id}` shows it; `result {job_id}` writes the report.", stream)
        if request.approval is not None and job.found == "new":
            say(
                f"`{COMMAND} plan {job_id}` shows the plan; `approve {job_id}` approves it.", stream
            )
        if as_json:
            print(json.dumps({"id": job_id, "found": job.found}))

    interrupted = interruption_message(settings, job_id)
    return client.session.run(action, settings=settings, on_interrupt=interrupted)


@app.command(rich_help_panel=INSPECT, epilog=examples("watch x1", "watch x1 --json > result.json"))
def watch(job_id: JobId, as_json: Json = False) -> ExitCode:
    """Show a job until it ends; on the embedded server also run its worker."""
    from console.live.view import summarize

    stream = message_stream(as_json)
    settings = client.session.prepare_settings()

    async def action(session: Session) -> ExitCode:
        job, _ = await client.jobs.find(session.client, job_id)
        await warn_without_worker(session, stream)
        result = await follow_job(job, session, stream)
        say(summarize(result), stream)
        say(f"`{COMMAND} result {job_id}` writes the report.", stream)
        found = result.status != "nothing_found"
        code = ExitCode.REPORT if found else ExitCode.NOTHING_FOUND
        if as_json:
            _print_result(result, code)
        return code

    interrupted = interruption_message(settings, job_id)
    return client.session.run(action, settings=settings, job_id=job_id, on_interrupt=interrupted)


@app.command(rich_help_panel=CONTROL, epilog=examples("resume x1"))
def resume(job_id: JobId, out: Out = Path("out"), as_json: Json = False) -> ExitCode:
    """Continue a job that is blocked, paused or unfinished."""
    from workflows.contracts.messages import Resume

    stream = message_stream(as_json)
    settings = client.session.prepare_settings()
    if not settings.has_server:
        out = client.validation.check_writable(out, "--out")
    begun = datetime.now(UTC)

    async def action(session: Session) -> ExitCode:
        # The worker of this command may have ended the job by now.
        job = await client.jobs.find_running(session.client, job_id, since=begun)
        await list_stopped_jobs(session, job_id, stream)
        if session.server is not None:
            result = await follow_job(job, session, stream, unblock=True)
            return finish_job(result, out, stream, as_json=as_json)
        update = client.jobs.send_update(job, "resume", Resume())
        answer, _ = await session.wait_for_worker(update, job_id)
        say(f"The job {job_id} continues: `{COMMAND} watch {job_id}` shows it.", stream)
        if as_json:
            print(json.dumps({"id": job_id, "command": "resume", "answer": answer}))
        return ExitCode.REPORT

    interrupted = interruption_message(settings, job_id, out)
    return client.session.run(action, settings=settings, job_id=job_id, on_interrupt=interrupted)


def interruption_message(settings: Settings, job_id: str, out: Path = Path("out")) -> str:
    """The message after Ctrl-C."""
    if settings.has_server:
        return f"\nThe job continues on its server: `{COMMAND} watch {job_id}` shows it."
    option = "" if out.resolve() == Path("out").resolve() else f" --out {out}"
    resume = f"{COMMAND} resume {job_id}{option}"
    return f"\nStopped; completed work is kept. `{resume}` continues the job."


async def follow_job(
    job: Job, session: Session, stream: TextIO, *, unblock: bool = False
) -> ResearchResult:
    """Show the job until its result. Raises `ConsoleError` if it is blocked."""
    from console.live.view import follow, open_view
    from workflows.contracts.result import ResearchResult

    asks = ask_approval if sys.stdin.isatty() and stream.isatty() else None
    with open_view(stream) as view:
        ended = await follow(
            job, view, session.workers.get(job.id), unblock=unblock, ask_approval=asks
        )
    if isinstance(ended, ResearchResult):
        return ended
    assert ended.blocked is not None  # noqa: S101
    raise ConsoleError(
        f"The job {job.id} is blocked at {ended.blocked.step}: {ended.blocked.reason}\n"
        f"{ended.blocked.remedy} Then: `{COMMAND} resume {job.id}`."
    )


def finish_job(
    result: ResearchResult,
    out: Path,
    stream: TextIO,
    *,
    formats: Sequence[str] | None = None,
    fail_on_gaps: bool = False,
    as_json: bool = False,
) -> ExitCode:
    """Write the report's files, print where they are, and return the exit code."""
    from console.live.view import summarize
    from console.report.formats import USUAL, write_report

    files = write_report(result, out, formats or USUAL)
    unclosed = [gap for gap in result.gaps if gap.status != "closed"]
    code = ExitCode.GAPS if fail_on_gaps and unclosed else ExitCode.REPORT
    if result.status == "nothing_found":
        code = ExitCode.NOTHING_FOUND
        say("Nothing was found on this question; the report lists what was tried.", stream)
    for file in files:
        say(str(file), stream)
    say(summarize(result), stream)
    if as_json:
        _print_result(result, code, files=[str(file) for file in files])
    return code


def temporal_ui_link(session: Session, job_id: str) -> str:
    if session.server is None:
        return ""
    return f"Temporal UI: {session.server.web}/namespaces/default/workflows/{job_id}"


async def list_stopped_jobs(session: Session, job_id: str, stream: TextIO) -> None:
    """Name the unfinished jobs of the embedded server that this command does not continue."""
    if session.server is None:
        return
    stopped = await client.job_list.list_stopped(session.client, job_id)
    if stopped:
        jobs = f"{len(stopped)} unfinished job{'s stay' if len(stopped) > 1 else ' stays'} stopped"
        say(f"{jobs}: {', '.join(stopped)}; `{COMMAND} resume ID` continues one.", stream)


async def warn_without_worker(session: Session, stream: TextIO) -> None:
    from workflows.contracts.request import TASK_QUEUE

    if session.server is None and not await client.jobs.has_worker(session.client):
        say(
            f"No worker polls the task queue {TASK_QUEUE!r} yet: start one with `python worker.py`"
            " and the same TEMPORAL_* settings.",
            stream,
        )


def _prepare(options: JobOptions, job_id: str | None) -> tuple[Settings, ResearchRequest, str]:
    """Validate everything before anything is started."""
    from activities.storage.corpus_versions import is_source, split_version

    settings = client.session.read_settings()
    request = client.research_request.build_request(options, settings)
    client.session.check_job_files(settings)
    settings = client.validation.prepare_folders(settings)
    if request.corpus and not is_source(request.corpus):
        asyncio.run(client.corpora.find(settings, split_version(request.corpus)[0]))
    return settings, request, job_id or new_job_id()


async def _begin(session: Session, job_id: str, request: ResearchRequest, stream: TextIO) -> Job:
    await list_stopped_jobs(session, job_id, stream)
    checkpoints = client.checkpoints.CheckpointStore(session.settings)
    request = await client.corpora.publish_for(
        request, session.settings, partial(say, stream=stream)
    )
    if stream is sys.stdout and stream.isatty() and sys.stdin.isatty():
        try:
            request = await ask_back(session, job_id, request)
        except asyncio.CancelledError:
            # Ctrl-C: there is no job yet that could be continued.
            say("\nStopped before the job was started.", stream)
            raise typer.Exit(ExitCode.INTERRUPTED) from None
    job, origin = await client.runs.begin(session.client, checkpoints, job_id, request)
    for fault in origin.faults:
        say(fault, stream)
    say(_describe_start(job, session, origin), stream)
    asked = request.model_copy(update={"store_id": origin.request.store_id})
    if job.found in ("running", "restarted") and origin.request != asked:
        say(
            f"It keeps the settings it was started with; `{COMMAND} fork {job_id} --set key=value`"
            " starts another job with other settings.",
            stream,
        )
    await warn_without_worker(session, stream)
    return job


async def _estimate(session: Session, request: ResearchRequest) -> None:
    print((await client.job_list.estimate(session.client, request)).describe())


def _describe_start(job: Job, session: Session, origin: client.runs.Origin) -> str:
    text = {
        "new": f"Job {job.id} starts.",
        "restarted": f"Job {job.id} had ended and restarts from {origin.checkpoint}.",
        "running": f"Job {job.id} is unfinished and continues.",
        "finished": f"Job {job.id} is finished; its report is written again.",
    }[job.found.value]
    if session.server is None or job.found == "finished":
        return text
    return f"{text} {temporal_ui_link(session, job.id)}"


def _announce(
    stream: TextIO, options: JobOptions, request: ResearchRequest, settings: Settings
) -> None:
    """Print the model, why it was chosen, and the maximum cost, before anything is started."""
    say(_describe_model(options, request, settings), stream)
    if cost := client.research_request.describe_budget(
        request, by_default=options.budget_usd is None
    ):
        say(cost, stream)


def _describe_model(options: JobOptions, request: ResearchRequest, settings: Settings) -> str:
    from workflows.config.model_catalog import MIXED
    from workflows.contracts.request import OFFLINE

    name = "Claude, a model per role" if request.model == MIXED else request.model
    if options.model is not None:
        return f"Model: {name}."
    if request.model == OFFLINE:
        return (
            "No API key found: using the offline model, which extracts from documents and uses no"
            " network. Set ANTHROPIC_API_KEY for Claude."
        )
    if settings.local_model:
        return f"Model: {settings.local_model}, on this machine; --model chooses another."
    why = "ANTHROPIC_BASE_URL" if settings.base_url else "RESEARCH_PROVIDER"
    why = "an API key" if settings.has_credentials else why
    return f"Model: {name}, because {why} is set; --model chooses another."


def _print_result(result: ResearchResult, code: ExitCode, **more: object) -> None:
    fields = result.model_dump(mode="json", include={"id", "status", "model", "telemetry"})
    print(json.dumps({**fields, "exit_code": code, **more}))
