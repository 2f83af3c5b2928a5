"""A job while it runs: a view that redraws itself on a terminal, one line per change elsewhere.

Both say the same things: where it is, each facet as it runs, gaps as they open and close,
contradictions, money, and what is waited for.
"""

from __future__ import annotations

import contextlib
import io
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TextIO

from rich.console import Console

from console.live_lines import LinesView
from console.live_table import TableView
from console.live_words import count

if TYPE_CHECKING:
    from console.progress import Progress
    from workflows.contracts.result import ResearchResult


class View(Protocol):
    """Where progress is shown."""

    def show(self, seen: Progress) -> None: ...

    def say(self, text: str) -> None: ...

    def __enter__(self) -> View: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def view(stream: TextIO) -> View:
    """The table on a terminal that can redraw, plain lines into anything else."""
    if isinstance(stream, io.TextIOWrapper):
        # A terminal or a file that cannot write a mark is no reason to stop.
        with contextlib.suppress(OSError):
            stream.reconfigure(errors="replace")
    redraws = stream.isatty() and not Console(file=stream).is_dumb_terminal
    return TableView(stream) if redraws else LinesView(stream)


def summary(result: ResearchResult) -> str:
    """The job in two lines: what is in the report, and what it took."""
    numbers = result.telemetry
    open_gaps = sum(gap.status != "closed" for gap in result.gaps)
    passes = sum(item.n > 0 for item in result.passes)
    holds = (
        count(len(result.claims), "claim"),
        count(sum(source.n is not None for source in result.sources), "source") + " cited",
        count(len(result.contradictions), "contradiction"),
        f"{count(open_gaps, 'gap')} not closed",
    )
    took = (
        f"${numbers.usd:.2f}",
        count(numbers.turns, "turn"),
        count(passes, "refinement pass", "refinement passes"),
        f"{numbers.seconds:.1f} s",
    )
    return f"{' · '.join(holds)}\n{' · '.join(took)}"
