"""What the commands do that only look: status, result, list. No worker is started for them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console import checks
from console.desk import COMMAND, current_settings, finished
from console.faults import BadInputError, ConsoleError, ExitCode
from console.session import Session, session

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


def status(job_id: str, *, as_json: bool = False) -> ExitCode:
    """Where a job stands: its own word where a worker can give it, else the server's."""

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs
        from console.live import LinesView, summary

        job, about = await jobs.find(client, checks.job_id(job_id))
        row = _row(about)
        # A fresh embedded server has no worker that could answer a query.
        asleep = desk.server is not None and desk.server.fresh
        now = None
        if job.found is jobs.Found.RUNNING and not asleep:
            now = await jobs.status(job)
        if as_json:
            detail = now.model_dump(mode="json") if now else None
            print(json.dumps({**row, "detail": detail}, indent=2))
            return ExitCode.REPORT
        print("  ".join(f"{name}: {value}" for name, value in row.items() if value))
        if now is not None:
            LinesView(sys.stdout).show(now)
            if now.blocked is not None:
                print(f"blocked at {now.blocked.step}: {now.blocked.reason}\n{now.blocked.remedy}")
                print(f"Then: `{COMMAND} resume {job_id}`.")
        elif job.found is jobs.Found.RUNNING:
            print(f"Nobody is working on it: `{COMMAND} resume {job_id}` takes it up.")
        elif row["state"] == "completed":
            print(summary(await jobs.result(job)))
            print(f"`{COMMAND} result {job_id}` writes the report.")
        return ExitCode.REPORT

    return _asked(go)


def result(job_id: str, out: Path) -> ExitCode:
    """Write the report of a job that has one."""

    async def go(client: Client, _desk: Session) -> ExitCode:
        from console import jobs

        job, _ = await jobs.find(client, checks.job_id(job_id))
        if job.found is jobs.Found.RUNNING:
            raise ConsoleError(
                f"The job {job_id} has no report yet: `{COMMAND} watch {job_id}` shows it, and"
                " works on it where no other worker does."
            )
        return finished(await jobs.result(job), checks.writable(out, "--out"), sys.stdout)

    return _asked(go)


def list_jobs(only: str | None, *, as_json: bool = False) -> ExitCode:
    """All jobs, newest first, or those in one state."""
    query = _query(only)

    async def go(client: Client, _desk: Session) -> ExitCode:
        rows = [_row(execution) async for execution in client.list_workflows(query)]
        rows.sort(key=lambda row: row["started"], reverse=True)
        if as_json:
            print(json.dumps(rows, indent=2))
            return ExitCode.REPORT
        for row in rows:
            print(f"{row['id']:<40} {row['state']:<10} {row['phase']:<12} {row['started']}")
        if not rows:
            print("No jobs.")
        return ExitCode.REPORT

    return _asked(go)


def _asked(go: Callable[[Client, Session], Coroutine[Any, Any, ExitCode]]) -> ExitCode:
    async def connected(desk: Session) -> ExitCode:
        return await go(await desk.connect(), desk)

    with session(checks.local_settings(current_settings()), work=False) as desk:
        return asyncio.run(connected(desk))


def _query(only: str | None) -> str:
    query = 'WorkflowType="ResearchWorkflow"'
    if only is None:
        return query
    if only == "blocked":
        return f'{query} AND ExecutionStatus="Running" AND ResearchStatus="blocked"'
    if only not in _STATES:
        known = ", ".join(["blocked", *_STATES])
        raise BadInputError(f"The status {only!r} is not known: choose one of {known}.")
    return f'{query} AND ExecutionStatus="{_STATES[only]}"'


def _row(execution: WorkflowExecution) -> dict[str, str]:
    from console.jobs import keyword

    states = {name.upper(): state for state, name in _STATES.items()}
    name = execution.status.name.replace("_", "") if execution.status else ""
    state = states.get(name, "running")
    if state == "running" and keyword(execution, "ResearchStatus") == "blocked":
        state = "blocked"
    return {
        "id": execution.id,
        "state": state,
        "phase": keyword(execution, "ResearchPhase"),
        "model": keyword(execution, "ResearchModel"),
        "started": execution.start_time.strftime("%Y-%m-%d %H:%M:%SZ"),
        "closed": execution.close_time.strftime("%Y-%m-%d %H:%M:%SZ")
        if execution.close_time
        else "",
    }
