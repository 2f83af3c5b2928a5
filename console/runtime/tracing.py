"""One trace for a job: from what started it, over its runs and activities, to each model turn.

    StartWorkflow                 by whoever starts the job
      RunWorkflow                 one run; of a pass too, below the run that started it
        RunActivity               one activity over all its tries
          chat …                  a turn (activities/telemetry.py)
          FailedTry               a try that will be followed by another

A span is sent when it ends, so a process that is killed never sends those it had open, and what
hung below them would hang in the air. Therefore a run and an activity have ids that follow from
what they are: whoever takes over ends the same span. A run's comes from the workflow's own random
numbers, an activity's from its place in the run.

Errors are told by their kind: their words may hold what was asked. Queries are not traced.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import temporalio.client
import temporalio.worker
from opentelemetry import trace
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Span, SpanKind, StatusCode
from temporalio import activity, workflow
from temporalio.contrib.opentelemetry import OpenTelemetryPlugin
from temporalio.exceptions import ApplicationError

SCOPE = "durable-research"
_chosen: ContextVar[int | None] = ContextVar("chosen", default=None)


class Tracing(OpenTelemetryPlugin):
    """Temporal's own plugin carries the context from one process to the next; spans are ours."""

    def __init__(self) -> None:
        super().__init__()
        # The first is the outermost: a trigger's span is there before the context is sent, and a
        # run's is made after it was received.
        self.interceptors = [Triggers(), *(self.interceptors or ()), Runs()]


class Ids(RandomIdGenerator):
    """Random ids, but for a span whose id was chosen."""

    def generate_span_id(self) -> int:
        return _chosen.get() or super().generate_span_id()


class Triggers(temporalio.client.Interceptor):
    """Spans of what people and programs ask of a job."""

    def intercept_client(
        self, next: temporalio.client.OutboundInterceptor
    ) -> temporalio.client.OutboundInterceptor:
        return _Triggered(next)


class _Triggered(temporalio.client.OutboundInterceptor):
    async def start_workflow(self, input: temporalio.client.StartWorkflowInput) -> Any:
        with _trigger(f"StartWorkflow:{input.workflow}", input.id):
            return await super().start_workflow(input)

    async def start_workflow_update(self, input: temporalio.client.StartWorkflowUpdateInput) -> Any:
        with _trigger(f"UpdateWorkflow:{input.update}", input.id):
            return await super().start_workflow_update(input)

    async def start_update_with_start_workflow(
        self, input: temporalio.client.StartWorkflowUpdateWithStartInput
    ) -> Any:
        start = input.start_workflow_input
        with _trigger(f"StartWorkflow:{start.workflow}", start.id):
            return await super().start_update_with_start_workflow(input)


class Runs(temporalio.worker.Interceptor):
    """Spans of runs and of activities."""

    def intercept_activity(
        self, next: temporalio.worker.ActivityInboundInterceptor
    ) -> temporalio.worker.ActivityInboundInterceptor:
        return _RunActivity(next)

    def workflow_interceptor_class(
        self, input: temporalio.worker.WorkflowInterceptorClassInput
    ) -> type[temporalio.worker.WorkflowInboundInterceptor]:
        return _RunWorkflow


class _RunWorkflow(temporalio.worker.WorkflowInboundInterceptor):
    async def execute_workflow(self, input: temporalio.worker.ExecuteWorkflowInput) -> Any:
        info = workflow.info()
        span = _tracer().start_span(
            f"RunWorkflow:{info.workflow_type}",
            kind=SpanKind.SERVER,
            attributes={"temporalWorkflowID": info.workflow_id, "temporalRunID": info.run_id},
        )
        with _current(span):
            try:
                result = await super().execute_workflow(input)
            except workflow.ContinueAsNewError:
                span.end()
                raise
            except (Exception, asyncio.CancelledError) as error:
                # Any other error fails a workflow task, which is tried again. A run that only
                # leaves this worker's memory is cancelled too, and then the end is not sent.
                if workflow.is_failure_exception(error) or isinstance(
                    error, asyncio.CancelledError
                ):
                    _fail(span, error)
                    span.end()
                raise
        span.end()
        return result


class _RunActivity(temporalio.worker.ActivityInboundInterceptor):
    async def execute_activity(self, input: temporalio.worker.ExecuteActivityInput) -> Any:
        info = activity.info()
        began = time.time_ns()
        first = info.attempt == 1 or info.is_local
        told: dict[str, str | int] = {
            "temporalWorkflowID": info.workflow_id or "",
            "temporalRunID": info.workflow_run_id or "",
            "temporalActivityID": info.activity_id,
            "temporalActivityAttempt": info.attempt,
        }
        token = _chosen.set(_own_id(info))
        try:
            span = _tracer().start_span(
                f"RunActivity:{info.activity_type}",
                kind=SpanKind.SERVER,
                attributes=told,
                # It holds what earlier tries did.
                start_time=began if first else int(info.scheduled_time.timestamp() * 1e9),
            )
        finally:
            _chosen.reset(token)
        with _current(span):
            try:
                result = await super().execute_activity(input)
            except (Exception, asyncio.CancelledError) as error:
                ended = span
                if _tried_again(info, error):
                    # The activity is not over: another try ends its span.
                    ended = _tracer().start_span(
                        f"FailedTry:{info.activity_type}", attributes=told, start_time=began
                    )
                _fail(ended, error)
                ended.end()
                raise
        span.end()
        return result


def _own_id(info: activity.Info) -> int | None:
    """The same for every try. A local activity is run anew with its workflow task, and may be
    heard of twice."""
    if info.is_local:
        return None
    place = f"{info.workflow_run_id}/{info.activity_id}".encode()
    return int.from_bytes(hashlib.sha256(place).digest()[:8], "big") or None


def _tried_again(info: activity.Info, error: BaseException) -> bool:
    """Whether Temporal will run this activity once more."""
    if isinstance(error, asyncio.CancelledError):
        why = activity.cancellation_details()
        return why is not None and (why.worker_shutdown or why.timed_out)
    policy = info.retry_policy
    final = policy.non_retryable_error_types or () if policy else ()
    if isinstance(error, ApplicationError) and (error.non_retryable or error.type in final):
        return False
    return not (policy and 0 < policy.maximum_attempts <= info.attempt)


@contextmanager
def _trigger(name: str, job: str) -> Iterator[None]:
    span = _tracer().start_span(name, kind=SpanKind.CLIENT, attributes={"temporalWorkflowID": job})
    with _current(span):
        try:
            yield
        except Exception as error:
            _fail(span, error)
            raise
        finally:
            span.end()


@contextmanager
def _current(span: Span) -> Iterator[None]:
    with trace.use_span(span, record_exception=False, set_status_on_exception=False):
        yield


def _fail(span: Span, error: BaseException) -> None:
    kind = (error.type if isinstance(error, ApplicationError) else None) or type(error).__name__
    span.set_status(StatusCode.ERROR, kind)
    span.set_attribute("error.type", kind)


def _tracer() -> trace.Tracer:
    return trace.get_tracer(SCOPE)
