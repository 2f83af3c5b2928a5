"""Jobs on a server: begun or found again, followed to their end, and asked how they are.

A job is named by its workflow id. Everything here talks to Temporal's client; nothing prints.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

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
from temporalio.common import SearchAttributeKey, WorkflowIDReusePolicy
from temporalio.exceptions import FailureError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from console.faults import BadInputError, ConsoleError
from console.live import View
from console.workers import Worker
from workflows.contracts import (
    TASK_QUEUE,
    Blocked,
    ResearchRequest,
    ResearchResult,
    Resume,
    Status,
)

WORKFLOW = "ResearchWorkflow"
POLL_SECONDS = 0.4
# How long a server may be gone before following a job is given up.
_OUTAGE_SECONDS = 30.0

Handle = WorkflowHandle[Any, ResearchResult]


class Found(StrEnum):
    NEW = "new"
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


async def begin(client: Client, job_id: str, request: ResearchRequest) -> Job:
    """Start the job, or find the one that has this id. A failed one is started again."""
    about = await describe(client, job_id)
    if about is not None and about.status in _GOING_OR_DONE:
        asked = await question(client, job_id)
        if asked != request.question:
            raise BadInputError(
                f"The id {job_id} belongs to a job with another question: choose another --id."
            )
        done = about.status is WorkflowExecutionStatus.COMPLETED
        return Job(handle(client, job_id), Found.FINISHED if done else Found.RUNNING)
    try:
        await client.start_workflow(
            WORKFLOW,
            request,
            id=job_id,
            task_queue=TASK_QUEUE,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
        )
    except WorkflowAlreadyStartedError:
        # Somebody else was faster with the same id.
        return await begin(client, job_id, request)
    return Job(handle(client, job_id), Found.NEW)


async def find(client: Client, job_id: str) -> tuple[Job, WorkflowExecutionDescription]:
    """The job with this id; one that ended without a result included."""
    about = await describe(client, job_id)
    if about is None:
        raise BadInputError(f"There is no job {job_id}: `list` shows the ones there are.")
    going = about.status in _GOING
    return Job(handle(client, job_id), Found.RUNNING if going else Found.FINISHED), about


async def describe(client: Client, job_id: str) -> WorkflowExecutionDescription | None:
    try:
        about = await client.get_workflow_handle(job_id).describe()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise ConsoleError(f"The server does not answer: {error.message}.") from error
    if about.workflow_type != WORKFLOW:
        raise BadInputError(f"{job_id} is not a research job: choose another id.")
    return about


def handle(client: Client, job_id: str) -> Handle:
    return client.get_workflow_handle(job_id, result_type=ResearchResult)


async def question(client: Client, job_id: str) -> str:
    """What the job was asked, from its history: no worker has to be there to answer."""
    events = client.get_workflow_handle(job_id).fetch_history_events(page_size=1)
    async for event in events:
        payloads = event.workflow_execution_started_event_attributes.input.payloads
        (given,) = await client.data_converter.decode(payloads)
        # A run that was continued starts from the job's state, which holds the request.
        return str(given.get("question") or given["request"]["question"])
    raise ConsoleError(f"The history of {job_id} is empty: start the job again.")


async def status(job: Job, seconds: float = 3.0) -> Status | None:
    """How the job is; None where nobody is there to answer."""
    try:
        answer: Status = await job.handle.query(
            "status", result_type=Status, rpc_timeout=timedelta(seconds=seconds)
        )
    except (RPCError, WorkflowQueryFailedError, WorkflowQueryRejectedError):
        return None
    return answer


async def follow(
    job: Job, view: View, worker: Worker | None = None, *, unblock: bool = False
) -> ResearchResult | Status:
    """Show the job until it ends; its result, or its status where it is blocked.

    With `unblock` a job that was found blocked is sent on, once.
    """
    ending = asyncio.ensure_future(result(job))
    asking = asyncio.ensure_future(status(job))
    sent_on: Blocked | None = None
    try:
        while True:
            # An answer waits for a worker; the worker is looked after in the meantime.
            await asyncio.wait({ending}, timeout=POLL_SECONDS)
            if ending.done():
                ended = ending.result()
                if last := await status(job, seconds=1.0):
                    view.show(last)
                return ended
            if worker is not None and (note := worker.look()):
                view.say(note)
            if not asking.done():
                continue
            now, asking = asking.result(), asyncio.ensure_future(status(job))
            if now is None:
                continue
            view.show(now)
            if now.blocked is None or now.blocked == sent_on:
                continue
            if not unblock or sent_on is not None:
                return now
            # The same block may still be shown for a moment after it was lifted.
            sent_on = now.blocked
            view.say(f"It was blocked ({sent_on.reason}) and goes on now.")
            await resume(job)
    finally:
        for task in (ending, asking):
            task.cancel()
        await asyncio.gather(ending, asking, return_exceptions=True)


async def result(job: Job) -> ResearchResult:
    """Wait for the result. A server that is gone for a moment is waited for."""
    outage = 0.0
    while True:
        try:
            return await job.handle.result()
        except WorkflowFailureError as error:
            raise ConsoleError(
                f"The job {job.id} did not finish: {cause(error)}. Start it again with the same"
                f" --id; what it had bought is kept."
            ) from error
        except RPCError as error:
            if outage >= _OUTAGE_SECONDS or error.status in _HOPELESS:
                raise ConsoleError(
                    f"The server does not answer any more ({error.message}): when it is back,"
                    f" `resume {job.id}` takes the job up."
                ) from error
        await asyncio.sleep(1)
        outage += 1


async def resume(job: Job) -> bool:
    """Send a blocked job on; False where it is not blocked."""
    try:
        await job.handle.execute_update("resume", Resume(), result_type=str)
    except WorkflowUpdateFailedError:
        return False
    except RPCError as error:
        raise ConsoleError(
            f"The job {job.id} could not be told to go on ({error.message}): is a worker running?"
        ) from error
    return True


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
    while isinstance(error, FailureError | WorkflowFailureError) and error.cause is not None:
        error = error.cause
    return str(error).rstrip(".") or type(error).__name__


def keyword(execution: WorkflowExecution, name: str) -> str:
    return execution.typed_search_attributes.get(SearchAttributeKey.for_keyword(name), "")


_GOING = (WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.CONTINUED_AS_NEW)
_GOING_OR_DONE = (*_GOING, WorkflowExecutionStatus.COMPLETED)
_HOPELESS = (
    RPCStatusCode.NOT_FOUND,
    RPCStatusCode.PERMISSION_DENIED,
    RPCStatusCode.UNAUTHENTICATED,
    RPCStatusCode.INVALID_ARGUMENT,
)
