"""A running job on a terminal: a table that redraws itself in place.

    the question                                                        elapsed
    ✓ plan  ✓ review  ▸ research  · write  · evaluate  · publish
    facets with state, turns, sources, claims

    cost       money spent of the budget, turns
    contested  the number of contradictions
    missing    gaps, and the last ones that changed
    now        pending steps, or what a person has to do

The marks carry the meaning; colours only repeat it. Messages are printed above the view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from console.client.progress import group_by_facet
from console.formatting import clock, count, cut, plain, tone
from console.live import status_text

if TYPE_CHECKING:
    from console.client.progress import PendingStep, Progress
    from workflows.contracts.result import FacetStatus
    from workflows.contracts.state import Gap

_STYLES = {"good": "green", "busy": "bold", "warn": "yellow", "bad": "red", "": "dim"}
_STAGES = {"✓": "green", "▸": "bold", "·": "dim"}
_BAR = 16
_LABEL = 9
_NARROW = 72
_STATE = 12
_NUMBERS = ("turns", "sources", "claims")
_GAPS = 3
"""How many changed gaps are shown at once."""
_FINAL_GAPS = 8
"""How many open gaps are listed at the end."""
_OTHER_LINES = 13
"""Lines of the view besides its facets."""


class TableView:
    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, highlight=False)
        self._live = Live(console=self._console, refresh_per_second=2, transient=True)
        self._last: Progress | None = None
        self._gaps: list[Gap] = []
        self._began = datetime.now(UTC)
        self._live.get_renderable = self._draw  # type: ignore[method-assign]

    def __enter__(self) -> TableView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        if self._last is not None:
            # The live view disappears; this last picture stays in the scroll-back.
            left = [gap for gap in self._last.gaps if gap.status != "closed"]
            self._console.print(render(self._last, self._console.width, left[:_FINAL_GAPS]))

    def pause(self) -> None:
        """Stop redrawing, so that a person can be asked something."""
        self._live.stop()

    def resume(self) -> None:
        self._live.start()

    def say(self, text: str) -> None:
        self._console.print(escape(text))

    def show(self, progress: Progress) -> None:
        self._gaps += status_text.changed_gaps(self._last.gaps if self._last else (), progress.gaps)
        self._last = progress

    def _draw(self) -> RenderableType:
        if self._last is None:
            age = clock((datetime.now(UTC) - self._began).total_seconds())
            return Text(f"starting … {age}", "dim")
        room = max(3, self._console.height - _OTHER_LINES)
        return render(self._last, self._console.width, self._gaps[-_GAPS:], room)


def render(
    progress: Progress, width: int, gaps: Sequence[Gap] = (), room: int | None = None
) -> RenderableType:
    """The view; with `room`, at most that many lines of facets."""
    now = datetime.now(UTC)
    parts: list[RenderableType] = [_title(progress, width, now), _stage_line(progress)]
    if progress.status.facets:
        parts += [Text(), _facets(progress, width, room, now)]
    parts += [Text(), _summary(progress, gaps, max(20, width - _LABEL - 2), now)]
    return Group(*parts)


def _summary(progress: Progress, gaps: Sequence[Gap], width: int, now: datetime) -> Table:
    """Cost, contradictions, gaps and pending steps, each with its label."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=_LABEL, style="dim", no_wrap=True)
    table.add_column()
    if progress.status.turns or progress.status.budget_usd:
        table.add_row("cost", _cost(progress))
    if progress.status.contradictions:
        table.add_row("contested", count(progress.status.contradictions, "point"))
    if missing := status_text.missing(progress.status, progress.gaps):
        table.add_row("missing", missing)
    for gap in gaps:
        line = f"{status_text.GAP_MARKS[gap.status]} {gap.status}: {plain(gap.text)}"
        table.add_row("", Text(cut(line, width), _STYLES[tone(gap.status)]))
    for n, text in enumerate(_activity_lines(progress, width, now)):
        table.add_row("" if n else "now", text)
    return table


def _title(progress: Progress, width: int, now: datetime) -> RenderableType:
    ended = progress.ended or now
    age = clock((ended - progress.since).total_seconds()) if progress.since else ""
    question = cut(progress.status.question or progress.status.id, max(10, width - len(age) - 2))
    line = Table.grid(expand=True)
    line.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    line.add_column(justify="right", no_wrap=True)
    line.add_row(Text(question, "bold"), Text(age, "dim"))
    return line


def _stage_line(progress: Progress) -> Text:
    finished = progress.ended is not None and progress.status.phase == "finished"
    text = Text()
    for name, mark in status_text.stages(progress.status, finished):
        # A stage and its mark stay on one line.
        text.append("  " if text else "")
        text.append(f"{mark}\N{NO-BREAK SPACE}{name.replace(' ', chr(0xA0))}", _STAGES[mark])
    return text


def _facets(progress: Progress, width: int, room: int | None, now: datetime) -> Table:
    pending_by_facet = group_by_facet(progress.pending, progress.status.facets)
    shown, rest = _choose_facets(progress.status.facets, pending_by_facet, room)
    rows = [_row(facet, pending_by_facet.get(facet.id), now) for facet in shown]
    gap = 1 if width < _NARROW else 2
    # A fixed width, so that the columns do not move when a subagent ends.
    state = max([_STATE, *(len(row[2]) for row in rows)])
    taken = 1 + state + sum(map(len, _NUMBERS)) + 5 * gap
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, gap, 0, 0))
    table.add_column("", width=1)
    table.add_column("facet", no_wrap=True, overflow="ellipsis", max_width=max(8, width - taken))
    table.add_column("state", no_wrap=True, width=state)
    for name in _NUMBERS:
        table.add_column(name, justify="right", no_wrap=True, width=len(name))
    for row in rows:
        table.add_row(*row)
    if rest:
        tally = ", ".join(f"{n} {status}" for status, n in Counter(f.status for f in rest).items())
        table.add_row("", Text(f"and {len(rest)} more: {tally.replace('_', ' ')}", "dim"))
    return table


def _choose_facets(
    facets: Sequence[FacetStatus], pending_by_facet: dict[str, PendingStep], room: int | None
) -> tuple[list[FacetStatus], list[FacetStatus]]:
    """The facets that fit, running ones first, and the rest."""
    if room is None or len(facets) <= room:
        return list(facets), []
    busy = [f for f in facets if f.id in pending_by_facet or f.status == "running"]
    order = [*busy, *(f for f in facets if f not in busy)]
    kept = {f.id for f in order[: room - 1]}
    return [f for f in facets if f.id in kept], [f for f in facets if f.id not in kept]


def _row(facet: FacetStatus, step: PendingStep | None, now: datetime) -> list[Text]:
    state, mark = facet.status.replace("_", " "), status_text.mark(facet)
    style = _STYLES[tone(facet.status)]
    turns, sources = facet.turns, facet.sources
    if step is not None:
        state = _step_state(step, now)
        mark, style = ("▸", "bold") if step.started or step.attempt > 1 else ("·", "dim")
        turns, sources = max(turns, step.turns), max(sources, step.sources)
    numbers = (turns, sources, facet.claims)
    return [
        Text(mark, style),
        Text(plain(facet.title), style),
        Text(state, style),
        *(Text(f"{number:,}" if number else "", style) for number in numbers),
    ]


def _step_state(step: PendingStep, now: datetime) -> str:
    age = clock((now - step.since).total_seconds())
    if step.attempt == 1:
        return f"{'running' if step.started else 'queued'} {age}"
    if step.retry_at is None:
        return f"attempt {step.attempt} {age}"
    left = clock((step.retry_at - now).total_seconds())
    return f"retry {step.attempt} in {left}"


def _cost(progress: Progress) -> Text:
    status = progress.status
    text = Text(status_text.money(status))
    if status.budget_usd:
        share = min(1.0, status.usd / status.budget_usd)
        full = round(share * _BAR)
        text.append(" ")
        text.append("█" * full, "red" if share > 0.9 else "green")
        text.append("░" * (_BAR - full), "dim")
        text.append(f" {share:.0%}")
    return text.append(f" · {count(status.turns, 'turn')}")


def _activity_lines(progress: Progress, width: int, now: datetime) -> Iterator[Text]:
    """What a person has to do, then failed attempts, then all other steps in one line."""
    if progress.needs:
        yield Text(plain(progress.needs), "bold yellow")
    if not progress.answered:
        yield Text("no worker answers at the moment", "yellow")
    for step in [step for step in progress.pending if step.last_failure][:3]:
        yield Text(f"! {status_text.pending_line(step, now)}", "yellow")
    quiet = [step for step in progress.pending if not step.last_failure]
    if len(quiet) == 1 and quiet[0].count == 1:
        yield Text(cut(status_text.pending_line(quiet[0], now), width))
    elif quiet:
        yield Text(plain(status_text.current_work(quiet, progress.status)))
    elif progress.answered and not (
        progress.needs or progress.pending or progress.ended or progress.status.blocked
    ):
        yield Text(status_text.current_work((), progress.status))
