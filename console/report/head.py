"""The head of the page: what was asked, what came of it, and what it took, at a glance."""

from __future__ import annotations

from html import escape

from console.report.coverage import answered
from console.report.markup import count, details, lasted, tag, usd
from workflows.config.model_catalog import card
from workflows.contracts.result import ResearchResult

_STATUS = {
    "complete": "complete",
    "complete_with_gaps": "complete, with gaps",
    "nothing_found": "nothing found",
}
_LONG = 420
_LONG_TITLE = 150
"""A question that stands for a title is set smaller."""


def head(result: ResearchResult, title: str) -> str:
    figures = "".join(
        f"<div><dt>{name}</dt><dd>{_to(place, big)}<small>{escape(small)}</small></dd></div>"
        for name, place, big, small in _figures(result)
    )
    kind = ' class="long"' if len(title) > _LONG_TITLE else ""
    return (
        f'<p class="over">Research report {tag(result.status, _STATUS[result.status])}</p>'
        f'<h1 dir="auto"{kind}>{escape(title)}</h1>{_asked(result.question, title)}'
        f'<dl class="figures broad">{figures}</dl><p class="meta">{_made(result)}</p>'
    )


def _figures(result: ResearchResult) -> list[tuple[str, str, str, str]]:
    facets = [item for item in result.coverage if item.status != "left_out"]
    left = [gap for gap in result.gaps if gap.status != "closed"]
    closed = len(result.gaps) - len(left)
    cited = sum(source.n is not None for source in result.sources)
    disputes, total = len(result.contradictions), result.telemetry
    searched = f"of {count(result.documents, 'document')}" if result.documents else "cited"
    return [
        (
            "Answered",
            "coverage" * bool(result.coverage),
            f"{answered(result)} of {len(facets)}",
            "facets",
        ),
        ("Contested", "disputes" * bool(disputes), str(disputes), _word(disputes, "point")),
        (
            "Missing",
            "missing" * bool(result.gaps or result.unreadable),
            str(len(left)),
            _word(len(left), "gap") + (f", {closed} closed" if closed else ""),
        ),
        ("Sources", "sources" * bool(result.sources), str(cited), searched),
        ("Cost", "cost", usd(total.usd), count(total.turns, "turn")),
        ("Time", "timeline" if result.timeline else "cost", lasted(total.seconds), _passes(result)),
    ]


def _to(place: str, big: str) -> str:
    return f'<a href="#{place}">{escape(big)}</a> ' if place else f"<b>{escape(big)}</b> "


def _word(number: int, one: str) -> str:
    return one if number == 1 else f"{one}s"


def _passes(result: ResearchResult) -> str:
    passes = sum(item.n > 0 for item in result.passes)
    return count(passes, "pass", "passes") + " of refinement" if passes else "one draft"


def _asked(question: str, title: str) -> str:
    if question.strip() in title:
        return ""
    text = f'<p class="asked" dir="auto">{escape(question)}</p>'
    return text if len(question) <= _LONG else details("The question in full", text)


def _made(result: ResearchResult) -> str:
    when = f"Made on {escape(result.started_at[:10])}" if result.started_at else "Made"
    clock = result.started_at[11:16]
    if clock:
        when += f" at {escape(clock)} UTC"
    parent = result.parent
    taken = (
        f", taken up from job {escape(parent.id)} at {escape(parent.checkpoint)}" if parent else ""
    )
    return (
        f"{when} by job <code>{escape(result.id)}</code>{taken}, model"
        f" {escape(result.model)}. {escape(card(result.model).statement)}"
    )
