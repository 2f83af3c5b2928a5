"""What the commands do that see a job to its end: run, start, watch, resume.

Each returns an exit code. Progress and remarks go to standard output, or to standard error where
JSON was asked for on standard output.
"""

from __future__ import annotations

import json
import secrets
import shutil
import sys
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console import checks, wishes
from console.faults import COMMAND, BadInputError, ConsoleError, ExitCode
from console.session import Session, current_settings, visit
from console.wishes import Wish
from workflows.config.model_catalog import MIXED
from workflows.config.settings import Settings
from workflows.contracts.messages import Resume
from workflows.contracts.request import OFFLINE, TASK_QUEUE, ResearchRequest
from workflows.contracts.result import ResearchResult

# `jobs` brings in Temporal's client, which takes a third of a second: the server and the worker are
# started first, and start while it loads.
if TYPE_CHECKING:
    from temporalio.client import Client

    from console.jobs import Job
    from console.runs import Origin


def run(
    wish: Wish, job_id: str | None, out: Path, *, fail_on_gaps: bool = False, as_json: bool = False
) -> ExitCode:
    """One job to its end. Takes up an unfinished one, and writes a finished one again."""
    settings, request, job_id = _checked(wish, job_id)
    out = checks.writable(out, "--out")
    stream = sys.stderr if as_json else sys.stdout
    _announce(stream, wish, request, settings)

    async def go(client: Client, desk: Session) -> ExitCode:
        job = await _begun(client, desk, job_id, request, stream)
        result = await followed(job, desk, stream, unblock=job.found == "running")
        return finished(result, out, stream, fail_on_gaps=fail_on_gaps, as_json=as_json)

    return visit(go, settings=settings, work=True, left=left(settings, job_id, out))


def start(wish: Wish, job_id: str | None, *, as_json: bool = False) -> ExitCode:
    """Start and return. The embedded server ends with its command, so it will not do."""
    if not current_settings().has_server:
        raise BadInputError(
            "`start` needs a Temporal server that goes on without this command: set"
            " TEMPORAL_ADDRESS, or use `run`."
        )
    settings, request, job_id = _checked(wish, job_id)
    stream = sys.stderr if as_json else sys.stdout
    _announce(stream, wish, request, settings)

    async def go(client: Client, desk: Session) -> ExitCode:
        job = await _begun(client, desk, job_id, request, stream)
        say(stream, f"`{COMMAND} watch {job_id}` shows it; `result {job_id}` writes the report.")
        if request.approval is not None and job.found == "new":
            say(stream, f"`{COMMAND} plan {job_id}` shows the plan; `approve {job_id}` takes it.")
        if as_json:
            print(json.dumps({"id": job_id, "found": job.found}))
        return ExitCode.REPORT

    return visit(go, settings=settings, left=left(settings, job_id))


def watch(job_id: str, *, as_json: bool = False) -> ExitCode:
    """Show a job until it ends; on the embedded server that means working on it, too."""
    stream = sys.stderr if as_json else sys.stdout
    settings = checks.local_settings(current_settings())

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs
        from console.live import summary

        job, _ = await jobs.find(client, checks.job_id(job_id))
        await warn_without_worker(client, desk, stream)
        result = await followed(job, desk, stream)
        say(stream, summary(result))
        say(stream, f"`{COMMAND} result {job_id}` writes the report.")
        found = result.status != "nothing_found"
        code = ExitCode.REPORT if found else ExitCode.NOTHING_FOUND
        if as_json:
            _print_result(result, code)
        return code

    return visit(go, settings=settings, work=True, left=left(settings, job_id))


def resume(job_id: str, out: Path, *, as_json: bool = False) -> ExitCode:
    """Send a waiting job on. On the embedded server also take an unfinished one up, to its end."""
    stream = sys.stderr if as_json else sys.stdout
    settings = checks.local_settings(current_settings())
    if not settings.has_server:
        out = checks.writable(out, "--out")

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs

        job = await jobs.going(client, checks.job_id(job_id))
        if desk.server is not None:
            result = await followed(job, desk, stream, unblock=True)
            return finished(result, out, stream, as_json=as_json)
        told, _ = await desk.heard(jobs.tell(job, "resume", Resume()), job_id)
        say(stream, f"The job {job_id} goes on: `{COMMAND} watch {job_id}` shows it.")
        if as_json:
            print(json.dumps({"id": job_id, "command": "resume", "answer": told}))
        return ExitCode.REPORT

    return visit(go, settings=settings, work=True, left=left(settings, job_id, out))


def _checked(wish: Wish, job_id: str | None) -> tuple[Settings, ResearchRequest, str]:
    """All that can be known to be wrong is found here, before anything is started or made."""
    settings = current_settings()
    request = wishes.request(wish, settings)
    job_id = checks.job_id(job_id) if job_id is not None else new_id()
    return checks.local_settings(settings), request, job_id


def new_id(prefix: str = "research") -> str:
    """Readable and unique; nothing of the question is in it, for ids are never encrypted."""
    return f"{prefix}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


async def _begun(
    client: Client, desk: Session, job_id: str, request: ResearchRequest, stream: Any
) -> Job:
    from console import runs
    from console.store import Checkpoints

    job, origin = await runs.begin(client, Checkpoints.open(desk.settings), job_id, request)
    say(stream, _beginning(job, desk, origin))
    if job.found in ("running", "restarted") and origin.request != request:
        say(
            stream,
            f"It keeps the settings it was started with; `{COMMAND} fork {job_id} --set key=value`"
            " makes another job of it.",
        )
    await warn_without_worker(client, desk, stream)
    return job


def left(settings: Settings, job_id: str, out: Path = Path("out")) -> Callable[[], str]:
    """What is said when somebody stops looking."""

    def text() -> str:
        if settings.has_server:
            return f"\nLeft; the job goes on on its server: `{COMMAND} watch {job_id}` shows it."
        place = "" if out.resolve() == Path("out").resolve() else f" --out {out}"
        return (
            f"\nStopped; what was done is kept. `{COMMAND} resume {job_id}{place}` takes the job up"
            " where it was."
        )

    return text


async def followed(
    job: Job, desk: Session, stream: Any, *, unblock: bool = False
) -> ResearchResult:
    from console.following import follow
    from console.live import view

    with view(stream) as shown:
        ended = await follow(job, shown, desk.worker, unblock=unblock)
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
        say(stream, "Nothing was found on this question; the report says what was tried.")
    for file in files:
        say(stream, str(file))
    say(stream, summary(result))
    if as_json:
        _print_result(result, code, files=[str(file) for file in files])
    return code


def _print_result(result: ResearchResult, code: ExitCode, **more: object) -> None:
    shown = result.model_dump(mode="json", include={"id", "status", "model", "telemetry"})
    print(json.dumps({**shown, "exit_code": code, **more}))


def _announce(stream: Any, wish: Wish, request: ResearchRequest, settings: Settings) -> None:
    """Which model, why, and what it may cost: before anything is started."""
    say(stream, _model_line(wish, request, settings))
    if cost := wishes.spending(request, by_default=wish.budget_usd is None):
        say(stream, cost)


def _model_line(wish: Wish, request: ResearchRequest, settings: Settings) -> str:
    name = "Claude, each role its own model" if request.model == MIXED else request.model
    if wish.model is not None:
        return f"Model: {name}."
    if request.model == OFFLINE:
        return (
            "No API key found: using the offline model, which extracts from documents and uses no"
            " network. Set ANTHROPIC_API_KEY for Claude."
        )
    why = "ANTHROPIC_BASE_URL" if settings.base_url else "RESEARCH_PROVIDER"
    why = "an API key" if settings.has_credentials else why
    return f"Model: {name}, because {why} is set; --model chooses another."


def _beginning(job: Job, desk: Session, origin: Origin) -> str:
    how = {
        "new": f"Job {job.id} begins.",
        "restarted": f"Job {job.id} had ended and is taken up from {origin.checkpoint}.",
        "running": f"Job {job.id} is unfinished and is taken up where it was.",
        "finished": f"Job {job.id} is finished; its report is written again, nothing is run.",
    }[job.found.value]
    if desk.server is None or job.found == "finished":
        return how
    return f"{how} {at_temporal(desk, job.id)}"


def at_temporal(desk: Session, job_id: str) -> str:
    if desk.server is None:
        return ""
    return f"Temporal's own view: {desk.server.web}/namespaces/default/workflows/{job_id}"


async def warn_without_worker(client: Client, desk: Session, stream: Any) -> None:
    from console import jobs

    if desk.worker is None and not await jobs.has_worker(client):
        say(
            stream,
            f"No worker is there yet (task queue {TASK_QUEUE!r}): start one with"
            " `python worker.py` and the same TEMPORAL_* settings.",
        )


def say(stream: Any, text: str) -> None:
    """A remark; on a terminal broken between words."""
    if stream.isatty():
        width = max(20, shutil.get_terminal_size().columns)
        text = "\n".join(
            textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
            for line in text.split("\n")
        )
    print(text, file=stream, flush=True)
