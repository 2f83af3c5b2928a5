"""The map of facets, each with what became of it, and the gaps beside it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from console.report.markup import capital, count, details, link, table, tag, usd
from workflows.contracts.result import Coverage, ResearchResult
from workflows.contracts.state import Gap

_SHAPES = {"answered": "●", "contested": "◐", "absent": "○", "failed": "✕", "left_out": "–"}
_WORDS = {
    "answered": "answered",
    "contested": "answered, contested",
    "absent": "searched, absent",
    "failed": "failed",
    "left_out": "left out",
}
_MOST_QUERIES = 6
_MANY = 24
"""With more facets than this the map keeps to what tells them apart."""


def answered(result: ResearchResult) -> int:
    return sum(item.status in ("answered", "contested") for item in result.coverage)


def coverage(result: ResearchResult, places: dict[str, tuple[str, str]]) -> str:
    """One tile for each facet; `places` gives a facet's id its section, where it has one."""
    tiles = "".join(_tile(item, places.get(item.facet_id)) for item in result.coverage)
    kind = "tiles broad dense" if len(result.coverage) > _MANY else "tiles broad"
    return f'<ol class="{kind}">{tiles}</ol>' if tiles else ""


def _tile(item: Coverage, place: tuple[str, str] | None) -> str:
    title = escape(item.title or item.facet_id)
    name = f'<a href="#{place[0]}">{title}</a>' if place else title
    figures = [
        count(item.claims, "claim"),
        count(item.sources, "source"),
        f'{item.origins:,} <span class="long">independent</span>'
        f" {'origin' if item.origins == 1 else 'origins'}",
        f"{usd(item.usd)} in {count(item.turns, 'turn')}",
    ]
    listed = "".join(f"<li>{figure}</li>" for figure in figures)
    if not item.claims:
        listed = f"<li>{figures[-1]}</li>" if item.turns else ""
    why = _short(item.reason.partition(";")[0])
    reason = f'<p class="reason" dir="auto">{escape(capital(why))}</p>' if why else ""
    return (
        f'<li class="tile {item.status}"><h3 dir="auto"><span class="shape" aria-hidden="true">'
        f"{_SHAPES[item.status]}</span> {name}</h3>{tag(item.status, _WORDS[item.status])}"
        f"<ul>{listed}</ul>{reason}</li>"
    )


def gaps(result: ResearchResult, places: dict[str, tuple[str, str]]) -> str:
    """What is missing, where it was looked for; then what was missing and is not any more."""
    queries = {item.facet_id: _queries(item, result.question) for item in result.coverage}
    left = [gap for gap in result.gaps if gap.status != "closed"]
    closed = [gap for gap in result.gaps if gap.status == "closed"]
    # Most searches begin with the question itself; it need not be read again.
    left = [
        gap.model_copy(update={"reason": gap.reason.replace(result.question, "the whole question")})
        for gap in left
    ]
    body = _cards(left, queries, places) if left else ""
    if closed:
        found = _cards(closed, {}, places)
        body += details(f"{count(len(closed), 'gap')} found and closed", found)
    files = ((link(file.uri), escape(file.reason)) for file in result.unreadable)
    return body + table("Files that could not be read", ("File", "Why"), files)


def _cards(
    gaps: Iterable[Gap],
    queries: dict[str, list[str]],
    places: dict[str, tuple[str, str]],
) -> str:
    cards = "".join(_gap(gap, queries.get(gap.facet_id, []), places) for gap in gaps)
    return f'<ul class="gaps">{cards}</ul>'


def _gap(gap: Gap, queries: list[str], places: dict[str, tuple[str, str]]) -> str:
    state = tag(gap.status, f"closed in pass {gap.closed_in}" if gap.closed_in else "")
    facts = [state]
    if gap.facet_id in places:
        place, title = places[gap.facet_id]
        facts.append(f'<a href="#{place}">{escape(title)}</a>')
    when = f"pass {gap.opened_in}" if gap.opened_in else "the first draft"
    facts.append(f"open since {when}" if gap.status == "open" else f"seen in {when}")
    rows = [("Asked for", escape(gap.question))]
    if gap.reason:
        rows.append(("What came of it", escape(capital(gap.reason))))
    if queries and gap.kind != "left_out":
        rows.append(("Searched for", " · ".join(f"<q>{escape(q)}</q>" for q in queries)))
    listed = "".join(f'<div><dt>{name}</dt><dd dir="auto">{text}</dd></div>' for name, text in rows)
    return (
        f'<li class="gap"><p class="lacks" dir="auto">{escape(gap.text)}</p>'
        f'<p class="meta">{" · ".join(facts)}</p><dl>{listed}</dl></li>'
    )


def _queries(item: Coverage, question: str) -> list[str]:
    asked = dict.fromkeys(query for cycle in item.cycles for query in cycle.queries)
    return [query for query in asked if query != question][:_MOST_QUERIES]


def _short(text: str, most: int = 160) -> str:
    return text if len(text) <= most else f"{text[:most].rpartition(' ')[0] or text[:most]} …"
