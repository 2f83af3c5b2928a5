"""One trace per job: from its start, over its runs and activities, to each model turn.

    StartWorkflow                 in the client
      RunWorkflow                 one run; the run of a pass is below its parent's
        RunActivity               one activity with all its attempts
          chat …                  a turn (activities/telemetry.py)
          FailedTry               an attempt that will be retried

A span is sent when it ends, so a killed process never sends its open spans, and their children
would have no parent. Therefore the span ids of runs and activities are deterministic, and the
worker that continues the work ends the same span. A run's id comes from the workflow's random
generator, an activity's from a hash of its run id and activity id.

Spans record only the type of an error, because its message may contain the question. Queries are
not traced.
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
_span_id: ContextVar[int | None] = ContextVar("span_id", default=None)


class TracingPlugin(OpenTelemetryPlugin):
    """Temporal's plugin carries the context between processes; the spans are made here."""

    def __init__(self) -> None:
        super().__init__()
        # The first is the outermost: a client span starts before the context is sent, a run's
        # after it was received.
        self.interceptors = [ClientTracing(), *(self.interceptors or ()), WorkerTracing()]


class ActivitySpanIds(RandomIdGenerator):
    """Random ids, except for a span whose id is set."""

    def generate_span_id(self) -> int:
        return _span_id.get() or super().generate_span_id()


class ClientTracing(temporalio.client.Interceptor):
    """Spans of workflow starts and updates."""

    def intercept_client(
        self, next: temporalio.client.OutboundInterceptor
    ) -> temporalio.client.OutboundInterceptor:
        return _TracedClient(next)


class _TracedClient(temporalio.client.OutboundInterceptor):
    async def start_workflow(self, input: temporalio.client.StartWorkflowInput) -> Any:
        with _client_span(f"StartWorkflow:{input.workflow}", input.id):
            return await super().start_workflow(input)

    async def start_workflow_update(self, input: temporalio.client.StartWorkflowUpdateInput) -> Any:
        with _client_span(f"UpdateWorkflow:{input.update}", input.id):
            return await super().start_workflow_update(input)

    async def start_update_with_start_workflow(
        self, input: temporalio.client.StartWorkflowUpdateWithStartInput
    ) -> Any:
        start = input.start_workflow_input
        with _client_span(f"StartWorkflow:{start.workflow}", start.id):
            return await super().start_update_with_start_workflow(input)


class WorkerTracing(temporalio.worker.Interceptor):
    """Spans of workflow runs and activities."""

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
        with _use_span(span):
            try:
                result = await super().execute_workflow(input)
            except workflow.ContinueAsNewError:
                span.end()
                raise
            except (Exception, asyncio.CancelledError) as error:
                # Any other error fails the workflow task, which is retried. A run that is evicted
                # from the cache is cancelled too; its end is not sent.
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
        attributes: dict[str, str | int] = {
            "temporalWorkflowID": info.workflow_id or "",
            "temporalRunID": info.workflow_run_id or "",
            "temporalActivityID": info.activity_id,
            "temporalActivityAttempt": info.attempt,
        }
        token = _span_id.set(_activity_span_id(info))
        try:
            span = _tracer().start_span(
                f"RunActivity:{info.activity_type}",
                kind=SpanKind.SERVER,
                attributes=attributes,
                # The span covers all attempts.
                start_time=began if first else int(info.scheduled_time.timestamp() * 1e9),
            )
        finally:
            _span_id.reset(token)
        with _use_span(span):
            try:
                result = await super().execute_activity(input)
            except (Exception, asyncio.CancelledError) as error:
                ended = span
                if _will_be_retried(info, error):
                    # Another attempt ends the activity's span.
                    ended = _tracer().start_span(
                        f"FailedTry:{info.activity_type}", attributes=attributes, start_time=began
                    )
                _fail(ended, error)
                ended.end()
                raise
        span.end()
        return result


def _activity_span_id(info: activity.Info) -> int | None:
    """The same id for every attempt. None for a local activity, which runs again with its workflow
    task and may send two spans."""
    if info.is_local:
        return None
    place = f"{info.workflow_run_id}/{info.activity_id}".encode()
    return int.from_bytes(hashlib.sha256(place).digest()[:8], "big") or None


def _will_be_retried(info: activity.Info, error: BaseException) -> bool:
    """Whether Temporal will retry this activity."""
    if isinstance(error, asyncio.CancelledError):
        details = activity.cancellation_details()
        return details is not None and (details.worker_shutdown or details.timed_out)
    policy = info.retry_policy
    final = policy.non_retryable_error_types or () if policy else ()
    if isinstance(error, ApplicationError) and (error.non_retryable or error.type in final):
        return False
    return not (policy and 0 < policy.maximum_attempts <= info.attempt)


@contextmanager
def _client_span(name: str, job: str) -> Iterator[None]:
    span = _tracer().start_span(name, kind=SpanKind.CLIENT, attributes={"temporalWorkflowID": job})
    with _use_span(span):
        try:
            yield
        except Exception as error:
            _fail(span, error)
            raise
        finally:
            span.end()


@contextmanager
def _use_span(span: Span) -> Iterator[None]:
    with trace.use_span(span, record_exception=False, set_status_on_exception=False):
        yield


def _fail(span: Span, error: BaseException) -> None:
    kind = (error.type if isinstance(error, ApplicationError) else None) or type(error).__name__
    span.set_status(StatusCode.ERROR, kind)
    span.set_attribute("error.type", kind)


def _tracer() -> trace.Tracer:
    return trace.get_tracer(SCOPE)
