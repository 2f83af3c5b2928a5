"""A worker's log: each line ends with its job, trace and span ids, if it has any."""

from __future__ import annotations

import logging
from collections.abc import Callable

from opentelemetry import trace
from temporalio import activity, workflow

FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s%(place)s"


class RedactingFormatter(logging.Formatter):
    """Removes secrets: the message of an exception may quote its arguments."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__(FORMAT)
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))


def set_up_logging(redact: Callable[[str], str], level: int = logging.INFO) -> None:
    """Log to standard error, each line passed through `redact`."""
    handler = logging.StreamHandler()
    handler.setFormatter(RedactingFormatter(redact))
    handler.addFilter(add_ids)
    logging.basicConfig(level=level, handlers=[handler])
    # At lower levels these libraries log URLs with their query parameters.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    logging.getLogger("anthropic").setLevel(logging.INFO)


def add_ids(record: logging.LogRecord) -> bool:
    """A logging filter that adds the ids and passes every record."""
    ids = {"job_id": _job_id()}
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        ids["trace_id"] = f"{context.trace_id:032x}"
        ids["span_id"] = f"{context.span_id:016x}"
    text = " ".join(f"{name}={value}" for name, value in ids.items() if value)
    record.__dict__.update(ids)
    record.place = f" [{text}]" if text else ""
    return True


def _job_id() -> str:
    found = None
    if workflow.in_workflow():
        found = workflow.info().workflow_id
    elif activity.in_activity():
        found = activity.info().workflow_id
    # The workflow id of a pass begins with that of its job.
    return (found or "").partition("/pass-")[0]
