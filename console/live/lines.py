"""A running job as plain lines, for a file, a pipe or a terminal that cannot redraw.

One line per change; a job without changes prints once a minute what it waits for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from console.live import format
from console.text import plain

if TYPE_CHECKING:
    from console.client.progress import Progress
    from workflows.contracts.result import Status
    from workflows.contracts.state import Gap

QUIET_SECONDS = 60.0


class LinesView:
    def __init__(self, stream: TextIO, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._monotonic = monotonic
        self._phase = ""
        self._facets: dict[str, str] = {}
        self._gaps: tuple[Gap, ...] = ()
        self._counts = ""
        self._needs = ""
        self._failures: set[tuple[str, int]] = set()
        self._printed_at = monotonic()

    def __enter__(self) -> LinesView:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def say(self, text: str) -> None:
        self._printed_at = self._monotonic()
        print(text, file=self._stream, flush=True)

    def show(self, progress: Progress) -> None:
        if progress.answered:
            self._show_status(progress.status, progress.needs)
            for gap in format.changed_gaps(self._gaps, progress.gaps):
                self.say(f"  {format.gap_line(gap)}")
            self._gaps = progress.gaps
            counts = format.counts(progress.status, progress.gaps)
            if counts and counts != self._counts:
                self._counts = counts
                self.say(f"  {counts}")
        self._show_retries(progress)
        if self._monotonic() - self._printed_at >= QUIET_SECONDS:
            self.say(f"  still {_current_step(progress)}")

    def _show_status(self, status: Status, needs: str) -> None:
        phase = f"{status.phase} {status.passes}"
        if phase != self._phase:
            self._phase = phase
            self.say(format.headline(status))
        if needs != self._needs:
            self._needs = needs
            self.say(f"  {plain(needs) or 'continues'}")
        for facet in status.facets:
            if self._facets.get(facet.id) != facet.status:
                self._facets[facet.id] = facet.status
                self.say(f"  {format.mark(facet)} {plain(facet.title)}: {format.outcome(facet)}")

    def _show_retries(self, progress: Progress) -> None:
        """One line per failed attempt."""
        for step in progress.pending:
            attempt = (step.step, step.attempt)
            if step.last_failure and attempt not in self._failures:
                self._failures.add(attempt)
                self.say(f"  ! {format.pending_line(step)}")


def _current_step(progress: Progress) -> str:
    if progress.pending:
        longest = progress.pending[0]
        rest = sum(step.count for step in progress.pending) - longest.count
        return format.pending_line(longest) + (f", and {rest} more" if rest else "")
    if not progress.answered:
        return "no worker answers"
    return progress.needs or f"at {format.headline(progress.status)}"
