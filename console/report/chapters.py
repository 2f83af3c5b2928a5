"""The written report as chapters: parsed Markdown, and safe HTML made of it.

There is no raw HTML and no image; links lead only to the web and within the page.

A citation [n] becomes a link to source n and carries the quotes that support its sentence. A mark
behind a contested sentence links to its contradiction, once per paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup

from console.report.contents import is_web_url
from console.report.quote_links import QuoteLinks, collapse_spaces
from workflows.config.model_catalog import card
from workflows.contracts.result import (
    DISAGREE,
    METHOD,
    MISSING,
    SOURCES,
    SUMMARY,
    ResearchResult,
)

_SIGN = re.compile(r"(?P<cites>(?:\[\d{1,5}\])+)|(?P<end>[.!?][\"”’)]*(?=\s|$))")
_NUMBER = re.compile(r"\[(\d{1,5})\]")
_NARROW = "\N{NARROW NO-BREAK SPACE}"
_TOGETHER = 5
"""The number of citations that are kept on one line."""
_CONTENTS = 3
"""The highest level of headings within a part."""
_SCROLLED = '<div class="scroll" role="region" tabindex="0" aria-label="table">'
"""Opens a region that scrolls, also by keyboard."""

_HEADING = re.compile(r"^##[ \t]+(.*?)[ \t]*$", re.MULTILINE)
_TITLE = re.compile(r"\A\s*#[ \t]+(.*?)[ \t]*$", re.MULTILINE)


class MarkdownRenderer:
    """Renders the chapters of one report, and collects the contested sentences."""

    def __init__(self, quote_links: QuoteLinks) -> None:
        self.quote_links = quote_links
        self.contested: dict[int, dict[str, list[str]]] = {}
        """By a contradiction's number: the ids of its sentences, by chapter."""

    def parse(self, markdown: str, chapter: str = "", mark_contested: bool = True) -> list[Token]:
        """The tokens of markdown-it, with `citation` and `dispute` among the inline ones."""
        return _parser().parse(markdown, {"block": (self, chapter, mark_contested)})

    def to_html(self, markdown: str, chapter: str = "", mark_contested: bool = True) -> Markup:
        tokens = self.parse(markdown, chapter, mark_contested)
        # The parser escapes the text; the links are made of numbers and escaped titles.
        return Markup(_parser().renderer.render(tokens, _parser().options, {}))  # noqa: S704


def citation(n: int, quotes: Sequence[str] = ()) -> str:
    backed = f' data-quotes="{" ".join(quotes)}"' if quotes else ""
    return f'<a class="cite" href="#source-{n}"{backed}>[{n}]</a>'


class _Block:
    """One paragraph, list item or table cell."""

    def __init__(self, renderer: MarkdownRenderer, chapter: str, mark_contested: bool) -> None:
        self._renderer = renderer
        self._quote_links = renderer.quote_links
        self._chapter = chapter
        self._mark_contested = mark_contested
        self._sentence = ""
        """The text since the last citation."""
        self._unmarked: list[int] = []
        """Contradictions of the current sentence."""
        self._marked: set[int] = set()

    def link(self, tokens: list[Token]) -> Iterator[Token]:
        """The tokens with links for citations, and with marks behind contested sentences."""
        inside_link = 0
        for token in tokens:
            inside_link += {"link_open": 1, "link_close": -1}.get(token.type, 0)
            if token.type == "link_open":
                token.attrSet("rel", "noopener noreferrer nofollow")
            if token.type != "text" or inside_link:
                self._sentence += " " if token.type.endswith("break") else token.content
                yield token
            else:
                yield from self._link_text(token.content)
        yield from self._marks()

    def _link_text(self, text: str) -> Iterator[Token]:
        end = 0
        for sign in _SIGN.finditer(text):
            start, end = end, sign.end()
            if sign["cites"]:
                yield self._plain(text[start : sign.start()], before_citation=True)
                yield from self._citations([int(n) for n in _NUMBER.findall(sign["cites"])])
            else:
                yield self._plain(text[start:end])
                yield from self._marks()
        yield self._plain(text[end:])

    def _plain(self, text: str, *, before_citation: bool = False) -> Token:
        self._sentence += text
        # A citation stays on the line of the word it follows.
        held = before_citation and text.endswith(" ")
        return _token("text", text[:-1] + _NARROW if held else text)

    def _citations(self, numbers: list[int]) -> Iterator[Token]:
        known = [n for n in numbers if n in self._quote_links.entries]
        for place, n in enumerate(numbers):
            if place % _TOGETHER:
                yield _token("text", "\N{WORD JOINER}")
            if n in known:
                quotes = self._quote_links.find_quotes(n, self._sentence)
                yield _token("citation", f"[{n}]", n=n, quotes=quotes)
            else:
                yield _token("text", f"[{n}]")
        if self._mark_contested:
            self._unmarked += self._quote_links.find_disputes(known, self._sentence)
        self._sentence = ""

    def _marks(self) -> Iterator[Token]:
        unmarked = [n for n in dict.fromkeys(self._unmarked) if n not in self._marked]
        for i, place in enumerate(unmarked):
            met = self._renderer.contested.setdefault(place, {})
            name = f"met-{place}-{sum(map(len, met.values())) + 1}"
            met.setdefault(self._chapter, []).append(name)
            about = self._quote_links.contradictions[place - 1].about
            words = "on another point" if i else "contested"
            yield _token("text", "\N{NO-BREAK SPACE}")
            yield _token("dispute", words, id=name, n=place, about=about)
        self._marked.update(unmarked)
        self._unmarked = []


@cache
def _parser() -> MarkdownIt:
    # Without reference links: [1] is always a citation.
    parser = _Parser("commonmark", {"html": False}).enable("table").disable(["image", "reference"])
    parser.core.ruler.push("citations", _link_citations)
    parser.core.ruler.push("headings", _lower_headings)
    parser.add_render_rule("citation", _render_citation)
    parser.add_render_rule("dispute", _render_dispute)
    parser.add_render_rule("table_open", lambda *_: f"{_SCROLLED}<table>\n")
    parser.add_render_rule("table_close", lambda *_: "</table>\n</div>\n")
    return parser


def _render_citation(_self: object, tokens: Sequence[Token], i: int, *_: object) -> str:
    return citation(tokens[i].meta["n"], tokens[i].meta["quotes"])


def _render_dispute(_self: object, tokens: Sequence[Token], i: int, *_: object) -> str:
    meta, about = tokens[i].meta, escape(tokens[i].meta["about"])
    # A screen reader reads a mark with its subject.
    return (
        f'<a class="dispute" id="{meta["id"]}" href="#dispute-{meta["n"]}" title="{about}">'
        f'{tokens[i].content}<span class="hidden">: {about}</span></a>'
    )


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        return is_web_url(url) or url.startswith("#")


def _link_citations(state: StateCore) -> None:
    for block in state.tokens:
        if block.type == "inline" and block.children:
            block.children = list(_Block(*state.env["block"]).link(block.children))


def _lower_headings(state: StateCore) -> None:
    """Headings in a chapter are below the chapter's own, and skip no level."""
    level = _CONTENTS - 1
    for block in state.tokens:
        if block.type == "heading_open":
            level = max(_CONTENTS, min(int(block.tag[1]), level + 1))
        if block.type in ("heading_open", "heading_close"):
            block.tag = f"h{level}"


def _token(kind: str, content: str, **meta: object) -> Token:
    return Token(kind, "", 0, content=content, meta=meta)


@dataclass(frozen=True)
class Chapter:
    title: str
    markdown: str
    facet_id: str
    """The facet that it is about; empty where it is about none."""


@dataclass(frozen=True)
class SplitReport:
    title: str
    lead: str
    """The text in front of the first heading."""
    chapters: tuple[Chapter, ...]
    told: dict[str, str]
    """What the writer says of contradictions and gaps, which are rendered from the result."""


def split_report(result: ResearchResult) -> SplitReport:
    """The chapters without the method and the sources, which are rendered from the result."""
    text, title = result.report_markdown, result.question
    if found := _TITLE.match(text):
        title, text = found.group(1), text[found.end() :]
    if result.question.startswith(title.rstrip(" .…")):
        title = result.question  # the title is its beginning
    starts = list(_HEADING.finditer(text))
    bounds = [*(start.start() for start in starts), len(text)]
    parts = [
        (collapse_spaces(start.group(1)), text[start.end() : end].strip())
        for start, end in zip(starts, bounds[1:], strict=True)
    ]
    cited = any(source.n is not None for source in result.sources)
    for own in (METHOD, *((SOURCES,) if cited else ())):
        # The last one: a facet may have the same title.
        place = max((i for i, (name, _) in enumerate(parts) if name == own), default=None)
        if place is not None:
            del parts[place]
    told = {name: markdown for name, markdown in parts if name in (DISAGREE, MISSING)}
    facets = {collapse_spaces(item.title): item.facet_id for item in result.coverage}
    facets.pop(SUMMARY, None)
    # Only the first chapter of a facet's name belongs to the facet.
    chapters = tuple(
        Chapter(name, markdown, facets.pop(name, ""))
        for name, markdown in parts
        if name not in told
    )
    lead = text[: bounds[0]].strip()
    statement = card(result.model).statement
    blocks = [
        block
        for block in re.split(r"\n\s*\n", lead)
        # The page's header has the same statement.
        if not (statement and block.startswith(f"_{statement}"))
    ]
    return SplitReport(title.strip() or result.question, "\n\n".join(blocks), chapters, told)
