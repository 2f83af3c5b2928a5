"""A job while it runs: a table that redraws itself on a terminal, one line per change elsewhere.

Both say the same things: the phase, each facet as it runs, claims, gaps, contradictions, money.
"""

from __future__ import annotations

import time
from datetime import datetime
from types import TracebackType
from typing import Protocol, TextIO

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from console.faults import COMMAND
from workflows.contracts import FacetStatus, ResearchResult, Status

_MARKS = {"waiting": "·", "running": "▸", "found": "✓", "partial": "◐"}
_STYLES = {"waiting": "dim", "running": "bold", "found": "green", "partial": "yellow"}


class View(Protocol):
    """Where progress is shown."""

    def show(self, status: Status) -> None: ...

    def say(self, text: str) -> None: ...

    def __enter__(self) -> View: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def view(stream: TextIO) -> View:
    """The table on a terminal, plain lines into a file or a pipe."""
    return TableView(stream) if stream.isatty() else LinesView(stream)


class LinesView:
    """One line for every change, and none where nothing changed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._phase = ""
        self._facets: dict[str, str] = {}
        self._counts = ""
        self._notice = ""

    def __enter__(self) -> LinesView:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def show(self, status: Status) -> None:
        if status.phase != self._phase:
            self._phase = status.phase
            self.say(_headline(status))
        if (notice := waits(status)) != self._notice:
            self._notice = notice
            self.say(f"  {notice or 'goes on'}")
        for facet in status.facets:
            if self._facets.get(facet.id) != facet.status:
                self._facets[facet.id] = facet.status
                self.say(f"  {_mark(facet)} {facet.title}: {_state(facet)}")
        counts = _counts(status)
        if counts and counts != self._counts:
            self._counts = counts
            self.say(f"  {counts}")


class TableView:
    """A table that stays in place; what is said stands above it."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream)
        self._live = Live(console=self._console, refresh_per_second=4, transient=True)
        self._since = time.monotonic()
        self._last: Status | None = None
        self._live.get_renderable = self._draw  # type: ignore[method-assign]

    def __enter__(self) -> TableView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        if self._last is not None:
            # The table itself goes; how the facets ended stays readable in the scroll-back.
            self._console.print(self._table(self._last))

    def say(self, text: str) -> None:
        self._console.print(escape(text), highlight=False)

    def show(self, status: Status) -> None:
        self._last = status

    def _draw(self) -> Table | Text:
        return self._table(self._last) if self._last else Text(f"starting … {self._clock()}")

    def _clock(self) -> str:
        seconds = int(time.monotonic() - self._since)
        return f"{seconds // 60}:{seconds % 60:02}"

    def _table(self, status: Status) -> Table:
        table = Table(box=None, pad_edge=False, expand=False, title_justify="left")
        table.title = Text(f"{_headline(status)} · {self._clock()}", style="bold")
        table.add_column("")
        table.add_column("facet", no_wrap=True, overflow="ellipsis", max_width=44)
        table.add_column("", no_wrap=True)
        for name in ("claims", "sources", "turns"):
            table.add_column(name, justify="right")
        for facet in status.facets:
            style = _STYLES.get(facet.status, "red")
            numbers = (facet.claims, facet.sources, facet.turns)
            table.add_row(
                Text(_mark(facet), style),
                Text(facet.title, style),
                Text(_word(facet), style),
                *(str(number) if number else "" for number in numbers),
            )
        if notes := [text for text in (_counts(status), waits(status)) if text]:
            table.caption = Text("\n".join(notes), style="dim")
            table.caption_justify = "left"
        return table


def summary(result: ResearchResult) -> str:
    """The job in one line."""
    numbers = result.telemetry
    open_gaps = sum(gap.status != "closed" for gap in result.gaps)
    passes = sum(item.n > 0 for item in result.passes)
    parts = [
        _count(len(result.claims), "claim"),
        _count(sum(source.n is not None for source in result.sources), "source") + " cited",
        _count(len(result.contradictions), "contradiction"),
        f"{_count(open_gaps, 'gap')} not closed",
        _count(passes, "refinement pass", "refinement passes"),
        _count(numbers.turns, "turn"),
        f"{numbers.seconds:.1f} s",
        f"${numbers.usd:.2f}",
    ]
    return " · ".join(parts)


def waits(status: Status) -> str:
    """What the job waits for, and whose word sends it on; nothing where it works."""
    if status.blocked is not None:
        return f"blocked at {status.blocked.step}"
    if status.paused:
        return f"paused: `{COMMAND} resume {status.id}` sends it on"
    if status.approve_by is not None:
        until = datetime.fromisoformat(status.approve_by).strftime("%Y-%m-%d %H:%M %Z").strip()
        return (
            f"the plan waits for a word until {until}, from another shell:"
            f" `{COMMAND} plan {status.id}` shows it, `{COMMAND} approve {status.id}` takes it"
        )
    return "finishing with what there is" if status.finishing else ""


def _headline(status: Status) -> str:
    spent = f" · {_count(status.turns, 'turn')}" if status.turns else ""
    if status.usd or status.budget_usd:
        spent += f" · ${status.usd:.2f}"
        spent += f" of ${status.budget_usd:.2f}" if status.budget_usd else ""
    current = f"pass {status.passes + 1}" if status.phase == "refining" else ""
    return " ".join(part for part in (status.phase.value, current) if part) + spent


def _counts(status: Status) -> str:
    parts = []
    if status.contradictions:
        parts.append(_count(status.contradictions, "contradiction"))
    if status.gaps_open or status.gaps_closed:
        parts.append(f"gaps: {status.gaps_open} open, {status.gaps_closed} closed")
    return " · ".join(parts)


def _mark(facet: FacetStatus) -> str:
    return _MARKS.get(facet.status, "✗")


def _word(facet: FacetStatus) -> str:
    return facet.status.replace("_", " ")


def _state(facet: FacetStatus) -> str:
    if not facet.claims:
        return _word(facet)
    found = f"{_count(facet.claims, 'claim')} from {_count(facet.sources, 'source')}"
    return f"{_word(facet)}, {found}"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
