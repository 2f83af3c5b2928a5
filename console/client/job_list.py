"""Jobs in the server's visibility records: no worker has to answer."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import TYPE_CHECKING

from temporalio.api.common.v1 import WorkflowExecution as WorkflowExecutionId
from temporalio.api.enums.v1 import WorkflowTaskFailedCause
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import WorkflowFailureError
from temporalio.common import SearchAttributeKey
from temporalio.service import RPCError, RPCStatusCode

from console.client.audit import TENANT, current_actor, is_visible
from console.client.jobs import (
    OPEN_STATUSES,
    WORKFLOW,
    describe,
    fetch_start_input,
    find_pollers,
    get_handle,
    has_worker,
    root_cause,
)
from console.errors import BadInputError, ConsoleError
from console.formatting import count, cut, duration, usd
from workflows.contracts.facets import Effort
from workflows.contracts.messages import WEBHOOK_ID, WEBHOOK_WORKFLOW
from workflows.contracts.request import ResearchRequest
from workflows.contracts.state import Blocked

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowExecution, WorkflowExecutionDescription

_STATES = {
    "running": "Running",
    "completed": "Completed",
    "failed": "Failed",
    "cancelled": "Canceled",
    "terminated": "Terminated",
    "timed_out": "TimedOut",
}
_MAX_STOPPED = 20
_MAX_PAST = 40
_CHECKSUM = 6
TIME_FORMAT = "%Y-%m-%d %H:%M:%SZ"
WAITING_STATES = ("blocked", "paused", "awaiting_approval")
"""States in which a running job waits for a person."""


@dataclass(frozen=True)
class JobRecord:
    id: str
    state: str
    phase: str
    model: str
    started: str
    closed: str

    @classmethod
    def of(cls, execution: WorkflowExecution) -> JobRecord:
        states = {name.upper(): state for state, name in _STATES.items()}
        name = execution.status.name.replace("_", "") if execution.status else ""
        state = states.get(name, "running")
        waiting = search_attribute(execution, "ResearchStatus")
        return cls(
            id=execution.id,
            state=waiting if state == "running" and waiting in WAITING_STATES else state,
            phase=search_attribute(execution, "ResearchPhase"),
            model=search_attribute(execution, "ResearchModel"),
            started=format_time(execution.start_time),
            closed=format_time(execution.close_time) if execution.close_time else "",
        )


async def list_last_runs(
    client: Client, state: str | None = None, limit: int | None = None
) -> list[WorkflowExecution]:
    """The last run of every job, newest first; with `state`, at least those in that state."""
    found = client.list_workflows(_build_query(state), limit=limit)
    return await _keep_newest([run async for run in found])


async def list_page(
    client: Client, state: str | None, limit: int, page: str | None = None
) -> tuple[list[WorkflowExecution], str]:
    """One page of the last runs of jobs, newest first, and the token of the next page.

    A page may have fewer jobs than asked for: earlier runs of a job are left out.
    """
    token = _read_token(page) if page else None
    runs = client.list_workflows(
        _build_query(state), page_size=limit, next_page_token=token, limit=None
    )
    try:
        await runs.fetch_next_page()
    except RPCError as error:
        if page and error.status is RPCStatusCode.INVALID_ARGUMENT:
            raise BadInputError("--page: the token is of another query or server.") from error
        raise
    found = await _keep_newest(runs.current_page or ())
    # The last run of a job may be on another page.
    is_last = await asyncio.gather(*(_is_last_run(client, run) for run in found))
    last = [run for run, is_newest in zip(found, is_last, strict=True) if is_newest]
    return last, _write_token(runs.next_page_token or b"")


async def _keep_newest(runs: Iterable[WorkflowExecution]) -> list[WorkflowExecution]:
    """Of each job that the actor may see, the newest of these runs; the newest job first."""
    newest: dict[str, WorkflowExecution] = {}
    for run in sorted(runs, key=lambda run: run.start_time, reverse=True):
        if await is_visible(run):
            newest.setdefault(run.id, run)
    return list(newest.values())


def _write_token(token: bytes) -> str:
    """With a checksum: the server is asked again and again where its token makes no sense to it."""
    summed = hashlib.sha256(token).digest()[:_CHECKSUM] + token
    return base64.urlsafe_b64encode(summed).decode() if token else ""


def _read_token(page: str) -> bytes:
    try:
        token = base64.urlsafe_b64decode(page)[_CHECKSUM:]
    except ValueError:
        token = b""
    if page != _write_token(token):
        raise BadInputError(f"--page {cut(page, 80)!r} is no token: use the one `list` prints.")
    return token


async def _is_last_run(client: Client, run: WorkflowExecution) -> bool:
    """Whether a run has no successor; a completed one has where a facet was researched again."""
    try:
        return (await client.get_workflow_handle(run.id).describe()).run_id == run.run_id
    except RPCError:
        return True


def _build_query(state: str | None) -> str:
    query = f'WorkflowType="{WORKFLOW}"'
    if tenant := current_actor().tenant:
        query = f'{query} AND {TENANT}="{tenant}"'
    if state in WAITING_STATES:
        return f'{query} AND ExecutionStatus="Running" AND ResearchStatus="{state}"'
    if state == "running":
        return f'{query} AND ExecutionStatus="Running"'
    if state and state not in _STATES:
        known = ", ".join([*WAITING_STATES, *_STATES])
        raise BadInputError(f"The status {state!r} is unknown: choose one of {known}.")
    # A closed run may have a successor: only the list of all runs shows which one is the last.
    return query


async def list_stopped(client: Client, asked: str) -> list[str]:
    """Unfinished jobs of the embedded server that no process works on, besides the asked one."""
    query = f'{_build_query("running")} AND WorkflowId != "{asked}"'
    found = [run async for run in client.list_workflows(query, limit=_MAX_STOPPED)]
    pollers = await asyncio.gather(*(find_pollers(client, run.task_queue) for run in found))
    return [
        run.id
        for run, polls in zip(found, pollers, strict=True)
        if not any(_is_alive(poller.identity) for poller in polls)
    ]


def _is_alive(identity: str) -> bool:
    """Whether a worker of this machine still runs; the SDK names it PID@HOST."""
    try:
        os.kill(int(identity.partition("@")[0]), 0)
    except PermissionError:
        return True
    except (ValueError, OSError):
        return False
    return True


@dataclass(frozen=True)
class PastJob:
    effort: Effort
    usd: float
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """What finished jobs of the same effort and model cost and took."""

    effort: Effort
    past: tuple[PastJob, ...]

    @classmethod
    def of(cls, past: Iterable[PastJob | None], effort: Effort) -> Estimate:
        return cls(effort, tuple(job for job in past if job and job.effort is effort))

    def describe(self) -> str:
        if not self.past:
            name = self.effort.value
            return f"No {name} job has finished with this model yet: the budget is the limit."
        costs = sorted(job.usd for job in self.past)
        times = sorted(job.seconds for job in self.past)
        jobs = count(len(self.past), "finished job")
        if len(self.past) == 1:
            return f"About {usd(costs[0])} and {duration(times[0])}, as in {jobs}."
        return (
            f"About {usd(median(costs))} and {duration(median(times))}; {jobs}:"
            f" {usd(costs[0])} to {usd(costs[-1])}, {duration(times[0])} to {duration(times[-1])}."
        )


async def list_finished(client: Client, model: str) -> list[WorkflowExecution]:
    """The newest finished jobs of a model that the actor may see."""
    query = f'{_build_query(None)} AND ExecutionStatus="Completed" AND ResearchModel="{model}"'
    found = client.list_workflows(query, limit=_MAX_PAST)
    return [run async for run in found if await is_visible(run)]


async def load_past_job(client: Client, run: WorkflowExecution) -> PastJob | None:
    """None for a job that found nothing or cannot be read."""
    try:
        summary = await get_handle(client, run.id).result()
        request, _ = await fetch_start_input(client, run.id)
    except (ConsoleError, RPCError, WorkflowFailureError):
        return None
    if summary.status == "nothing_found":
        return None
    return PastJob(request.effort, summary.usd, summary.seconds)


async def estimate(client: Client, request: ResearchRequest) -> Estimate:
    """What a job like this one will roughly cost and take."""
    found = await list_finished(client, request.model)
    past = await asyncio.gather(*(load_past_job(client, run) for run in found))
    return Estimate.of(past, request.effort)


async def needs_worker(client: Client, job_id: str) -> bool:
    """Whether the job is open or its webhook not told yet. Raises `ConsoleError` without an answer.

    A job that was deleted needs none.
    """
    description = await describe(client, job_id)
    if description is None:
        return False
    return description.status in OPEN_STATUSES or await has_deliveries(client, job_id)


async def has_deliveries(client: Client, job_id: str) -> bool:
    """Whether a message for the job's webhook is not delivered yet."""
    found = await client.count_workflows(
        f'WorkflowType="{WEBHOOK_WORKFLOW}" AND ExecutionStatus="Running"'
        f' AND WorkflowId STARTS_WITH "{job_id}{WEBHOOK_ID}"'
    )
    return found.count > 0


async def wait_for_deliveries(client: Client, job_id: str, seconds: float) -> bool:
    """Wait until the job's webhook was told of everything; False if that takes longer."""
    deadline = asyncio.get_running_loop().time() + seconds
    while await has_deliveries(client, job_id):
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(0.2)
    return True


async def explain_silence(
    client: Client, job_id: str, description: WorkflowExecutionDescription, start_worker: str
) -> str:
    """Why no worker answers for a job, and what to do; `start_worker` is how to start one."""
    if description.raw_description.pending_workflow_task.attempt > 1:
        failure = await _last_task_failure(client, job_id)
        if failure is not None:
            cause, message = failure
            if cause == WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR:
                return (
                    "The worker runs other code than the job began with (nondeterminism): start a"
                    f" worker of that version, or `restart {job_id}` continues from the last"
                    " checkpoint with this one."
                )
            return f"Its workflow task fails again and again ({message}): see the worker's log."
    if await has_worker(client):
        return "Its worker does not answer now: it is busy, or see the worker's log."
    return f"No worker runs it: {start_worker}."


async def _last_task_failure(client: Client, job_id: str) -> tuple[int, str] | None:
    """The cause and the message of the workflow task that failed last."""
    page = await client.workflow_service.get_workflow_execution_history_reverse(
        GetWorkflowExecutionHistoryReverseRequest(
            namespace=client.namespace,
            execution=WorkflowExecutionId(workflow_id=job_id),
            maximum_page_size=20,
        )
    )
    for event in page.history.events:
        if event.HasField("workflow_task_failed_event_attributes"):
            failed = event.workflow_task_failed_event_attributes
            error = await client.data_converter.decode_failure(failed.failure)
            return failed.cause, root_cause(error)[:300]
    return None


async def read_blocked(execution: WorkflowExecution) -> Blocked | None:
    """Why a job is blocked, from its memo."""
    if execution.close_time is not None:
        return None
    value = await execution.memo_value("blocked", None)
    return Blocked.model_validate(value) if value else None


async def read_question(execution: WorkflowExecution) -> str:
    """The beginning of the question, from the memo."""
    return str(await execution.memo_value("question", "") or "")


def search_attribute(execution: WorkflowExecution, name: str) -> str:
    return execution.typed_search_attributes.get(SearchAttributeKey.for_keyword(name), "")


def format_time(moment: datetime) -> str:
    return moment.strftime(TIME_FORMAT)
