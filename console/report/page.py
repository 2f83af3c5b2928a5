"""Render the report as one HTML page that needs no network and no other file.

The answer comes first, what the report cost and how it was made last. The templates escape all text
from sources and models, and a content security policy allows only the page's own style and script,
by their hashes. The page works without the script: a citation then links to its source instead of
opening it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from console.formatting import capitalize, count, duration, tone, usd
from console.report.chapters import (
    MarkdownRenderer,
    SplitReport,
    citation,
    is_web_url,
    split_report,
)
from console.report.charts import HEIGHT, WIDTH, draw_charts
from console.report.contents import (
    Axis,
    cost_tables,
    find_copies,
    group_by_chapter,
    group_rows,
    key_figures,
    list_legend,
    list_queries,
    quote_context,
    shorten,
    side_facts,
)
from console.report.quote_links import QuoteLinks, collapse_spaces
from workflows.config.model_catalog import PRICES_AS_OF, card
from workflows.contracts.result import DISAGREE, MISSING, SUMMARY, ResearchResult

_HERE = Path(__file__).parent
_STYLE = "\n".join(
    (folder / name).read_text("utf-8")
    for folder, name in ((_HERE.parent, "palette.css"), (_HERE, "report.css"))
)
_SCRIPT = (_HERE / "report.js").read_text("utf-8")
_STATUS = {
    "complete": "complete",
    "complete_with_gaps": "complete, with gaps",
    "nothing_found": "nothing found",
}

_TEMPLATES = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


CONTENT_POLICY = (
    f"default-src 'none'; script-src 'sha256-{_hash(_SCRIPT)}';"
    f" style-src 'sha256-{_hash(_STYLE)}'; base-uri 'none'; form-action 'none'"
)

FORM_POLICY = CONTENT_POLICY.replace("form-action 'none'", "form-action 'self'")
"""For a page with a form of the console that shows it."""

_TEMPLATES.filters |= {
    "capitalize_first": capitalize,
    "collapse": collapse_spaces,
    "count": count,
    "duration": lambda seconds: duration(max(0.0, seconds)),
    "shorten": shorten,
    "usd": usd,
}
_TEMPLATES.globals |= {
    "citation": lambda n, quotes: Markup(citation(n, quotes)),  # noqa: S704
    "group_by_chapter": group_by_chapter,
    "is_web_url": is_web_url,
    "tone": tone,
}


@dataclass
class Section:
    """A part of the page, with its entries in the table of contents."""

    id: str
    title: str
    body: Markup
    entries: tuple[tuple[str, str], ...] = ()
    """The entries below it in the table of contents, as id and title."""


def render_page(result: ResearchResult, back: str = "", *, box: Markup | str = "") -> str:
    """The page; in the console `back` is the address of the job's page, and `box` a form below the
    report."""
    written = split_report(result)
    return _TEMPLATES.get_template("page.html").render(
        result=result,
        title=written.title,
        sections=_build_sections(result, written),
        status_label=_STATUS[result.status],
        back=back,
        policy=FORM_POLICY if box else CONTENT_POLICY,
        box=box,
        style=_STYLE,
        script=_SCRIPT,
    )


def _render(name: str, **values: Any) -> Markup:
    return Markup(_TEMPLATES.get_template(name).render(**values).strip())  # noqa: S704


def _build_sections(result: ResearchResult, written: SplitReport) -> list[Section]:
    """The writer's chapters in their order, and the sections the page adds."""
    quote_links = QuoteLinks(result)
    renderer = MarkdownRenderer(quote_links)
    places = find_places(result, written)
    figures = _Figures(result, quote_links)
    shared: dict[str, Any] = {"result": result, "places": places, "quote_links": quote_links}
    sections, originals = _build_chapters(result, written, renderer, places, figures)
    others = figures.render(set(figures.facets) - set(places))
    # After the chapters: rendering them collects the contested sentences.
    sources = {source.id: source for source in result.sources}
    disputes = _render(
        "contradictions.html",
        **shared,
        renderer=renderer,
        sources=sources,
        figures=figures,
        side_facts=lambda side: side_facts(side, sources),
    )
    missing = _render("gaps.html", **shared, queries=list_queries(result))
    glance = _render(
        "coverage.html",
        **shared,
        figures=key_figures(result),
        statement=card(result.model).statement,
    )
    return [
        *sections,
        Section("figures", "Figures and tables", others),
        Section("disputes", DISAGREE, _with_original(disputes, originals.get(DISAGREE))),
        Section("missing", MISSING, _with_original(missing, originals.get(MISSING))),
        Section("coverage", "At a glance", glance),
        _build_method(result),
        _build_sources(result, shared),
    ]


def _build_chapters(
    result: ResearchResult,
    written: SplitReport,
    renderer: MarkdownRenderer,
    places: dict[str, tuple[str, str]],
    figures: _Figures,
) -> tuple[list[Section], dict[str, Markup]]:
    """The chapters, and the writer's text of the two sections that the page renders itself."""
    by_title = {title: (place, key) for key, (place, title) in places.items()}
    facets = {item.facet_id: item for item in result.coverage}
    questions = {facet.id: facet.question for facet in result.plan.facets}
    sections: list[Section] = []
    originals: dict[str, Markup] = {}
    if written.lead:
        sections.append(Section("lead", "In short", renderer.to_html(written.lead, "In short")))
    for n, chapter in enumerate(written.chapters, 1):
        name = collapse_spaces(chapter.title)
        if name in (DISAGREE, MISSING):
            originals[name] = renderer.to_html(chapter.markdown, name, mark_contested=False)
            continue
        text = renderer.to_html(chapter.markdown, chapter.title)
        place = "summary" if name == SUMMARY else f"part-{n}"
        if name in by_title:
            # Only the first chapter of this name belongs to the facet.
            place, key = by_title.pop(name)
            head = _render("facet.html", item=facets[key], question=questions.get(key))
            text = head + text + figures.render({key})
        sections.append(Section(place, chapter.title, text))
    return sections, originals


class _Figures:
    """The charts and comparison tables, rendered where they belong."""

    def __init__(self, result: ResearchResult, links: QuoteLinks) -> None:
        self._drawings = draw_charts(result, links)
        self._comparisons = result.comparisons
        self._links = links
        self.facets = [
            *(one.chart.facet_id for one in self._drawings if not one.chart.contradiction_id),
            *(table.facet_id for table in result.comparisons),
        ]

    def render(self, facet_ids: Collection[str] = (), contradiction_id: str = "") -> Markup:
        """Those of these facets, or of this contradiction."""
        return _render(
            "charts.html",
            drawings=[
                drawing
                for drawing in self._drawings
                if drawing.chart.contradiction_id == contradiction_id
                and (contradiction_id or drawing.chart.facet_id in facet_ids)
            ],
            comparisons=[table for table in self._comparisons if table.facet_id in facet_ids],
            cite_claims=self._links.cite_claims,
            width=WIDTH,
            height=HEIGHT,
        )


def find_places(result: ResearchResult, written: SplitReport) -> dict[str, tuple[str, str]]:
    """The id and title of each facet's section, by facet id."""
    titles = {collapse_spaces(chapter.title) for chapter in written.chapters}
    return {
        item.facet_id: (f"facet-{n}", collapse_spaces(item.title))
        for n, item in enumerate(result.coverage, 1)
        if collapse_spaces(item.title) in titles - {DISAGREE, MISSING, SUMMARY}
    }


def _with_original(rendered: Markup, original: Markup | None) -> Markup:
    """The page's own rendering, and in a disclosure the writer's text."""
    if not rendered or not original:
        return rendered or original or Markup()
    details = Markup('<details class="told"><summary>{}</summary>{}</details>')
    return rendered + details.format("The writer's text", original)


def _build_method(result: ResearchResult) -> Section:
    entries = (
        *((("timeline", "Timeline"),) if result.timeline else ()),
        ("cost", "Cost"),
        *((("plan", "Changes to the plan"),) if result.plan.changes else ()),
        *((("calculations", "Calculations"),) if result.calculations else ()),
        *((("mended", "Corrected passages"),) if result.mended else ()),
    )
    axis = Axis(result.timeline) if result.timeline else None
    body = _render(
        "method.html",
        result=result,
        axis=axis,
        timeline_groups=group_rows(result),
        legend=list_legend(result.timeline, axis) if axis else (),
        cost_tables=cost_tables(result),
        priced=card(result.model).priced or result.telemetry.usd > 0,
        prices_as_of=PRICES_AS_OF,
        cited={source.n for source in result.sources},
    )
    return Section("made", "How it was made", body, entries)


def _build_sources(result: ResearchResult, shared: dict[str, Any]) -> Section:
    cited = sorted((s for s in result.sources if s.n is not None), key=lambda s: s.n or 0)
    body = _render(
        "sources.html",
        **shared,
        cited=cited,
        copies=find_copies(cited),
        uncited=[source for source in result.sources if source.n is None],
        context=quote_context(shared["quote_links"]),
        report_text=collapse_spaces(result.report_markdown),
    )
    return Section("sources", "Sources and quotes", body)
