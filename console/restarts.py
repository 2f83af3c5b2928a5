"""What the commands do that take a job up from a checkpoint: restart and fork.

On a configured server they return at once, unless somebody wants to wait for the report. The
embedded one ends with its command, so there they see the job to its end.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from console import checks
from console.desk import at_temporal, finished, followed, left, new_id, say, warn_without_worker
from console.faults import COMMAND, BadInputError, ConsoleError, ExitCode
from console.session import Session, current_settings, visit
from workflows.rules.restart import SETTABLE

if TYPE_CHECKING:
    from temporalio.client import Client

    from console.jobs import Job
    from console.runs import Origin
    from console.store import Checkpoints


def restart(
    job_id: str | None,
    query: str | None,
    name: str | None,
    *,
    out: Path | None,
    wait: bool,
    as_json: bool = False,
) -> ExitCode:
    """Take one job up again, or all a query finds."""
    if (job_id is None) == (query is None):
        raise BadInputError("Say which job: give its ID, or --query for many.")
    settings = checks.local_settings(current_settings())
    wait = wait or out is not None or not settings.has_server
    folder = checks.writable(out or Path("out"), "--out") if wait else Path("out")
    stream = _remarks(as_json)

    async def go(client: Client, desk: Session) -> ExitCode:
        from console.store import Checkpoints

        kept = Checkpoints.open(settings)
        if job_id is not None:
            job = await _restarted(client, desk, kept, checks.job_id(job_id), name, stream)
            return await _seen(job, client, desk, folder if wait else None, as_json)
        assert query is not None  # noqa: S101
        started, failed = await _all(client, desk, kept, query, name, stream)
        for job in started:
            try:
                await _seen(job, client, desk, folder / job.id if wait else None, as_json)
            except ConsoleError as error:
                failed += 1
                say(sys.stderr, f"Error: {error}")
        return ExitCode.FAILED if failed else ExitCode.REPORT

    shown = job_id or "ID"
    return visit(go, settings=settings, work=True, left=left(settings, shown, folder))


def fork(
    job_id: str,
    name: str | None,
    assignments: Sequence[str],
    new: str | None,
    *,
    out: Path | None,
    wait: bool,
    as_json: bool = False,
) -> ExitCode:
    """Start another job from a checkpoint of this one, with other settings."""
    changes = changes_from(assignments)
    checks.job_id(job_id)
    new_job = checks.job_id(new) if new is not None else new_id(f"{job_id[:150]}-fork")
    settings = checks.local_settings(current_settings())
    wait = wait or out is not None or not settings.has_server
    folder = checks.writable(out or Path("out"), "--out") if wait else Path("out")
    stream = _remarks(as_json)

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import runs
        from console.store import Checkpoints

        kept = Checkpoints.open(settings)
        job, origin, limit = await runs.fork_from(
            client, kept, settings, job_id, name=name, changes=changes, new_id=new_job
        )
        if limit is not None:
            say(stream, f"Spends at most ${limit:,.2f}: --set budget_usd=X changes it.")
        say(
            stream,
            f"Job {new_job} goes on from {job_id} at {origin.checkpoint}; what lies before it is"
            f" not paid again. {at_temporal(desk, new_job)}".rstrip(),
        )
        return await _seen(job, client, desk, folder if wait else None, as_json)

    return visit(go, settings=settings, work=True, left=left(settings, new_job, folder))


def changes_from(assignments: Sequence[str]) -> dict[str, str]:
    """`key=value` pairs, as typed; a key that cannot be set is named with those that can."""
    changes: dict[str, str] = {}
    for text in assignments:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise BadInputError(f"--set {text!r} cannot be read: write it as key=value.")
        if key not in SETTABLE:
            raise BadInputError(f"--set {key} is not possible: choose among {', '.join(SETTABLE)}.")
        changes[key] = value
    return changes


def _remarks(as_json: bool) -> TextIO:
    """Where people are spoken to: not where a program reads."""
    return sys.stderr if as_json else sys.stdout


async def _restarted(
    client: Client,
    desk: Session,
    kept: Checkpoints,
    job_id: str,
    name: str | None,
    stream: TextIO,
) -> Job:
    from console import runs

    job, origin = await runs.restart(client, kept, job_id, name)
    say(stream, f"{_taken_up(job_id, origin)} {at_temporal(desk, job_id)}".rstrip())
    return job


def _taken_up(job_id: str, origin: Origin) -> str:
    spent = f" (${origin.state.spend.usd:.2f} spent before)" if origin.state else ""
    return f"Job {job_id} is taken up from {origin.checkpoint}{spent}."


async def _all(
    client: Client,
    desk: Session,
    kept: Checkpoints,
    query: str,
    name: str | None,
    stream: TextIO,
) -> tuple[list[Job], int]:
    """The jobs that were restarted, and how many could not be."""
    from console import jobs, runs

    started: list[Job] = []
    failed = 0
    matched = await runs.matching(client, query)
    for job_id, run_ids in sorted(matched.items()):
        about = await jobs.describe(client, job_id)
        if about is None or about.run_id not in run_ids:
            say(stream, f"Job {job_id} was taken up since by another run; it is left alone.")
            continue
        try:
            started.append(await _restarted(client, desk, kept, job_id, name, stream))
        except ConsoleError as error:
            failed += 1
            say(sys.stderr, f"Error: {error}")
    say(stream, f"{len(started)} of {len(matched)} jobs restarted.")
    return started, failed


async def _seen(
    job: Job, client: Client, desk: Session, out: Path | None, as_json: bool
) -> ExitCode:
    """To its end, with the report in `out`; or only how it can be seen."""
    stream = _remarks(as_json)
    await warn_without_worker(client, desk, stream)
    if out is not None:
        return finished(await followed(job, desk, stream), out, stream, as_json=as_json)
    say(stream, f"`{COMMAND} watch {job.id}` shows it; `result {job.id}` writes the report.")
    if as_json:
        print(json.dumps({"id": job.id, "found": job.found}))
    return ExitCode.REPORT
