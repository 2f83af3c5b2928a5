"""What the commands do that only look: status, plan, gaps, result.

No worker is started for them. Where none is there to answer, the server's own record and the
checkpoints in the store do.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console import checks
from console.desk import finished
from console.faults import COMMAND, ConsoleError, ExitCode
from console.listing import blocked_of, row_of
from console.live import summary
from console.live_words import NO_BREAK, gap_line, plain, say
from console.session import Session, visit
from workflows.contracts.facets import Plan
from workflows.contracts.result import Status
from workflows.contracts.state import Phase, ResearchState

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowExecutionDescription

    from console.jobs import Job
    from console.progress import Progress


def status(job_id: str, *, as_json: bool = False) -> ExitCode:
    """Where a job stands: its own word where a worker can give it, else its last checkpoint's."""

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs

        job, about = await jobs.find(client, checks.job_id(job_id))
        row, blocked = row_of(about), await blocked_of(about)
        seen, since = await _standing(job, about, desk)
        if as_json:
            shown = {**row, "blocked": blocked.model_dump() if blocked else None, "as_of": since}
            print(json.dumps({**shown, **_told(seen)}, indent=2))
            return ExitCode.REPORT
        facts = (f"{name}: {value}" for name, value in row.items() if value)
        # A fact stays on one line.
        say("  ".join(fact.replace(" ", NO_BREAK) for fact in facts))
        if seen is not None:
            if since and row["state"] != "completed":
                print(f"as of its checkpoint {since}:")
            _print_picture(replace(seen, needs="") if blocked else seen)
            _print_remarks(seen.status)
        unattended = job.found is jobs.Found.RUNNING and (seen is None or bool(since))
        if blocked is not None:
            say(f"blocked at {blocked.step}: {blocked.reason}")
            say(blocked.remedy)
            print(f"Then: `{COMMAND} resume {job_id}`.")
        elif unattended:
            here = f"`{COMMAND} resume {job_id}` takes it up"
            there = "start a worker with `python worker.py`"
            say(f"Nobody is working on it: {here if desk.server else there}.")
        elif row["state"] == "completed":
            print(summary(await jobs.result(job)))
        # What needs a word says itself which.
        for line in () if seen and seen.needs else _next(row["state"], job_id):
            print(line)
        return ExitCode.REPORT

    return visit(go)


def gaps(job_id: str, *, as_json: bool = False) -> ExitCode:
    """What the report lacks so far, and how each gap ended."""

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs

        job, _ = await jobs.find(client, checks.job_id(job_id))
        state = await _state(job, desk)
        found = state.gaps if state else ()
        if as_json:
            print(json.dumps([gap.model_dump(mode="json") for gap in found], indent=2))
            return ExitCode.REPORT
        for gap in found:
            say(gap_line(gap, 600), "", "  ")
            if gap.reason:
                say(plain(gap.reason), "    ")
        if not found:
            print("No gaps so far.")
        return ExitCode.REPORT

    return visit(go)


def plan(job_id: str, *, as_json: bool = False) -> ExitCode:
    """The plan as it is now, to be read, or as JSON to be edited and given to `approve --plan`."""

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs

        job, _ = await jobs.find(client, checks.job_id(job_id))
        state = await _state(job, desk)
        if state is None or state.plan is None:
            raise ConsoleError(
                f"The job {job_id} has no plan yet: `status {job_id}` says where it stands."
            )
        if as_json:
            print(state.plan.model_dump_json(indent=2))
        else:
            _print_plan(state.plan)
        return ExitCode.REPORT

    return visit(go)


def result(
    job_id: str, out: Path, *, fail_on_gaps: bool = False, as_json: bool = False
) -> ExitCode:
    """Write the report of a job that has one."""
    stream = sys.stderr if as_json else sys.stdout

    async def go(client: Client, _desk: Session) -> ExitCode:
        from console import jobs

        job, _ = await jobs.find(client, checks.job_id(job_id))
        if job.found is jobs.Found.RUNNING:
            raise ConsoleError(
                f"The job {job_id} has no report yet: `{COMMAND} watch {job_id}` shows it, and"
                " works on it where no other worker does."
            )
        found, folder = await jobs.result(job), checks.writable(out, "--out")
        return finished(found, folder, stream, fail_on_gaps=fail_on_gaps, as_json=as_json)

    return visit(go)


async def _standing(
    job: Job, about: WorkflowExecutionDescription, desk: Session
) -> tuple[Progress | None, str]:
    """How the job is, and the checkpoint this is known from where nobody was there to say."""
    from console import jobs
    from console.progress import Progress, needs, progress
    from workflows.rules.status import describe_status as standing

    # A fresh embedded server has no worker that could answer a query.
    asleep = desk.server is not None and desk.server.fresh
    if job.found is jobs.Found.RUNNING and not asleep:
        seen = await progress(job)
        if seen.answered:
            return seen, ""
    kept = await _last(job.id, desk)
    if kept is None:
        return None, ""
    now = standing(kept[1])
    if row_of(about)["state"] == "completed":
        # What came after its last checkpoint was the report.
        now = now.model_copy(update={"phase": Phase.FINISHED})
    # A question for a person is the running job's; one that ended asks nothing any more.
    asks = needs(now) if about.close_time is None else ""
    seen = Progress(
        now, gaps=kept[1].gaps, needs=asks, since=about.start_time, ended=about.close_time
    )
    return seen, kept[0]


def _told(seen: Progress | None) -> dict[str, Any]:
    """Progress for a program: `detail` is the job's status."""
    if seen is None:
        return {"detail": None, "needs": "", "waiting": [], "gaps": []}
    moments = {"since", "retry_at"}
    waiting = [
        {
            name: value.isoformat() if name in moments and value else value
            for name, value in asdict(one).items()
        }
        for one in seen.waiting
    ]
    return {
        "detail": seen.status.model_dump(mode="json"),
        "needs": seen.needs,
        "waiting": waiting,
        "gaps": [gap.model_dump(mode="json") for gap in seen.gaps],
    }


def _print_picture(seen: Progress) -> None:
    from rich.console import Console

    from console.live_table import picture

    console = Console(highlight=False)
    console.print(picture(seen, console.width, seen.gaps))


def _next(state: str, job_id: str) -> list[str]:
    """What one would type now."""
    offers = {
        "running": (("watch", "shows it work"), ("finish", "ends it with what there is")),
        "awaiting_approval": (("plan", "shows the plan"), ("approve", "takes it")),
        "paused": (("resume", "sends it on"),),
        "completed": (("result", "writes the report"), ("fork", "goes on from a checkpoint")),
        "blocked": (),
    }
    restart = (("checkpoints", "lists what is kept"), ("restart", "takes it up again"))
    return [f"`{COMMAND} {name} {job_id}` {does}." for name, does in offers.get(state, restart)]


async def _state(job: Job, desk: Session) -> ResearchState | None:
    from console import jobs

    asleep = desk.server is not None and desk.server.fresh
    if job.found is jobs.Found.RUNNING and not asleep and (now := await jobs.state(job)):
        return now
    kept = await _last(job.id, desk)
    return kept[1] if kept else None


async def _last(job_id: str, desk: Session) -> tuple[str, ResearchState] | None:
    from console.store import Checkpoints

    kept = Checkpoints.open(desk.settings)
    found = await kept.of(job_id)
    return (found[-1].name, await kept.load(found[-1])) if found else None


def _print_remarks(now: Status) -> None:
    if now.parent is not None:
        how = "restarted" if now.parent.how == "restart" else "forked"
        print(f"  {how} from {now.parent.id} at {now.parent.checkpoint}")
    if now.budget_tokens is not None:
        print(f"  at most {now.budget_tokens:,} tokens")
    for note in now.notes:
        say(plain(note), "  note: ", "    ")


def _print_plan(plan: Plan) -> None:
    print(f"{plan.kind.value}, {len(plan.facets)} facets")
    for facet in plan.facets:
        print(f"\n{facet.id}: {facet.title}")
        for name, text in (
            ("asks", facet.question),
            ("not", facet.boundary),
            ("prefers", facet.prefer),
            ("because", facet.reason),
        ):
            say(text, f"  {name}: ", "    ")
        if facet.depends_on:
            print(f"  after: {', '.join(facet.depends_on)}")
    for facet in plan.left_out:
        print(f"\nleft out: {facet.title}")
    for change in plan.changes:
        print(f"\nchanged: {change}")
