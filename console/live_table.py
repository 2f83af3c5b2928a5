"""A running job on a terminal: one view that stays in place, calm, and as wide as the window.

    the question                                                        elapsed
    ✓ plan  ✓ review  ▸ research  · write  · evaluate  · publish
    facets with state, turns, sources, claims

    cost       money against the budget, turns
    contested  where sources disagree
    missing    gaps, and the last that opened or closed
    now        what is waited for, or whose word is needed

Marks carry the meaning; colour only repeats it. What is said stands above the view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, repeat
from typing import TYPE_CHECKING, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from console import live_words as words
from console.waiting import by_facet

if TYPE_CHECKING:
    from console.progress import Progress
    from console.waiting import Waiting
    from workflows.contracts.result import FacetStatus
    from workflows.contracts.state import Gap

_STYLES = {
    "waiting": "dim",
    "running": "bold",
    "found": "green",
    "partial": "yellow",
    "no_results": "yellow",
}
_STAGES = {"✓": "green", "▸": "bold", "·": "dim"}
_GAP_STYLES = {
    "open": "yellow",
    "closed": "green",
    "partly": "yellow",
    "absent": "dim",
    "failed": "red",
}
_BAR = 16
_LABEL = 9
_NARROW = 72
_STATE = 12
_NUMBERS = ("turns", "sources", "claims")
_GAPS = 3
"""Changes of gaps that are shown at once."""
_LEFT = 8
"""Gaps that are named at the end."""
_AROUND = 13
"""Lines the view needs besides its facets."""


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
            # The view itself goes; how the facets ended stays readable in the scroll-back.
            left = [gap for gap in self._last.gaps if gap.status != "closed"]
            self._console.print(picture(self._last, self._console.width, left[:_LEFT]))

    def say(self, text: str) -> None:
        self._console.print(escape(text))

    def show(self, seen: Progress) -> None:
        self._gaps += words.changed(self._last.gaps if self._last else (), seen.gaps)
        self._last = seen

    def _draw(self) -> RenderableType:
        if self._last is None:
            age = words.clock((datetime.now(UTC) - self._began).total_seconds())
            return Text(f"starting … {age}", "dim")
        room = max(3, self._console.height - _AROUND)
        return picture(self._last, self._console.width, self._gaps[-_GAPS:], room)


def picture(
    seen: Progress, width: int, gaps: Sequence[Gap] = (), room: int | None = None
) -> RenderableType:
    """The view as it is now; with `room`, in no more than so many lines of facets."""
    now = datetime.now(UTC)
    parts: list[RenderableType] = [_title(seen, width, now), _rail(seen)]
    if seen.status.facets:
        parts += [Text(), _facets(seen, width, room, now)]
    parts += [Text(), _told(seen, gaps, max(20, width - _LABEL - 2), now)]
    return Group(*parts)


def _told(seen: Progress, gaps: Sequence[Gap], width: int, now: datetime) -> Table:
    """What it costs, what is contested, what is missing, what it does: each under its name."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=_LABEL, style="dim", no_wrap=True)
    table.add_column()
    if seen.status.turns or seen.status.budget_usd:
        table.add_row("cost", _spent(seen))
    if seen.status.contradictions:
        table.add_row("contested", words.count(seen.status.contradictions, "point"))
    if missing := words.missing(seen.status, seen.gaps):
        table.add_row("missing", missing)
    for gap in gaps:
        line = f"{words.GAP_MARKS[gap.status]} {gap.status}: {words.plain(gap.text)}"
        table.add_row("", Text(words.cut(line, width), _GAP_STYLES[gap.status]))
    for label, text in zip(chain(("now",), repeat("")), _awaited(seen, width, now), strict=False):
        table.add_row(label, text)
    return table


def _title(seen: Progress, width: int, now: datetime) -> RenderableType:
    age = words.elapsed(seen, now)
    question = words.cut(seen.status.question or seen.status.id, max(10, width - len(age) - 2))
    line = Table.grid(expand=True)
    line.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    line.add_column(justify="right", no_wrap=True)
    line.add_row(Text(question, "bold"), Text(age, "dim"))
    return line


def _rail(seen: Progress) -> Text:
    over = seen.ended is not None and seen.status.phase == "finished"
    text = Text()
    for name, mark in words.rail(seen.status, over):
        # A stage and its mark stay together where the line is broken.
        text.append("  " if text else "")
        text.append(f"{mark}\N{NO-BREAK SPACE}{name.replace(' ', chr(0xA0))}", _STAGES[mark])
    return text


def _facets(seen: Progress, width: int, room: int | None, now: datetime) -> Table:
    doing = by_facet(seen.waiting, seen.status.facets)
    shown, rest = _fitting(seen.status.facets, doing, room)
    rows = [_row(facet, doing.get(facet.id), now) for facet in shown]
    gap = 1 if width < _NARROW else 2
    # As wide as it gets, so that nothing moves when a subagent comes home.
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
        states = [words.word(facet) for facet in rest]
        tally = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        table.add_row("", Text(f"and {len(rest)} more: {tally}", "dim"))
    return table


def _fitting(
    facets: Sequence[FacetStatus], doing: dict[str, Waiting], room: int | None
) -> tuple[list[FacetStatus], list[FacetStatus]]:
    """Facets that fit, those at work first, and those that do not."""
    if room is None or len(facets) <= room:
        return list(facets), []
    busy = [f for f in facets if f.id in doing or f.status == "running"]
    order = [*busy, *(f for f in facets if f not in busy)]
    kept = {f.id for f in order[: room - 1]}
    return [f for f in facets if f.id in kept], [f for f in facets if f.id not in kept]


def _row(facet: FacetStatus, doing: Waiting | None, now: datetime) -> list[Text]:
    state, mark, style = words.word(facet), words.mark(facet), _STYLES.get(facet.status, "red")
    turns, sources = facet.turns, facet.sources
    if doing is not None:
        state = _doing(doing, now)
        mark, style = ("▸", "bold") if doing.started or doing.attempt > 1 else ("·", "dim")
        turns, sources = max(turns, doing.turns), max(sources, doing.sources)
    numbers = (turns, sources, facet.claims)
    return [
        Text(mark, style),
        Text(words.plain(facet.title), style),
        Text(state, style),
        *(Text(f"{number:,}" if number else "", style) for number in numbers),
    ]


def _doing(one: Waiting, now: datetime) -> str:
    age = words.clock((now - one.since).total_seconds())
    if one.attempt == 1:
        return f"{'running' if one.started else 'queued'} {age}"
    if one.retry_at is None:
        return f"try {one.attempt} {age}"
    left = words.clock((one.retry_at - now).total_seconds())
    return f"try {one.attempt} in {left}"


def _spent(seen: Progress) -> Text:
    status = seen.status
    text = Text(words.money(status))
    if status.budget_usd:
        share = min(1.0, status.usd / status.budget_usd)
        full = round(share * _BAR)
        text.append(" ")
        text.append("█" * full, "red" if share > 0.9 else "green")
        text.append("░" * (_BAR - full), "dim")
        text.append(f" {share:.0%}")
    return text.append(f" · {words.count(status.turns, 'turn')}")


def _awaited(seen: Progress, width: int, now: datetime) -> Iterator[Text]:
    """Whose word is needed, failures that are tried again, then all the rest in a line."""
    if seen.needs:
        yield Text(words.plain(seen.needs), "bold yellow")
    if not seen.answered:
        yield Text("no worker answers at the moment", "yellow")
    for one in [one for one in seen.waiting if one.last_failure][:3]:
        yield Text(f"! {words.waiting_line(one, now)}", "yellow")
    calm = [one for one in seen.waiting if not one.last_failure]
    if len(calm) == 1 and calm[0].count == 1:
        yield Text(words.cut(words.waiting_line(calm[0], now), width))
    elif calm:
        yield Text(words.plain(words.doing(calm)))
    elif seen.answered and not (seen.needs or seen.waiting or seen.ended or seen.status.blocked):
        yield Text(words.doing((), seen.status))
