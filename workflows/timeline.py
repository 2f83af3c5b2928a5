"""Which step of a job ran when.

Read off the workflow's own clock, which replay reads the same. A step that is broken off leaves no
span; one that was waited for by an operator's leave has the waiting in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from temporalio import workflow

from workflows.evidence import Record

if TYPE_CHECKING:
    from workflows.contracts import ResearchState


class Span(Record):
    """One step, in seconds since the job began."""

    step: str
    """`open`, `plan`, `review`, `research`, `verify`, `write` or `evaluate`."""
    facet_id: str = ""
    """Whose research or verification it was; empty where it was about the whole."""
    n: int = 0
    """The pass; 0 is the first draft."""
    began: float
    ended: float


@contextmanager
def timed(state: ResearchState, step: str, facet_id: str = "") -> Iterator[None]:
    """Enter what is done inside into the timeline, once it is done."""
    began, n = _elapsed(state), len(state.passes)
    yield
    # Not in a `finally`: a run that is put out of memory in the middle has no clock any more.
    span = Span(step=step, facet_id=facet_id, n=n, began=began, ended=_elapsed(state))
    state.timeline += (span,)


def _elapsed(state: ResearchState) -> float:
    try:
        start = datetime.fromisoformat(state.started_at)
    except ValueError:
        return 0.0
    start = start if start.tzinfo else start.replace(tzinfo=UTC)
    return round((workflow.now() - start).total_seconds(), 3)
