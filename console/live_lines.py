"""A running job as plain lines, for a file, a pipe or a terminal that cannot redraw.

One line for every change, and none where nothing changed; but a quiet job says at least once a
minute what it waits for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from console import live_words as words

if TYPE_CHECKING:
    from console.progress import Progress
    from workflows.contracts.result import Status
    from workflows.contracts.state import Gap

QUIET_SECONDS = 60.0


class LinesView:
    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._phase = ""
        self._facets: dict[str, str] = {}
        self._gaps: tuple[Gap, ...] = ()
        self._counts = ""
        self._notice = ""
        self._failures: set[tuple[str, int]] = set()
        self._spoke = clock()

    def __enter__(self) -> LinesView:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def say(self, text: str) -> None:
        self._spoke = self._clock()
        print(text, file=self._stream, flush=True)

    def show(self, seen: Progress) -> None:
        if seen.answered:
            self._show_status(seen.status, seen.needs)
            for gap in words.changed(self._gaps, seen.gaps):
                self.say(f"  {words.gap_line(gap)}")
            self._gaps = seen.gaps
            self._show_counts(seen)
        self._show_retries(seen)
        if self._clock() - self._spoke >= QUIET_SECONDS and (what := _still(seen)):
            self.say(f"  still {what}")

    def _show_status(self, status: Status, needs: str) -> None:
        phase = f"{status.phase} {status.passes}"
        if phase != self._phase:
            self._phase = phase
            self.say(words.headline(status))
        if needs != self._notice:
            self._notice = needs
            self.say(f"  {words.plain(needs) or 'goes on'}")
        for facet in status.facets:
            if self._facets.get(facet.id) != facet.status:
                self._facets[facet.id] = facet.status
                self.say(f"  {words.mark(facet)} {words.plain(facet.title)}: {words.found(facet)}")

    def _show_counts(self, seen: Progress) -> None:
        counts = words.counts(seen.status, seen.gaps)
        if counts and counts != self._counts:
            self._counts = counts
            self.say(f"  {counts}")

    def _show_retries(self, seen: Progress) -> None:
        """A failure that Temporal is trying again, once for each attempt."""
        for one in seen.waiting:
            failed = (one.step, one.attempt)
            if one.last_failure and failed not in self._failures:
                self._failures.add(failed)
                self.say(f"  ! {words.waiting_line(one)}")


def _still(seen: Progress) -> str:
    return words.awaited(seen) or seen.needs or f"at {words.headline(seen.status)}"
