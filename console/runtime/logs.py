"""A worker's log: each line says which job, trace and span it belongs to, where it has any."""

from __future__ import annotations

import logging
from collections.abc import Callable

from opentelemetry import trace
from temporalio import activity, workflow

FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s%(place)s"


class Discreet(logging.Formatter):
    """Log lines without secrets: what crashes may quote all that it was given."""

    def __init__(self, redacted: Callable[[str], str]) -> None:
        super().__init__(FORMAT)
        self._redacted = redacted

    def format(self, record: logging.LogRecord) -> str:
        return self._redacted(super().format(record))


def keep_log(redacted: Callable[[str], str], level: int = logging.INFO) -> None:
    """Log to standard error, each line as `redacted` leaves it."""
    handler = logging.StreamHandler()
    handler.setFormatter(Discreet(redacted))
    handler.addFilter(placed)
    logging.basicConfig(level=level, handlers=[handler])
    # At lower levels the libraries log the address they call, with what stands in it.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    logging.getLogger("anthropic").setLevel(logging.INFO)


def placed(record: logging.LogRecord) -> bool:
    """Adds where a record comes from; every record passes."""
    known = {"job_id": _job()}
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        known["trace_id"] = f"{context.trace_id:032x}"
        known["span_id"] = f"{context.span_id:016x}"
    said = " ".join(f"{name}={value}" for name, value in known.items() if value)
    record.__dict__.update(known)
    record.place = f" [{said}]" if said else ""
    return True


def _job() -> str:
    found = None
    if workflow.in_workflow():
        found = workflow.info().workflow_id
    elif activity.in_activity():
        found = activity.info().workflow_id
    # A pass belongs to its job.
    return (found or "").partition("/pass-")[0]
