"""A line of a worker's log can be found by its job and by its trace."""

from __future__ import annotations

import logging

from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext
from temporalio import activity
from temporalio.testing import ActivityEnvironment

from console.runtime.logs import FORMAT, add_ids


def line() -> str:
    record = logging.LogRecord("name", logging.INFO, "path", 1, "said", None, None)
    assert add_ids(record)
    return logging.Formatter(FORMAT.removeprefix("%(asctime)s ")).format(record)


def test_a_line_of_an_activity_names_its_job_trace_and_span() -> None:
    @activity.defn
    def act() -> str:
        span = NonRecordingSpan(SpanContext(trace_id=10, span_id=11, is_remote=False))
        with trace.use_span(span):
            return line()

    env = ActivityEnvironment()
    job = env.info.workflow_id
    said = env.run(act)
    assert said == f"INFO name said [job_id={job} trace_id={10:032x} span_id={11:016x}]"


def test_a_line_that_belongs_nowhere_is_as_it_was() -> None:
    assert line() == "INFO name said"
