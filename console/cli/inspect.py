"""The commands that only read: status, plan, gaps, result, list.

They start no worker. If none answers a query, the server's records and the last checkpoint do.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from console import client
from console.cli.options import INSPECT, FailOnGaps, Formats, JobId, Json, Out, Reference, examples
from console.cli.run import finish_job
from console.errors import COMMAND, ConsoleError, ExitCode
from console.formatting import NO_BREAK, message_stream, say

if TYPE_CHECKING:
    from temporalio.client import WorkflowExecutionDescription

    from console.client.jobs import Job
    from console.client.session import Session
    from workflows.contracts.facets import Plan
    from workflows.contracts.result import ResearchResult, Status
    from workflows.contracts.state import ResearchState

app = typer.Typer()


@app.command(
    rich_help_panel=INSPECT, epilog=examples("status x1", "status x1 --json | jq .waiting")
)
def status(job_id: JobId, as_json: Json = False) -> ExitCode:
    """Show the state of a job."""
    from console.live.view import summarize

    async def action(session: Session) -> None:
        job, description = await client.jobs.find(session.client, job_id)
        record, blocked = (
            client.job_list.JobRecord.of(description),
            await client.job_list.read_blocked(description),
        )
        progress, as_of = await _read_progress(job, description, session)
        if as_json:
            block = blocked.model_dump() if blocked else None
            fields = {**asdict(record), "blocked": block, "as_of": as_of}
            print(json.dumps({**fields, **_progress_as_dict(progress)}, indent=2))
            return
        facts = (f"{name}: {value}" for name, value in asdict(record).items() if value)
        # A fact is not broken over two lines.
        say("  ".join(fact.replace(" ", NO_BREAK) for fact in facts))
        if progress is not None:
            if as_of and record.state != "completed":
                print(f"as of its checkpoint {as_of}:")
            _print_progress(replace(progress, needs="") if blocked else progress)
            _print_notes(progress.status)
        unattended = job.found is client.jobs.StartState.RUNNING and (
            progress is None or bool(as_of)
        )
        if blocked is not None:
            say(f"blocked at {blocked.step}: {blocked.reason}")
            say(blocked.remedy)
            print(f"Then: `{COMMAND} resume {job_id}`.")
        elif unattended:
            here = f"`{COMMAND} resume {job_id}` continues it"
            there = "start one with `python worker.py`"
            start_worker = here if session.server else there
            say(
                await client.job_list.explain_silence(
                    session.client, job_id, description, start_worker
                )
            )
        elif record.state == "completed":
            print(summarize(await client.jobs.wait_for_result(job)))
        # `needs` names the command itself.
        for line in () if progress and progress.needs else _next_commands(record.state, job_id):
            print(line)

    return client.session.run(action)


@app.command(rich_help_panel=INSPECT, epilog=examples("plan x1", "plan x1 --json > plan.json"))
def plan(job_id: JobId, as_json: Json = False) -> ExitCode:
    """Show a job's plan; with --json as a file that can be edited for `approve --plan`."""

    async def action(session: Session) -> None:
        state = await _read_state(job_id, session)
        if state is None or state.plan is None:
            raise ConsoleError(
                f"The job {job_id} has no plan yet: `status {job_id}` shows its state."
            )
        if as_json:
            print(state.plan.model_dump_json(indent=2))
        else:
            print_plan(state.plan)

    return client.session.run(action)


@app.command(rich_help_panel=INSPECT, epilog=examples("gaps x1 --json"))
def gaps(job_id: JobId, as_json: Json = False) -> ExitCode:
    """Show what the report lacks so far, and how each gap ended."""
    from console.formatting import plain
    from console.live.status_text import gap_line

    async def action(session: Session) -> None:
        state = await _read_state(job_id, session)
        found = state.gaps if state else ()
        if as_json:
            print(json.dumps([gap.model_dump(mode="json") for gap in found], indent=2))
            return
        for gap in found:
            say(gap_line(gap, 600), then="  ")
            if gap.reason:
                say(plain(gap.reason), first="    ", then="    ")
        if not found:
            print("No gaps so far.")

    return client.session.run(action)


@app.command(
    rich_help_panel=INSPECT,
    epilog=examples(
        "result x1 --out x1", "result x1@1 --out x1-first", "result x1 --format pdf --format docx"
    ),
)
def result(
    reference: Reference,
    out: Out = Path("out"),
    formats: Formats = None,
    fail_on_gaps: FailOnGaps = False,
    as_json: Json = False,
) -> ExitCode:
    """Write the report of a finished job, or an earlier version of it."""
    job_id, version = client.asking.parse_reference(reference)

    async def read(session: Session) -> ResearchResult:
        if version:
            return await client.asking.load_report(session, reference)
        job, _ = await client.jobs.find(session.client, job_id)
        if job.found is client.jobs.StartState.RUNNING:
            raise ConsoleError(
                f"The job {job_id} has no report yet: `{COMMAND} watch {job_id}` shows it, and"
                " continues it if no other worker does."
            )
        return await client.jobs.wait_for_result(job)

    async def action(session: Session) -> ExitCode:
        found = await read(session)
        folder, stream = client.validation.check_writable(out, "--out"), message_stream(as_json)
        return finish_job(
            found, folder, stream, formats=formats, fail_on_gaps=fail_on_gaps, as_json=as_json
        )

    return client.session.run(action)


@app.command(
    name="list",
    rich_help_panel=INSPECT,
    epilog=examples("list", "list --status blocked", "list --json | jq -r '.[].id'"),
)
def list_jobs(
    state: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="S",
            help="running, blocked, paused, awaiting_approval, completed, failed, cancelled,"
            " terminated or timed_out.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=1000, help="Jobs on one page.")
    ] = 50,
    page: Annotated[
        str | None,
        typer.Option("--page", metavar="TOKEN", help="Continue where the last page ended."),
    ] = None,
    as_json: Json = False,
) -> ExitCode:
    """List the jobs, a page at a time: open ones, then those that ended last."""

    async def action(session: Session) -> None:
        rows: list[dict[str, Any]] = []
        runs, following = await client.job_list.list_page(session.client, state, limit, page)
        for run in runs:
            record, blocked = (
                client.job_list.JobRecord.of(run),
                await client.job_list.read_blocked(run),
            )
            if state in (None, record.state) or (state == "running" and not record.closed):
                block = blocked.model_dump() if blocked else None
                question = await client.job_list.read_question(run)
                rows.append({**asdict(record), "question": question, "blocked": block})
        if as_json:
            print(json.dumps(rows, indent=2))
        elif rows or page is None:
            for line in _format_rows(rows, shutil.get_terminal_size((160, 24)).columns):
                print(line)
        if following:
            # Not among the rows: they are read by programs.
            chosen = f" --status {state}" if state else ""
            more = f"{COMMAND} list{chosen} --limit {limit} --page {following}"
            print(f"There are more: `{more}`", file=sys.stderr)

    return client.session.run(action)


async def _read_progress(
    job: Job, description: WorkflowExecutionDescription, session: Session
) -> tuple[client.progress.Progress | None, str]:
    """The job's progress, and the checkpoint it comes from if no worker answered."""
    from workflows.contracts.state import Phase
    from workflows.rules.status import describe_status as status_of

    if _may_answer(job, session):
        progress = await client.progress.read_progress(job)
        if progress.answered:
            return progress, ""
    last = await client.checkpoints.CheckpointStore(session.settings).load_last(job.id)
    if last is None:
        return None, ""
    checkpoint, state = last
    status = status_of(state)
    if client.job_list.JobRecord.of(description).state == "completed":
        # Only the report followed the last checkpoint.
        status = status.model_copy(update={"phase": Phase.FINISHED})
    progress = client.progress.Progress(
        status,
        gaps=state.gaps,
        # Only a running job waits for a person.
        needs=client.progress.describe_needs(status) if description.close_time is None else "",
        since=description.start_time,
        ended=description.close_time,
    )
    return progress, checkpoint.name


def _may_answer(job: Job, session: Session) -> bool:
    """False on a fresh embedded server: no worker there could answer a query."""
    fresh = session.server is not None and session.server.fresh
    return job.found is client.jobs.StartState.RUNNING and not fresh


async def _read_state(job_id: str, session: Session) -> ResearchState | None:
    job, _ = await client.jobs.find(session.client, job_id)
    if _may_answer(job, session) and (state := await client.jobs.query_state(job)):
        return state
    last = await client.checkpoints.CheckpointStore(session.settings).load_last(job.id)
    return last[1] if last else None


def _progress_as_dict(progress: client.progress.Progress | None) -> dict[str, Any]:
    from pydantic_core import to_jsonable_python

    if progress is None:
        return {"detail": None, "needs": "", "waiting": [], "gaps": []}
    return {
        "detail": to_jsonable_python(progress.status),
        "needs": progress.needs,
        "waiting": to_jsonable_python(progress.pending),
        "gaps": to_jsonable_python(progress.gaps),
    }


def _print_progress(progress: client.progress.Progress) -> None:
    from rich.console import Console

    from console.live.table import render

    console = Console(highlight=False)
    console.print(render(progress, console.width, progress.gaps))


def _next_commands(state: str, job_id: str) -> list[str]:
    commands = {
        "running": (("watch", "shows it run"), ("finish", "ends it with what was found")),
        "awaiting_approval": (("plan", "shows the plan"), ("approve", "approves it")),
        "paused": (("resume", "continues it"),),
        "completed": (("result", "writes the report"), ("fork", "continues from a checkpoint")),
        "blocked": (),
    }
    ended = (("checkpoints", "lists its checkpoints"), ("restart", "restarts it from the last"))
    return [f"`{COMMAND} {name} {job_id}` {does}." for name, does in commands.get(state, ended)]


def _print_notes(status: Status) -> None:
    from console.formatting import plain

    if status.parent is not None:
        how = "restarted" if status.parent.how == "restart" else "forked"
        print(f"  {how} from {status.parent.id} at {status.parent.checkpoint}")
    if status.budget_tokens is not None:
        print(f"  at most {status.budget_tokens:,} tokens")
    for note in status.notes:
        say(plain(note), first="  note: ", then="    ")


def print_plan(plan: Plan) -> None:
    print(f"{plan.kind.value}, {len(plan.facets)} facets")
    for facet in plan.facets:
        print(f"\n{facet.id}: {facet.title}")
        for name, text in (
            ("asks", facet.question),
            ("not", facet.boundary),
            ("prefers", facet.prefer),
            ("because", facet.reason),
        ):
            say(text, first=f"  {name}: ", then="    ")
        if facet.depends_on:
            print(f"  after: {', '.join(facet.depends_on)}")
    for facet in plan.left_out:
        print(f"\nleft out: {facet.title}")
    for change in plan.changes:
        print(f"\nchanged: {change}")


def _format_rows(rows: list[dict[str, Any]], width: int) -> Iterator[str]:
    """Aligned columns; the question takes the rest of the line."""
    from console.formatting import age, cut, plain

    if not rows:
        yield f"No jobs: `{COMMAND} run QUESTION --corpus DIR` starts one."
        return
    now = datetime.now(UTC)
    table = [("job", "state", "phase", "age", "question")]
    for row in rows:
        started = datetime.strptime(row["started"], client.job_list.TIME_FORMAT).replace(tzinfo=UTC)
        since = age((now - started).total_seconds())
        table.append((row["id"], row["state"], row["phase"], since, plain(row["question"])))
    widths = [max(len(line[column]) for line in table) for column in range(4)]
    for number, line in enumerate(table):
        cells = [f"{text:<{size}}" for text, size in zip(line[:3], widths[:3], strict=True)]
        start = "  ".join([*cells, f"{line[3]:>{widths[3]}}"])
        yield f"{start}  {cut(line[4], max(20, width - len(start) - 2))}".rstrip()
        if number and (block := rows[number - 1]["blocked"]):
            reason, remedy = f"at {block['step']}: {plain(block['reason'])}", plain(block["remedy"])
            whole = f"    {reason}; {remedy}"
            if len(whole) <= width:
                yield whole
            else:
                yield from (f"    {cut(text, width - 4)}" for text in (reason, remedy))
