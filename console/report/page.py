"""Render the report as one HTML page that needs no network and no other file.

The answer comes first, what the report cost and how it was made last. The templates escape all text
from sources and models, and a content security policy allows only the page's own style and script,
by their hashes. The page works without the script: a citation then links to its source instead of
opening it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from console.formatting import capitalize, count, duration, tone, usd
from console.report.chapters import MarkdownRenderer, SplitReport, citation, split_report
from console.report.charts import HEIGHT, WIDTH, Drawing, Figures
from console.report.contents import (
    Axis,
    context_length,
    cost_tables,
    cut_start,
    find_copies,
    group_rows,
    is_web_url,
    key_figures,
    list_cited,
    list_legend,
    list_queries,
    shorten,
    side_facts,
)
from console.report.quote_links import QuoteLinks, collapse_spaces
from workflows.config.model_catalog import PRICES_AS_OF, card
from workflows.contracts.result import DISAGREE, MISSING, SUMMARY, Comparison, ResearchResult

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
    "cut_start": cut_start,
    "duration": lambda seconds: duration(max(0.0, seconds)),
    "shorten": shorten,
    "usd": usd,
}
_TEMPLATES.globals |= {
    "citation": lambda n, quotes: Markup(citation(n, quotes)),  # noqa: S704
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
        sections=_Builder(result, written).build(),
        status_label=_STATUS[result.status],
        back=back,
        policy=FORM_POLICY if box else CONTENT_POLICY,
        box=box,
        style=_STYLE,
        script=_SCRIPT,
    )


class _Builder:
    """Renders the writer's chapters in their order, and the sections that the page adds."""

    def __init__(self, result: ResearchResult, written: SplitReport) -> None:
        self._result = result
        self._written = written
        self._links = QuoteLinks(result)
        self._renderer = MarkdownRenderer(self._links)
        self._figures = Figures(result, self._links)
        titles = {chapter.facet_id: chapter.title for chapter in written.chapters}
        self._places = {
            item.facet_id: (f"facet-{n}", titles[item.facet_id])
            for n, item in enumerate(result.coverage, 1)
            if item.facet_id in titles
        }
        """The id and title of each facet's section."""

    def build(self) -> list[Section]:
        chapters = list(self._chapters())
        others = self._figures.of_facets(self._figures.facets - self._places.keys())
        missing = self._render("gaps.html", queries=list_queries(self._result))
        statement = card(self._result.model).statement
        figures = key_figures(self._result)
        glance = self._render("coverage.html", figures=figures, statement=statement)
        return [
            *chapters,
            Section("figures", "Figures and tables", self._draw(*others)),
            # After the chapters: rendering them collects the contested sentences.
            Section("disputes", DISAGREE, self._with_original(self._disputes(), DISAGREE)),
            Section("missing", MISSING, self._with_original(missing, MISSING)),
            Section("coverage", "At a glance", glance),
            self._method(),
            self._sources(),
        ]

    def _render(self, name: str, **values: Any) -> Markup:
        rendered = _TEMPLATES.get_template(name).render(
            result=self._result, places=self._places, quote_links=self._links, **values
        )
        return Markup(rendered.strip())  # noqa: S704

    def _chapters(self) -> Iterator[Section]:
        facets = {item.facet_id: item for item in self._result.coverage}
        questions = {facet.id: facet.question for facet in self._result.plan.facets}
        if self._written.lead:
            lead = self._renderer.to_html(self._written.lead, "In short")
            yield Section("lead", "In short", lead)
        for n, chapter in enumerate(self._written.chapters, 1):
            text = self._renderer.to_html(chapter.markdown, chapter.title)
            place = "summary" if chapter.title == SUMMARY else f"part-{n}"
            if key := chapter.facet_id:
                place, _ = self._places[key]
                head = self._render("facet.html", item=facets[key], question=questions.get(key))
                text = head + text + self._draw(*self._figures.of_facets({key}))
            yield Section(place, chapter.title, text)

    def _draw(self, drawings: Sequence[Drawing], comparisons: Sequence[Comparison] = ()) -> Markup:
        return self._render(
            "charts.html",
            drawings=drawings,
            comparisons=comparisons,
            cite_claims=self._links.cite_claims,
            width=WIDTH,
            height=HEIGHT,
        )

    def _disputes(self) -> Markup:
        sources = {source.id: source for source in self._result.sources}
        return self._render(
            "contradictions.html",
            renderer=self._renderer,
            sources=sources,
            draw=lambda item: self._draw(self._figures.of_contradiction(item.id)),
            side_facts=lambda side: side_facts(side, sources),
        )

    def _with_original(self, rendered: Markup, name: str) -> Markup:
        """The page's own rendering, and in a disclosure the writer's text."""
        written = self._written.told.get(name, "")
        original = self._renderer.to_html(written, name, mark_contested=False)
        if not rendered or not original:
            return rendered or original
        details = Markup('<details class="told"><summary>{}</summary>{}</details>')
        return rendered + details.format("The writer's text", original)

    def _method(self) -> Section:
        result = self._result
        entries = (
            *((("timeline", "Timeline"),) if result.timeline else ()),
            ("cost", "Cost"),
            *((("plan", "Changes to the plan"),) if result.plan.changes else ()),
            *((("calculations", "Calculations"),) if result.calculations else ()),
            *((("mended", "Corrected passages"),) if result.mended else ()),
        )
        axis = Axis(result.timeline) if result.timeline else None
        body = self._render(
            "method.html",
            axis=axis,
            timeline_groups=group_rows(result),
            legend=list_legend(result.timeline, axis) if axis else (),
            cost_tables=cost_tables(result),
            priced=card(result.model).priced or result.telemetry.usd > 0,
            prices_as_of=PRICES_AS_OF,
            cited={source.n for source in result.sources},
        )
        return Section("made", "How it was made", body, entries)

    def _sources(self) -> Section:
        cited = list_cited(self._result)
        body = self._render(
            "sources.html",
            cited=cited,
            copies=find_copies(cited),
            uncited=[source for source in self._result.sources if source.n is None],
            context_length=context_length(self._links),
            report_text=collapse_spaces(self._result.report_markdown),
        )
        return Section("sources", "Sources and quotes", body)
