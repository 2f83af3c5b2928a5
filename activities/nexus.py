"""The handler of the Nexus service, which other namespaces call.

Callers can do no more than the contract says: their ids get a prefix, so that jobs that were not
started here can be neither seen nor cancelled, and the job signals nobody for them.
"""

from __future__ import annotations

from datetime import timedelta

import nexusrpc
from nexusrpc import HandlerError, HandlerErrorType
from nexusrpc.handler import StartOperationContext, service_handler, sync_operation
from temporalio import nexus
from temporalio.client import WorkflowHandle, WorkflowQueryFailedError
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from workflows.contracts.nexus import (
    PREFIX,
    CancelRequested,
    GetReport,
    ResearchId,
    ResearchService,
    StartResearch,
)
from workflows.contracts.request import TASK_QUEUE
from workflows.contracts.result import ReportPage, ResearchSummary, Status
from workflows.coordinator import ResearchWorkflow

# The server gives a synchronous operation ten seconds.
_SOON = timedelta(seconds=8)


@service_handler(service=ResearchService)
class ResearchHandler:
    def __init__(self, task_timeout: timedelta) -> None:
        self._task_timeout = task_timeout

    @nexus.workflow_run_operation
    async def start(
        self, ctx: nexus.WorkflowRunOperationContext, asked: StartResearch
    ) -> nexus.WorkflowHandle[ResearchSummary]:
        if asked.request.notify is not None:
            raise HandlerError(
                "signals do not cross namespaces: leave `notify` out and ask for `status`",
                type=HandlerErrorType.BAD_REQUEST,
            )
        try:
            # With the same request id, the server returns the job that it started before.
            return await ctx.start_workflow(
                ResearchWorkflow.run,
                args=[asked.request],
                id=PREFIX + (asked.id or ctx.request_id),
                task_queue=TASK_QUEUE,
                task_timeout=self._task_timeout,
            )
        except WorkflowAlreadyStartedError as error:
            raise HandlerError(
                f"a research {asked.id!r} is running already: choose another id",
                type=HandlerErrorType.BAD_REQUEST,
            ) from error

    @sync_operation
    async def status(self, ctx: StartOperationContext, research: ResearchId) -> Status:
        try:
            return await _job(research).query(ResearchWorkflow.status, rpc_timeout=_SOON)
        except (RPCError, WorkflowQueryFailedError) as error:
            raise _fault(error, research) from error

    @sync_operation
    async def report(self, ctx: StartOperationContext, wanted: GetReport) -> ReportPage:
        research = ResearchId(id=wanted.id)
        try:
            return await _job(research).query(
                ResearchWorkflow.report_page, wanted.page, rpc_timeout=_SOON
            )
        except WorkflowQueryFailedError as error:
            raise HandlerError(
                error.message, type=HandlerErrorType.BAD_REQUEST, retryable_override=False
            ) from error
        except RPCError as error:
            raise _fault(error, research) from error

    @sync_operation
    async def cancel(self, ctx: StartOperationContext, research: ResearchId) -> CancelRequested:
        try:
            await _job(research).cancel(rpc_timeout=_SOON)
        except RPCError as error:
            raise _fault(error, research) from error
        return CancelRequested(id=research.id)


def _job(research: ResearchId) -> WorkflowHandle[ResearchWorkflow, ResearchSummary]:
    return nexus.client().get_workflow_handle_for(ResearchWorkflow.run, PREFIX + research.id)


def _fault(error: Exception, research: ResearchId) -> nexusrpc.HandlerError:
    """`not found` is final; anything else is retried."""
    if isinstance(error, RPCError) and error.status is RPCStatusCode.NOT_FOUND:
        return HandlerError(
            f"no research {research.id!r} was started over this service, or it has ended",
            type=HandlerErrorType.NOT_FOUND,
            retryable_override=False,
        )
    return HandlerError(
        f"the research {research.id!r} does not answer: is a worker running?",
        type=HandlerErrorType.UNAVAILABLE,
    )
