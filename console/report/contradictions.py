"""Contradictions, side by side: what each says, by whom, when, of whom, and why they may differ."""

from __future__ import annotations

from html import escape

from console.report.backing import Backing
from console.report.markup import capital, tag
from console.report.prose import citation
from workflows.contracts.evidence import Contradiction, Side
from workflows.contracts.result import ResearchResult, SourceOut

_CONTEXT = {"definition": "As defined", "population": "Of whom or what"}


def contradictions(
    result: ResearchResult, backing: Backing, met: dict[int, list[tuple[str, str]]]
) -> str:
    """`met` says where in the report each is met."""
    sources = {source.id: source for source in result.sources}
    return "\n".join(
        _contradiction(place, item, backing, sources, met.get(place, []))
        for place, item in enumerate(result.contradictions, 1)
    )


def _contradiction(
    place: int,
    item: Contradiction,
    backing: Backing,
    sources: dict[str, SourceOut],
    met: list[tuple[str, str]],
) -> str:
    sides = "".join(_side(side, backing, sources) for side in item.sides)
    back = f'<p class="meta">In the report: {_back(met)}</p>' if met else ""
    cause = tag(item.cause) if item.cause else ""
    return (
        f'<article class="dispute-card" id="dispute-{place}">'
        f'<h3 dir="auto">{escape(capital(item.about))}</h3>'
        f'<div class="sides">{sides}</div>'
        f'<p class="why" dir="auto"><b>Why they may differ</b> {cause} '
        f"{escape(item.explanation)}</p>{back}</article>"
    )


def _side(side: Side, backing: Backing, sources: dict[str, SourceOut]) -> str:
    context = side.context
    value = f'<p class="value" dir="auto">{escape(context.value)}</p>' if context.value else ""
    holders = "".join(
        f"<li>{_holder(sources[sid], side, backing)}</li>"
        for sid in side.source_ids
        if sid in sources
    )
    known = {sources[sid].date for sid in side.source_ids if sid in sources}
    facts = [("Date", context.date)] if context.date not in known else []
    facts += [(name, getattr(context, key)) for key, name in _CONTEXT.items()]
    rows = "".join(
        f'<div><dt>{name}</dt><dd dir="auto">{escape(text)}</dd></div>'
        for name, text in facts
        if text
    )
    return (
        f'<div class="side">{value}<p class="position" dir="auto">{escape(side.text)}</p>'
        f'<ul class="holders">{holders}</ul>{f"<dl>{rows}</dl>" if rows else ""}</div>'
    )


def _holder(source: SourceOut, side: Side, backing: Backing) -> str:
    cite = ""
    if source.n is not None:
        cite = " " + citation(source.n, backing.quotes_of(source.n, side.claim_ids))
    facts = escape(", ".join(x for x in (source.kind, source.date) if x))
    return f'<span dir="auto">{escape(source.title)}</span>{cite} <small>{facts}</small>'


def _back(met: list[tuple[str, str]]) -> str:
    """Links to where it is met, a chapter named once: “Costs, again; Safety”."""
    chapters: dict[str, list[str]] = {}
    for name, chapter in met:
        chapters.setdefault(chapter, []).append(name)
    return "; ".join(
        ", ".join(
            f'<a href="#{name}">{escape(chapter) if not i else "again"}</a>'
            for i, name in enumerate(names)
        )
        for chapter, names in chapters.items()
    )
