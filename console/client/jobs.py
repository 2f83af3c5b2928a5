"""Jobs on a Temporal server: find, query, update, cancel, wait.

A job's id is its workflow id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowQueryRejectedError,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import ApplicationError, FailureError
from temporalio.service import RPCError, RPCStatusCode

from console.client.audit import current_actor, is_visible, recorded
from console.errors import BadInputError, ConflictError, ConsoleError, NotFoundError
from console.runtime.data_converter import store_of
from workflows.contracts.evidence import Message
from workflows.contracts.messages import Approve, Change, OperatorMessage, SetBudget, Steer
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.contracts.result import ReportPage, ResearchResult, ResearchSummary, Status
from workflows.contracts.spend import Budget
from workflows.contracts.state import Gap, ResearchState

if TYPE_CHECKING:
    from temporalio.api.taskqueue.v1 import PollerInfo

WORKFLOW = "ResearchWorkflow"
CLOSED_FOR_RESTART = "restarted from a checkpoint"
OPEN_STATUSES = (WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.CONTINUED_AS_NEW)

# Half a minute: a restart closes the passes of the old run before it starts the new one.
_RESTART_TRIES = 150
# How long an outage of the server may last while a result is awaited.
_OUTAGE_SECONDS = 30.0
_WRAPPERS = (FailureError, WorkflowFailureError, WorkflowUpdateFailedError)
_PERMANENT = (
    RPCStatusCode.NOT_FOUND,
    RPCStatusCode.PERMISSION_DENIED,
    RPCStatusCode.UNAUTHENTICATED,
    RPCStatusCode.INVALID_ARGUMENT,
)

Answer = TypeVar("Answer")
Handle = WorkflowHandle[Any, ResearchSummary]


class JobNotFoundError(NotFoundError):
    """The server has no job of this id, or none that the actor may see."""

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"There is no job {job_id}: `list` shows the existing ones, and `checkpoints {job_id}`"
            " the checkpoints of a job the server has deleted."
        )
        self.job_id = job_id


class UpdateRejectedError(ConflictError):
    """The workflow rejected an update for this reason."""

    def __init__(self, job_id: str, reason: str) -> None:
        super().__init__(
            f"The job {job_id} rejects that: {reason}; `status {job_id}` shows its state."
        )
        self.reason = reason


class StartState(StrEnum):
    NEW = "new"
    RESTARTED = "restarted"
    RUNNING = "running"
    FINISHED = "finished"


@dataclass(frozen=True)
class Job:
    handle: Handle
    found: StartState

    @property
    def id(self) -> str:
        return self.handle.id


async def find(client: Client, job_id: str) -> tuple[Job, WorkflowExecutionDescription]:
    """The job of this id, open or closed. Raises `JobNotFoundError`."""
    description = await describe(client, job_id)
    if description is None:
        raise JobNotFoundError(job_id)
    is_open = description.status in OPEN_STATUSES
    found = StartState.RUNNING if is_open else StartState.FINISHED
    return Job(get_handle(client, job_id), found), description


async def find_running(client: Client, job_id: str, since: datetime | None = None) -> Job:
    """The job of this id. Raises `ConflictError` if it has ended, unless it ran at `since`."""
    job, description = await find(client, job_id)
    ended = description.close_time
    if description.status in OPEN_STATUSES or (since and ended and ended > since):
        return job
    raise ConflictError(_describe_end(job_id, description.status))


async def describe(client: Client, job_id: str) -> WorkflowExecutionDescription | None:
    try:
        description = await client.get_workflow_handle(job_id).describe()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise no_answer(error) from error
    if description.workflow_type != WORKFLOW:
        raise BadInputError(f"{job_id} is not a research job: choose another id.")
    if not await is_visible(description):
        raise JobNotFoundError(job_id)
    return description


def get_handle(client: Client, job_id: str) -> Handle:
    return client.get_workflow_handle(job_id, result_type=ResearchSummary)


async def fetch_start_input(
    client: Client, job_id: str
) -> tuple[ResearchRequest, ResearchState | None]:
    """The input of the last run, from its history; no worker has to answer."""
    events = client.get_workflow_handle(job_id).fetch_history_events(page_size=1)
    async for event in events:
        payloads = event.workflow_execution_started_event_attributes.input.payloads
        types: list[Any] = [ResearchRequest, ResearchState | None]
        try:
            values = await client.data_converter.decode(payloads, types[: len(payloads)])
        except ValidationError as error:
            raise ConsoleError(
                f"The job {job_id} was started by another version and cannot be continued: run its"
                f" question under another --id ({error.error_count()} fields differ)."
            ) from error
        return values[0], values[1] if len(values) > 1 else None
    raise ConsoleError(f"The history of {job_id} is empty: start the job again.")


async def fetch_checkpoint_keys(client: Client, job_id: str) -> set[str]:
    """The keys of the checkpoints that the last run's history knows; no worker has to answer."""
    keys: set[str] = set()
    async for event in client.get_workflow_handle(job_id).fetch_history_events():
        details = event.marker_recorded_event_attributes.details
        for payload in details["result"].payloads if "result" in details else ():
            [value] = await client.data_converter.decode([payload])
            if isinstance(value, str):
                keys.add(value)
    return keys


def find_passes(description: WorkflowExecutionDescription) -> list[str]:
    """The ids of the open refinement passes; a job has deliveries of webhooks as children, too."""
    children = description.raw_description.pending_children
    return [c.workflow_id for c in children if c.workflow_type_name == "RefinementWorkflow"]


async def query_status(job: Job, seconds: float = 3.0) -> Status | None:
    """The job's status; None if no worker answers."""
    return await _query(job, "status", Status, seconds)


async def query_state(job: Job, seconds: float = 3.0) -> ResearchState | None:
    """The job's whole state; None if no worker answers."""
    return await _query(job, "state", ResearchState, seconds)


async def query_gaps(job: Job, seconds: float = 3.0) -> tuple[Gap, ...] | None:
    """The gaps of the job, with their texts; None if no worker answers."""
    return await _query(job, "gaps", tuple[Gap, ...], seconds)


async def _query(job: Job, query: str, result_type: type[Answer], seconds: float) -> Answer | None:
    try:
        answer: Answer = await job.handle.query(
            query, result_type=result_type, rpc_timeout=timedelta(seconds=seconds)
        )
    except (RPCError, WorkflowQueryFailedError, WorkflowQueryRejectedError):
        return None
    return answer


async def wait_for_result(job: Job) -> ResearchResult:
    """The job's result. Short outages of the server and restarts of the job are waited out."""
    outage = 0.0
    while True:
        try:
            return await fetch_report(job.handle)
        except WorkflowFailureError as error:
            if await _was_restarted(job, error):
                continue
            raise ConsoleError(
                f"The job {job.id} did not finish: {root_cause(error)}. `restart {job.id}`"
                " continues from its last checkpoint; completed work is not paid again."
            ) from error
        except RPCError as error:
            if outage >= _OUTAGE_SECONDS or error.status in _PERMANENT:
                raise ConsoleError(
                    f"The server does not answer any more ({error.message}): when it is back,"
                    f" `resume {job.id}` continues the job."
                ) from error
        await asyncio.sleep(1)
        outage += 1


async def _was_restarted(job: Job, error: WorkflowFailureError) -> bool:
    """True if the run was closed for a restart, after the next run has started."""
    for _ in range(_RESTART_TRIES if root_cause(error) == CLOSED_FOR_RESTART else 0):
        description = await job.handle.describe()
        if description.status is not WorkflowExecutionStatus.TERMINATED:
            return True
        await asyncio.sleep(0.2)
    return False


async def wait_for_workflow(
    handle: WorkflowHandle[Any, Answer],
    failed: str,
    on_wait: Callable[[], Awaitable[None]],
    interval: float,
) -> Answer:
    """The result of a short workflow; `on_wait` is called every `interval` seconds until then.

    Raises `ConsoleError`, with `failed` before the cause, if the workflow fails.
    """
    ending = asyncio.ensure_future(handle.result())
    try:
        while not (await asyncio.wait({ending}, timeout=interval))[0]:
            await on_wait()
        return ending.result()
    except WorkflowFailureError as error:
        raise ConsoleError(f"{failed}: {root_cause(error)}.") from error
    finally:
        ending.cancel()


async def fetch_outcome(job: Job) -> ResearchResult | str:
    """The result of a closed job, or the reason why there is none."""
    try:
        return await fetch_report(job.handle)
    except WorkflowFailureError as error:
        return root_cause(error)


async def fetch_report(handle: Handle) -> ResearchResult:
    """The full report of a job, when it has completed: from the store, else from a worker."""
    summary = await handle.result()
    try:
        return await store_of(handle._client).load(summary.report.key, ResearchResult)
    except ApplicationError as missing:
        pages: list[str] = []
        try:
            while len(pages) < summary.report.pages:
                page = await handle.query("report_page", len(pages), result_type=ReportPage)
                pages.append(page.text)
        except (RPCError, WorkflowQueryFailedError):
            raise ConsoleError(
                f"The report of {handle.id} cannot be read: {missing.message}."
            ) from missing
        return ResearchResult.model_validate_json("".join(pages))


async def send_update(job: Job, update: str, message: Message) -> str:
    """The workflow's answer to an update. Raises `UpdateRejectedError`."""
    if isinstance(message, OperatorMessage):
        message = message.model_copy(update={"by": current_actor().name})
    with recorded(message.decision if isinstance(message, Approve) else update, job.id):
        return await _execute_update(job, update, message)


async def _execute_update(job: Job, update: str, message: Message) -> str:
    while True:
        try:
            answer: str = await job.handle.execute_update(update, message, result_type=str)
            return answer
        except WorkflowUpdateFailedError as error:
            raise UpdateRejectedError(job.id, root_cause(error)) from error
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise ConsoleError(
                    f"The job {job.id} did not accept the update ({error.message}): is a worker"
                    " running?"
                ) from error
            description = await job.handle.describe()
            if description.status not in OPEN_STATUSES:
                raise ConflictError(_describe_end(job.id, description.status)) from error
            # The run continued as new in the meantime.
            await asyncio.sleep(0.2)


async def steer(
    job: Job, changes: Sequence[Change], usd: float | None = None, tokens: int | None = None
) -> str:
    """Send changes, and new budget limits, as one update."""
    messages = tuple(changes)
    if usd is not None or tokens is not None:
        # `SetBudget` replaces both limits, so the one that was not given is read first.
        state = await query_state(job)
        while state is None:
            await asyncio.sleep(0.2)
            state = await query_state(job)
        old = state.request.budget
        budget = Budget(
            usd=usd if usd is not None else old.usd,
            tokens=tokens if tokens is not None else old.tokens,
        )
        messages = (*messages, SetBudget(budget=budget))
    return await send_update(job, "steer", Steer(changes=messages))


async def cancel(job: Job) -> bool:
    """Cancel the job and wait for its end; False if it completed first."""
    with recorded("cancel", job.id):
        await job.handle.cancel(reason=f"cancelled by {current_actor().name or 'a client'}")
        try:
            await wait_for_result(job)
        except ConsoleError:
            return True
        return False


async def has_worker(client: Client) -> bool:
    """True if a worker polls the task queue, or did so within the length of a poll."""
    recent = datetime.now(UTC) - timedelta(seconds=75)
    pollers = await find_pollers(client, TASK_QUEUE)
    return any(poller.last_access_time.ToDatetime(UTC) > recent for poller in pollers)


async def find_pollers(client: Client, task_queue: str) -> list[PollerInfo]:
    """The workers that polled for workflow tasks in the last minutes."""
    description = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=task_queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        )
    )
    return list(description.pollers)


def root_cause(error: BaseException) -> str:
    """The innermost message: Temporal's wrappers only say that something inside failed."""
    while isinstance(error, _WRAPPERS) and error.cause is not None:
        error = error.cause
    message = error.message if isinstance(error, FailureError) else str(error)
    return message.rstrip(".") or type(error).__name__


def no_answer(error: RPCError) -> ConsoleError:
    return ConsoleError(f"The server does not answer ({error.message}): try again later.")


def _describe_end(job_id: str, status: WorkflowExecutionStatus | None) -> str:
    if status is WorkflowExecutionStatus.COMPLETED:
        return (
            f"The job {job_id} is complete: `result {job_id}` writes its report, `fork {job_id}`"
            " continues from one of its checkpoints."
        )
    how = status.name.lower().replace("_", " ").replace("canceled", "cancelled") if status else ""
    return f"The job {job_id} has already ended ({how}): `restart {job_id}` restarts it."
