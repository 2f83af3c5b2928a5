"""The report as a sequence of blocks, for formats that are not HTML: the PDF and the Word file.

The order is the page's: the answer, the findings, where sources disagree, what is missing, and then
how it was made and the sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from console.formatting import capitalize
from console.report.chapters import MarkdownRenderer, split_report
from console.report.charts import Drawing, Figures
from console.report.contents import is_web_url, key_figures, list_cited, side_facts
from console.report.quote_links import QuoteLinks, collapse_spaces
from workflows.config.model_catalog import card
from workflows.contracts.evidence import Contradiction
from workflows.contracts.result import (
    DISAGREE,
    METHOD,
    MISSING,
    SOURCES,
    ResearchResult,
)


@dataclass(frozen=True)
class Run:
    """Text of one style; `href` is an address of the web or `#anchor`."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    href: str = ""


Runs = Sequence[Run]
_Flowing = Literal["paragraph", "item", "quote"]


@dataclass(frozen=True)
class Text:
    style: Literal["title", "heading", "paragraph", "item", "quote", "code", "small"]
    runs: Runs
    level: int = 0
    """Of a heading from 1 on; of an item, how deep its list stands in others."""
    marker: str = ""
    """The bullet or number of an item."""
    anchor: str = ""


@dataclass(frozen=True)
class Table:
    head: Sequence[Runs]
    rows: Sequence[Sequence[Runs]]
    caption: str = ""

    @property
    def shares(self) -> list[float]:
        """The width of each column as a share of the whole: longer texts have wider ones."""
        longest = [12] * max(len(row) for row in (self.head, *self.rows))
        for row in (self.head, *self.rows):
            for place, cell in enumerate(row):
                length = sum(len(run.text) for run in cell)
                longest[place] = max(longest[place], min(60, length))
        return [length / sum(longest) for length in longest]

    @property
    def has_head(self) -> bool:
        return any(run.text for cell in self.head for run in cell)


@dataclass(frozen=True)
class Figure:
    drawing: Drawing
    caption: str = ""


Block = Text | Table | Figure
LONG_TITLE = 110
"""A title of more characters is set smaller."""


def build_document(result: ResearchResult) -> tuple[str, list[Block]]:
    """The title, and all blocks in reading order."""
    written = split_report(result)
    builder = _Builder(result)
    blocks: list[Block] = [Text("title", [Run(written.title)])]
    if result.question.strip() not in written.title:
        blocks.append(Text("paragraph", [Run(result.question, italic=True)]))
    blocks += builder.markdown(written.lead)
    for chapter in written.chapters:
        blocks.append(Text("heading", [Run(chapter.title)], 1))
        blocks += builder.markdown(chapter.markdown, chapter.title)
        blocks += builder.draw({chapter.facet_id})
    drawn = {chapter.facet_id for chapter in written.chapters}
    if others := list(builder.draw(builder.figures.facets - drawn)):
        blocks += [Text("heading", [Run("Figures and tables")], 1), *others]
    blocks += builder.disputes(written.told.get(DISAGREE, ""))
    blocks += builder.missing(written.told.get(MISSING, ""))
    blocks += builder.method()
    blocks += builder.sources()
    return written.title, blocks


class _Builder:
    def __init__(self, result: ResearchResult) -> None:
        self._result = result
        self._links = QuoteLinks(result)
        self._renderer = MarkdownRenderer(self._links)
        self.figures = Figures(result, self._links)

    def markdown(self, text: str, chapter: str = "") -> Iterator[Block]:
        yield from _read_blocks(SyntaxTreeNode(self._renderer.parse(text, chapter)).children)

    def draw(self, facet_ids: Set[str]) -> Iterator[Block]:
        drawings, comparisons = self.figures.of_facets(facet_ids)
        for drawing in drawings:
            yield Figure(drawing, drawing.chart.title)
        for table in comparisons:
            head = _cells(table.subject or "Of", *table.attributes, "Source")
            rows = [
                [*_cells(row.subject, *row.cells), cite(self._links.cite_claims(row.claim_ids))]
                for row in table.rows
            ]
            yield Table(head, rows, table.title)

    def disputes(self, markdown: str) -> Iterator[Block]:
        """The contradictions; the writer's text where the result has none."""
        if self._result.contradictions or markdown:
            yield Text("heading", [Run(DISAGREE)], 1)
        if not self._result.contradictions:
            yield from self.markdown(markdown, DISAGREE)
        for n, item in enumerate(self._result.contradictions, 1):
            yield Text("heading", [Run(capitalize(item.about))], 2, anchor=f"dispute-{n}")
            yield self._sides(item)
            yield from map(Figure, self.figures.of_contradiction(item.id))
            yield Text(
                "paragraph", [Run("Why they may differ: ", bold=True), Run(item.explanation)]
            )

    def _sides(self, item: Contradiction) -> Table:
        sources = {source.id: source for source in self._result.sources}
        rows = []
        for side in item.sides:
            stated = [Run(side.text)]
            stated += [Run(f" {name}: {text}.") for name, text in side_facts(side, sources)]
            named: list[Run] = []
            for source in (sources[id_] for id_ in side.source_ids if id_ in sources):
                number = cite([(source.n, ())]) if source.n is not None else []
                named += [Run(f"{source.title} "), *number, Run(" ")]
            rows.append([[Run(side.context.value, bold=True)], stated, named])
        return Table(_cells("Value", "What is said", "By"), rows)

    def missing(self, markdown: str) -> Iterator[Block]:
        unread = [file for file in self._result.unreadable if file.uri not in markdown]
        if markdown or unread:
            yield Text("heading", [Run(MISSING)], 1)
        yield from self.markdown(markdown, MISSING)
        rows = [_cells(file.uri, file.reason) for file in unread]
        if rows:
            yield Table(_cells("File that could not be read", "Why"), rows)

    def sources(self) -> Iterator[Block]:
        """The cited sources, with the quotes that the report does not repeat word for word."""
        cited = list_cited(self._result)
        said = collapse_spaces(self._result.report_markdown)
        if cited:
            yield Text("heading", [Run(SOURCES)], 1)
        for source in cited:
            facts = ", ".join(filter(None, (source.kind, source.date, *source.marks)))
            where = Run(source.uri, href=source.uri if is_web_url(source.uri) else "", code=True)
            runs = [Run(f"{source.title} ", bold=True), Run(f"({facts}) "), where]
            yield Text("item", runs, marker=f"{source.n}.", anchor=f"source-{source.n}")
            for entry in self._links.entries[source.n or 0]:
                quote = collapse_spaces(entry.quote.text)
                if quote.rstrip(".") not in said:
                    yield Text("quote", [Run(f"“{quote}”")])

    def method(self) -> Iterator[Block]:
        result = self._result
        yield Text("heading", [Run(METHOD)], 1)
        rows = [_cells(name, f"{big} {small}") for name, _, big, small in key_figures(result)]
        yield Table(_cells("", ""), rows)
        facets = [
            _cells(item.title, item.status.replace("_", " "), str(item.claims), str(item.sources))
            for item in result.coverage
        ]
        if facets:
            yield Table(_cells("Facet", "Status", "Claims", "Sources"), facets)
        made = f"Made on {result.started_at[:10]} by" if result.started_at else "Made by"
        statement = card(result.model).statement
        yield Text("small", [Run(f"{made} job {result.id}, model {result.model}. {statement}")])


def cite(sources: Iterable[tuple[int, Sequence[str]]]) -> list[Run]:
    """The numbers of sources as links; each has the ids of its quotes beside it."""
    return [Run(f"[{n}]", href=f"#source-{n}") for n, _ in sources]


def _cells(*texts: str) -> list[Runs]:
    return [[Run(text)] for text in texts]


# --- Markdown ------------------------------------------------------------------------------------


def _read_blocks(
    nodes: Iterable[SyntaxTreeNode], style: _Flowing = "paragraph", level: int = 0
) -> Iterator[Block]:
    """The blocks of parsed Markdown; `level` says how deep an item's list stands in others."""
    for node in nodes:
        match node.type:
            case "bullet_list" | "ordered_list":
                deeper = level + 1 if style == "item" else 0
                for number, item in enumerate(node.children, int(node.attrs.get("start", 1))):
                    blocks = list(_read_blocks(item.children, "item", deeper))
                    if blocks and isinstance(blocks[0], Text) and blocks[0].style == "item":
                        marker = "•" if node.type == "bullet_list" else f"{number}."
                        blocks[0] = replace(blocks[0], marker=blocks[0].marker or marker)
                    yield from blocks
            case "blockquote":
                yield from _read_blocks(
                    node.children, "item" if style == "item" else "quote", level
                )
            case "heading":
                yield Text("heading", _read_inline(node), int(node.tag[1]) - 1)
            case "paragraph":
                yield Text(style, _read_inline(node), level)
            case "fence" | "code_block":
                yield Text("code", [Run(node.content.rstrip("\n"), code=True)])
            case "table":
                head, *rows = (
                    [_read_inline(cell) for cell in row.children]
                    for part in node.children
                    for row in part.children
                )
                yield Table(head, rows)


def _read_inline(node: SyntaxTreeNode) -> list[Run]:
    """The text of a heading, a paragraph or a cell, which is its only child."""
    (inline,) = node.children
    return _read_runs(inline.token.children or ()) if inline.token else []


def _read_runs(tokens: Iterable[Token]) -> list[Run]:
    runs: list[Run] = []
    style = Run("")
    for token in tokens:
        match token.type:
            case "strong_open" | "strong_close":
                style = replace(style, bold=token.nesting > 0)
            case "em_open" | "em_close":
                style = replace(style, italic=token.nesting > 0)
            case "link_open":
                style = replace(style, href=str(token.attrGet("href") or ""))
            case "link_close":
                style = replace(style, href="")
            case "softbreak" | "hardbreak":
                runs.append(Run(" "))
            case "citation":
                runs.append(Run(token.content, href=f"#source-{token.meta['n']}"))
            case "dispute":
                runs.append(Run(token.content, italic=True, href=f"#dispute-{token.meta['n']}"))
            case "code_inline":
                runs.append(replace(style, text=token.content, code=True))
            case _ if token.content:
                runs.append(replace(style, text=token.content))
    return runs
