"""Jobs on a server: found, asked how they are, told what to do, and waited for.

A job is named by its workflow id. Everything here talks to Temporal's client; nothing prints.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import ValidationError
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowQueryRejectedError,
    WorkflowUpdateFailedError,
)
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import FailureError
from temporalio.service import RPCError, RPCStatusCode

from console.faults import BadInputError, ConsoleError
from workflows.contracts.evidence import Record
from workflows.contracts.messages import Change, SetBudget, Steer
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.contracts.result import ResearchResult, Status
from workflows.contracts.spend import Budget
from workflows.contracts.state import ResearchState

WORKFLOW = "ResearchWorkflow"
CLOSED_TO_RESTART = "restarted from a checkpoint"
# Half a minute: the passes of the old run are closed before the new one starts.
_SUCCESSION_TRIES = 150
# How long a server may be gone before following a job is given up.
_OUTAGE_SECONDS = 30.0

Answer = TypeVar("Answer")
Handle = WorkflowHandle[Any, ResearchResult]


class NoJobError(BadInputError):
    """The server knows no job of this id."""


class RefusedError(BadInputError):
    """The job itself says no; `reason` is its word for it."""

    def __init__(self, job_id: str, reason: str) -> None:
        super().__init__(
            f"The job {job_id} cannot do that: {reason}; `status {job_id}` says where it stands."
        )
        self.reason = reason


class Found(StrEnum):
    NEW = "new"
    RESTARTED = "restarted"
    RUNNING = "running"
    FINISHED = "finished"


@dataclass(frozen=True)
class Job:
    """A job by its id, and how it was found."""

    handle: Handle
    found: Found

    @property
    def id(self) -> str:
        return self.handle.id


async def find(client: Client, job_id: str) -> tuple[Job, WorkflowExecutionDescription]:
    """The job with this id; one that ended without a result included."""
    about = await describe(client, job_id)
    if about is None:
        raise NoJobError(
            f"There is no job {job_id}: `list` shows the ones there are, and `checkpoints {job_id}`"
            " what is kept of one the server has forgotten."
        )
    going = about.status in GOING
    return Job(handle(client, job_id), Found.RUNNING if going else Found.FINISHED), about


async def going(client: Client, job_id: str) -> Job:
    """The job with this id, which must not have ended."""
    job, about = await find(client, job_id)
    if about.status in GOING:
        return job
    raise BadInputError(ended(job_id, about.status))


def ended(job_id: str, status: WorkflowExecutionStatus | None) -> str:
    """That a job is over, and what can still be done with it."""
    if status is WorkflowExecutionStatus.COMPLETED:
        return (
            f"The job {job_id} is complete: `result {job_id}` writes its report, `fork {job_id}`"
            " goes on from one of its checkpoints."
        )
    how = status.name.lower().replace("_", " ").replace("canceled", "cancelled") if status else ""
    return f"The job {job_id} has ended already ({how}): `restart {job_id}` takes it up again."


async def describe(client: Client, job_id: str) -> WorkflowExecutionDescription | None:
    try:
        about = await client.get_workflow_handle(job_id).describe()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise ConsoleError(
            f"The server does not answer ({error.message}): try again when it does."
        ) from error
    if about.workflow_type != WORKFLOW:
        raise BadInputError(f"{job_id} is not a research job: choose another id.")
    return about


def handle(client: Client, job_id: str) -> Handle:
    return client.get_workflow_handle(job_id, result_type=ResearchResult)


async def given(client: Client, job_id: str) -> tuple[ResearchRequest, ResearchState | None]:
    """What the last run was started with, from its history: nobody has to be there to answer."""
    events = client.get_workflow_handle(job_id).fetch_history_events(page_size=1)
    async for event in events:
        payloads = event.workflow_execution_started_event_attributes.input.payloads
        kinds: list[Any] = [ResearchRequest, ResearchState | None]
        try:
            values = await client.data_converter.decode(payloads, kinds[: len(payloads)])
        except ValidationError as error:
            raise ConsoleError(
                f"The job {job_id} was started by another version and cannot be taken up: run its"
                f" question under another --id ({error.error_count()} fields differ)."
            ) from error
        return values[0], values[1] if len(values) > 1 else None
    raise ConsoleError(f"The history of {job_id} is empty: start the job again.")


async def status(job: Job, seconds: float = 3.0) -> Status | None:
    """How the job is; None where nobody is there to answer."""
    return await _asked(job, "status", Status, seconds)


async def state(job: Job, seconds: float = 3.0) -> ResearchState | None:
    """All of the job; None where nobody is there to answer."""
    return await _asked(job, "state", ResearchState, seconds)


async def _asked(job: Job, query: str, kind: type[Answer], seconds: float) -> Answer | None:
    try:
        answer: Answer = await job.handle.query(
            query, result_type=kind, rpc_timeout=timedelta(seconds=seconds)
        )
    except (RPCError, WorkflowQueryFailedError, WorkflowQueryRejectedError):
        return None
    return answer


async def result(job: Job) -> ResearchResult:
    """Wait for the result. A server that is gone for a moment is waited for."""
    outage = 0.0
    while True:
        try:
            return await job.handle.result()
        except WorkflowFailureError as error:
            if await _succeeded(job, error):
                continue
            raise ConsoleError(
                f"The job {job.id} did not finish: {cause(error)}. `restart {job.id}` takes it"
                f" up from its last checkpoint; what it had bought is kept."
            ) from error
        except RPCError as error:
            if outage >= _OUTAGE_SECONDS or error.status in _HOPELESS:
                raise ConsoleError(
                    f"The server does not answer any more ({error.message}): when it is back,"
                    f" `resume {job.id}` takes the job up."
                ) from error
        await asyncio.sleep(1)
        outage += 1


async def _succeeded(job: Job, error: WorkflowFailureError) -> bool:
    """True where the run was closed for a restart, once the next one is there."""
    for _ in range(_SUCCESSION_TRIES if cause(error) == CLOSED_TO_RESTART else 0):
        about = await job.handle.describe()
        if about.status is not WorkflowExecutionStatus.TERMINATED:
            return True
        await asyncio.sleep(0.2)
    return False


async def tell(job: Job, update: str, message: Record) -> str:
    """Say something to the job; its answer, or its reason why not."""
    while True:
        try:
            answer: str = await job.handle.execute_update(update, message, result_type=str)
            return answer
        except WorkflowUpdateFailedError as error:
            raise RefusedError(job.id, cause(error)) from error
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise ConsoleError(
                    f"The job {job.id} could not be told ({error.message}): is a worker running?"
                ) from error
            about = await job.handle.describe()
            if about.status not in GOING:
                raise BadInputError(ended(job.id, about.status)) from error
            # Its run was continued by another one in between.
            await asyncio.sleep(0.2)


async def steer(
    job: Job, changes: Sequence[Change], usd: float | None = None, tokens: int | None = None
) -> str:
    """Change the job while it runs; its answer, or its reason why not."""
    said = tuple(changes)
    if usd is not None or tokens is not None:
        # A budget is set as a whole: the limit that was not named must not be lifted by this.
        now = await state(job)
        while now is None:
            await asyncio.sleep(0.2)
            now = await state(job)
        old = now.request.budget
        budget = Budget(
            usd=usd if usd is not None else old.usd,
            tokens=tokens if tokens is not None else old.tokens,
        )
        said = (*said, SetBudget(budget=budget))
    return await tell(job, "steer", Steer(changes=said))


async def cancel(job: Job) -> bool:
    """Ask the job to end, and wait until it has; False where it ended with a report first."""
    await job.handle.cancel()
    try:
        await result(job)
    except ConsoleError:
        return True
    return False


async def ending(job: Job) -> ResearchResult | str:
    """What a job that has ended came to: its result, or why there is none."""
    try:
        return await job.handle.result()
    except WorkflowFailureError as error:
        return cause(error)


async def has_worker(client: Client) -> bool:
    """True where somebody polls the task queue, or did a minute ago: a poll lasts that long."""
    from temporalio.api.enums.v1 import TaskQueueType
    from temporalio.api.taskqueue.v1 import TaskQueue
    from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest

    about = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=TASK_QUEUE),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        )
    )
    recent = datetime.now(UTC) - timedelta(seconds=75)
    return any(poller.last_access_time.ToDatetime(UTC) > recent for poller in about.pollers)


def cause(error: BaseException) -> str:
    """The innermost message: the outer ones only say that something inside went wrong."""
    while isinstance(error, _WRAPPERS) and error.cause is not None:
        error = error.cause
    # What a failure is called is for programs; its message is for people.
    said = error.message if isinstance(error, FailureError) else str(error)
    return said.rstrip(".") or type(error).__name__


def keyword(execution: WorkflowExecution, name: str) -> str:
    return execution.typed_search_attributes.get(SearchAttributeKey.for_keyword(name), "")


GOING = (WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.CONTINUED_AS_NEW)
_WRAPPERS = (FailureError, WorkflowFailureError, WorkflowUpdateFailedError)
_HOPELESS = (
    RPCStatusCode.NOT_FOUND,
    RPCStatusCode.PERMISSION_DENIED,
    RPCStatusCode.UNAUTHENTICATED,
    RPCStatusCode.INVALID_ARGUMENT,
)
