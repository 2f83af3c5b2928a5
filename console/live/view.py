"""Choose a view of a running job: a table that redraws itself on a terminal, else plain lines."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, TextIO

from rich.console import Console

from console.live.lines import LinesView
from console.live.table import TableView
from console.text import count

if TYPE_CHECKING:
    from workflows.contracts.result import ResearchResult


def open_view(stream: TextIO) -> TableView | LinesView:
    if isinstance(stream, io.TextIOWrapper):
        # A terminal whose encoding lacks a mark shows a replacement character instead of failing.
        with contextlib.suppress(OSError):
            stream.reconfigure(errors="replace")
    redraws = stream.isatty() and not Console(file=stream).is_dumb_terminal
    return TableView(stream) if redraws else LinesView(stream)


def summarize(result: ResearchResult) -> str:
    """The result in two lines: what the report holds, and what it took."""
    telemetry = result.telemetry
    open_gaps = sum(gap.status != "closed" for gap in result.gaps)
    passes = sum(item.n > 0 for item in result.passes)
    content = (
        count(len(result.claims), "claim"),
        count(sum(source.n is not None for source in result.sources), "source") + " cited",
        count(len(result.contradictions), "contradiction"),
        f"{count(open_gaps, 'gap')} not closed",
    )
    cost = (
        f"${telemetry.usd:.2f}",
        count(telemetry.turns, "turn"),
        count(passes, "refinement pass", "refinement passes"),
        f"{telemetry.seconds:.1f} s",
    )
    return f"{' · '.join(content)}\n{' · '.join(cost)}"
