"""The list of jobs, from the server's own record of them: no worker has to be there to answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from console.faults import BadInputError, ExitCode
from console.session import Session, visit
from workflows.contracts import Blocked

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
_WAITING = ("blocked", "paused", "awaiting_approval")


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
                rows.append({**row, "blocked": blocked.model_dump() if blocked else None})
        if as_json:
            print(json.dumps(rows, indent=2))
            return ExitCode.REPORT
        for shown in rows:
            print(f"{shown['id']:<40} {shown['state']:<17} {shown['phase']:<12} {shown['started']}")
            if why := shown["blocked"]:
                print(f"    at {why['step']}: {_cut(why['reason'], 80)}; {_cut(why['remedy'], 80)}")
        if not rows:
            print("No jobs.")
        return ExitCode.REPORT

    return visit(go)


def _query(only: str | None) -> str:
    query = 'WorkflowType="ResearchWorkflow"'
    if only in _WAITING:
        return f'{query} AND ExecutionStatus="Running" AND ResearchStatus="{only}"'
    if only == "running":
        return f'{query} AND ExecutionStatus="Running"'
    if only is not None and only not in _STATES:
        known = ", ".join([*_WAITING, *_STATES])
        raise BadInputError(f"The status {only!r} is not known: choose one of {known}.")
    # An ended run may have been followed by another one: which is the last is seen among all.
    return query


def row_of(execution: WorkflowExecution) -> dict[str, str]:
    from console.jobs import keyword

    states = {name.upper(): state for state, name in _STATES.items()}
    name = execution.status.name.replace("_", "") if execution.status else ""
    state = states.get(name, "running")
    if state == "running" and (waiting := keyword(execution, "ResearchStatus")) in _WAITING:
        state = waiting
    closed = execution.close_time
    return {
        "id": execution.id,
        "state": state,
        "phase": keyword(execution, "ResearchPhase"),
        "model": keyword(execution, "ResearchModel"),
        "started": execution.start_time.strftime("%Y-%m-%d %H:%M:%SZ"),
        "closed": closed.strftime("%Y-%m-%d %H:%M:%SZ") if closed else "",
    }


async def blocked_of(execution: WorkflowExecution) -> Blocked | None:
    """Why a job waits, from the server's record of it."""
    if execution.close_time is not None:
        return None
    told = await execution.memo_value("blocked", None)
    return Blocked.model_validate(told) if told else None


def _cut(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length - 1]}…"
