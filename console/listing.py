"""The list of jobs, from the server's own record of them: no worker has to be there to answer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from console.faults import COMMAND, BadInputError, ExitCode
from console.live_words import age, cut, plain
from console.session import Session, visit
from workflows.contracts.state import Blocked

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowExecution

_STATES = {
    "running": "Running",
    "completed": "Completed",
    "failed": "Failed",
    "cancelled": "Canceled",
    "terminated": "Terminated",
    "timed_out": "TimedOut",
}
TIME = "%Y-%m-%d %H:%M:%SZ"
WAITING = ("blocked", "paused", "awaiting_approval")
"""What a running job is in that goes on when a person says so."""


def list_jobs(only: str | None, *, as_json: bool = False) -> ExitCode:
    """All jobs, newest first, or those in one state. A job is listed once, by its last run."""
    query = _query(only)

    async def go(client: Client, _desk: Session) -> ExitCode:
        last: dict[str, WorkflowExecution] = {}
        async for run in client.list_workflows(query):
            if run.id not in last or run.start_time > last[run.id].start_time:
                last[run.id] = run
        rows: list[dict[str, Any]] = []
        for run in sorted(last.values(), key=lambda run: run.start_time, reverse=True):
            row, blocked = row_of(run), await blocked_of(run)
            if only is None or row["state"] == only or (only == "running" and not row["closed"]):
                told = blocked.model_dump() if blocked else None
                rows.append({**row, "question": await question_of(run), "blocked": told})
        if as_json:
            print(json.dumps(rows, indent=2))
            return ExitCode.REPORT
        for line in _lines(rows, shutil.get_terminal_size((160, 24)).columns):
            print(line)
        return ExitCode.REPORT

    return visit(go)


def _query(only: str | None) -> str:
    query = 'WorkflowType="ResearchWorkflow"'
    if only in WAITING:
        return f'{query} AND ExecutionStatus="Running" AND ResearchStatus="{only}"'
    if only == "running":
        return f'{query} AND ExecutionStatus="Running"'
    if only is not None and only not in _STATES:
        known = ", ".join([*WAITING, *_STATES])
        raise BadInputError(f"The status {only!r} is not known: choose one of {known}.")
    # An ended run may have been followed by another one: which is the last is seen among all.
    return query


def row_of(execution: WorkflowExecution) -> dict[str, str]:
    from console.jobs import keyword

    states = {name.upper(): state for state, name in _STATES.items()}
    name = execution.status.name.replace("_", "") if execution.status else ""
    state = states.get(name, "running")
    if state == "running" and (waiting := keyword(execution, "ResearchStatus")) in WAITING:
        state = waiting
    closed = execution.close_time
    return {
        "id": execution.id,
        "state": state,
        "phase": keyword(execution, "ResearchPhase"),
        "model": keyword(execution, "ResearchModel"),
        "started": execution.start_time.strftime(TIME),
        "closed": closed.strftime(TIME) if closed else "",
    }


async def blocked_of(execution: WorkflowExecution) -> Blocked | None:
    """Why a job waits, from the server's record of it."""
    if execution.close_time is not None:
        return None
    told = await execution.memo_value("blocked", None)
    return Blocked.model_validate(told) if told else None


async def question_of(execution: WorkflowExecution) -> str:
    """The question's beginning, where the job was started with it in its memo."""
    return str(await execution.memo_value("question", "") or "")


def _lines(rows: list[dict[str, Any]], width: int) -> Iterator[str]:
    """Aligned columns; the question takes what is left of the line."""
    if not rows:
        yield f"No jobs: `{COMMAND} run QUESTION --corpus DIR` starts one."
        return
    now = datetime.now(UTC)
    table = [("job", "state", "phase", "age", "question")]
    for row in rows:
        started = datetime.strptime(row["started"], TIME).replace(tzinfo=UTC)
        since = age((now - started).total_seconds())
        table.append((row["id"], row["state"], row["phase"], since, plain(row["question"])))
    widths = [max(len(line[column]) for line in table) for column in range(4)]
    for number, line in enumerate(table):
        cells = [f"{text:<{size}}" for text, size in zip(line[:3], widths[:3], strict=True)]
        shown = "  ".join([*cells, f"{line[3]:>{widths[3]}}"])
        left = max(20, width - len(shown) - 2)
        yield f"{shown}  {cut(line[4], left)}".rstrip()
        if number and (why := rows[number - 1]["blocked"]):
            yield from _reasons(why["step"], why["reason"], why["remedy"], width)


def _reasons(step: str, reason: str, remedy: str, width: int) -> Iterator[str]:
    """Why a job is blocked and what would help: in one line where it fits, else in two."""
    whole = f"    at {step}: {plain(reason)}; {plain(remedy)}"
    if len(whole) <= width:
        yield whole
    else:
        yield _indented(f"at {step}: {reason}", width)
        yield _indented(remedy, width)


def _indented(text: str, width: int) -> str:
    return f"    {cut(text, width - 4)}"
