"""What the commands do that move a job: run, start, watch, resume, cancel.

Each returns an exit code. Progress and remarks go to standard output, or to standard error where
JSON was asked for on standard output.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from console import checks
from console.checks import Wish
from console.faults import BadInputError, ConsoleError, ExitCode
from console.session import Session, session
from workflows.contracts import TASK_QUEUE, ResearchRequest, ResearchResult
from workflows.models import OFFLINE
from workflows.settings import Settings

# `jobs` brings in Temporal's client, which takes a third of a second: the server and the worker are
# started first, and start while it loads.
if TYPE_CHECKING:
    from temporalio.client import Client

    from console.jobs import Job

COMMAND = "python starter.py"


def run(
    wish: Wish, job_id: str | None, out: Path, *, fail_on_gaps: bool = False, as_json: bool = False
) -> ExitCode:
    """One job to its end. Takes up an unfinished one, and writes a finished one again."""
    settings, request, job_id = _checked(wish, job_id)
    out = checks.writable(out, "--out")
    stream = sys.stderr if as_json else sys.stdout
    _say(stream, _model_line(wish, settings))

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs

        job = await jobs.begin(client, job_id, request)
        _say(stream, _beginning(job, desk))
        await _warn_without_worker(client, desk, stream)
        result = await _followed(job, desk, stream, unblock=job.found is jobs.Found.RUNNING)
        return finished(result, out, stream, fail_on_gaps=fail_on_gaps, as_json=as_json)

    return _with_session(settings, go, stream, job_id, out)


def start(wish: Wish, job_id: str | None, *, as_json: bool = False) -> ExitCode:
    """Start and return. The embedded server ends with its command, so it will not do."""
    if not current_settings().has_server:
        raise BadInputError(
            "`start` needs a Temporal server that goes on without this command: set"
            " TEMPORAL_ADDRESS, or use `run`."
        )
    settings, request, job_id = _checked(wish, job_id)
    stream = sys.stderr if as_json else sys.stdout
    _say(stream, _model_line(wish, settings))

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs

        job = await jobs.begin(client, job_id, request)
        _say(stream, _beginning(job, desk))
        await _warn_without_worker(client, desk, stream)
        _say(stream, f"`{COMMAND} watch {job_id}` shows it; `result {job_id}` writes the report.")
        if as_json:
            print(json.dumps({"id": job_id, "found": job.found}))
        return ExitCode.REPORT

    return _with_session(settings, go, stream, job_id)


def watch(job_id: str) -> ExitCode:
    """Show a job until it ends; on the embedded server that means working on it, too."""

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs
        from console.live import summary

        job, _ = await jobs.find(client, checks.job_id(job_id))
        await _warn_without_worker(client, desk, sys.stdout)
        result = await _followed(job, desk, sys.stdout)
        _say(sys.stdout, summary(result))
        _say(sys.stdout, f"`{COMMAND} result {job_id}` writes the report.")
        found = result.status != "nothing_found"
        return ExitCode.REPORT if found else ExitCode.NOTHING_FOUND

    return _with_session(checks.local_settings(current_settings()), go, sys.stdout, job_id)


def resume(job_id: str, out: Path) -> ExitCode:
    """Send a blocked job on. On the embedded server also take an unfinished one up, to its end."""
    settings = checks.local_settings(current_settings())
    if not settings.has_server:
        out = checks.writable(out, "--out")

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs

        job, _ = await jobs.find(client, checks.job_id(job_id))
        if desk.server is not None:
            result = await _followed(job, desk, sys.stdout, unblock=True)
            return finished(result, out, sys.stdout)
        if job.found is jobs.Found.FINISHED or not await jobs.resume(job):
            raise BadInputError(
                f"The job {job_id} is not blocked: `status {job_id}` says where it stands."
            )
        _say(sys.stdout, f"The job {job_id} goes on: `{COMMAND} watch {job_id}` shows it.")
        return ExitCode.REPORT

    return _with_session(settings, go, sys.stdout, job_id, out)


def cancel(job_id: str) -> ExitCode:
    """Ask a job to end, and see that it does."""

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs

        job, _ = await jobs.find(client, checks.job_id(job_id))
        if job.found is jobs.Found.FINISHED:
            raise BadInputError(f"The job {job_id} has ended already; there is nothing to cancel.")
        await job.handle.cancel()
        try:
            await asyncio.wait_for(jobs.result(job), 30)
        except TimeoutError:
            raise ConsoleError(
                f"The job {job_id} was asked to end and has not yet: is a worker running?"
            ) from None
        except ConsoleError:
            _say(sys.stdout, f"The job {job_id} is cancelled.")
            return ExitCode.REPORT
        raise ConsoleError(f"The job {job_id} finished first: `result {job_id}` writes its report.")

    return _with_session(checks.local_settings(current_settings()), go, sys.stdout, job_id)


def current_settings() -> Settings:
    try:
        return Settings.read(os.environ)
    except (ValidationError, ValueError) as error:
        raise BadInputError(
            f"A setting in the environment cannot be used: correct the RESEARCH_* variables"
            f" ({str(error).splitlines()[0]})."
        ) from None


def _checked(wish: Wish, job_id: str | None) -> tuple[Settings, ResearchRequest, str]:
    """All that can be known to be wrong is found here, before anything is started or made."""
    settings = current_settings()
    request = checks.request(wish, settings)
    job_id = checks.job_id(job_id) if job_id is not None else _new_id()
    return checks.local_settings(settings), request, job_id


def _new_id() -> str:
    """Readable and unique; nothing of the question is in it, for ids are never encrypted."""
    return f"research-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def _with_session(
    settings: Settings,
    go: Callable[[Client, Session], Coroutine[Any, Any, ExitCode]],
    stream: Any,
    job_id: str,
    out: Path = Path("out"),
) -> ExitCode:
    async def connected(desk: Session) -> ExitCode:
        return await go(await desk.connect(), desk)

    with session(settings, work=True) as desk:
        try:
            return asyncio.run(connected(desk))
        except KeyboardInterrupt:
            _say(stream, _interrupted(desk, job_id, out))
            return ExitCode.INTERRUPTED


def _interrupted(desk: Session, job_id: str, out: Path) -> str:
    if desk.server is None:
        return f"\nLeft; the job goes on on its server: `{COMMAND} watch {job_id}` shows it."
    place = "" if out == Path("out").resolve() or out == Path("out") else f" --out {out}"
    return (
        f"\nStopped; what was done is kept. `{COMMAND} resume {job_id}{place}` takes the job up"
        " where it was."
    )


async def _followed(
    job: Job, desk: Session, stream: Any, *, unblock: bool = False
) -> ResearchResult:
    from console import jobs
    from console.live import view

    with view(stream) as shown:
        ended = await jobs.follow(job, shown, desk.worker, unblock=unblock)
    if isinstance(ended, ResearchResult):
        return ended
    assert ended.blocked is not None  # noqa: S101
    raise ConsoleError(
        f"The job {job.id} is blocked at {ended.blocked.step}: {ended.blocked.reason}\n"
        f"{ended.blocked.remedy} Then: `{COMMAND} resume {job.id}`."
    )


def finished(
    result: ResearchResult,
    out: Path,
    stream: Any,
    *,
    fail_on_gaps: bool = False,
    as_json: bool = False,
) -> ExitCode:
    """Write the files, say where they are, and find the exit code."""
    from console import outputs
    from console.live import summary

    files = outputs.write(result, out)
    unclosed = [gap for gap in result.gaps if gap.status != "closed"]
    code = ExitCode.GAPS if fail_on_gaps and unclosed else ExitCode.REPORT
    if result.status == "nothing_found":
        code = ExitCode.NOTHING_FOUND
        _say(stream, "Nothing was found on this question; the report says what was tried.")
    for file in files:
        _say(stream, str(file))
    _say(stream, summary(result))
    if as_json:
        shown = result.model_dump(mode="json", include={"id", "status", "model", "telemetry"})
        print(json.dumps({**shown, "exit_code": code, "files": [str(file) for file in files]}))
    return code


def _model_line(wish: Wish, settings: Settings) -> str:
    if wish.model is not None:
        return f"Model: {wish.model}."
    if settings.default_model == OFFLINE:
        return (
            "No API key found: using the offline model, which extracts from documents and uses no"
            " network. Set ANTHROPIC_API_KEY for Claude."
        )
    why = "ANTHROPIC_API_KEY" if settings.has_credentials else "ANTHROPIC_BASE_URL"
    return f"Model: {settings.default_model}, because {why} is set; --model chooses another."


def _beginning(job: Job, desk: Session) -> str:
    how = {
        "new": f"Job {job.id} begins.",
        "running": f"Job {job.id} is unfinished and is taken up where it was.",
        "finished": f"Job {job.id} is finished; its report is written again, nothing is run.",
    }[job.found.value]
    if desk.server is None or job.found == "finished":
        return how
    return f"{how} Temporal's own view: {desk.server.web}/namespaces/default/workflows/{job.id}"


async def _warn_without_worker(client: Client, desk: Session, stream: Any) -> None:
    from console import jobs

    if desk.worker is None and not await jobs.has_worker(client):
        _say(
            stream,
            f"No worker is there yet (task queue {TASK_QUEUE!r}): start one with"
            " `python worker.py` and the same TEMPORAL_* settings.",
        )


def _say(stream: Any, text: str) -> None:
    print(text, file=stream, flush=True)
