"""Render Markdown as safe HTML: no raw HTML, no images, links only to the web and within the page.

A citation [n] becomes a link to source n and carries the quotes that support its sentence. A
contested sentence links to its contradiction once per paragraph: the link is on its own words if
they mention the other side (“though others say”, “(Contested: …”), else on a mark behind its full
stop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup

from console.report.quote_links import QuoteLinks

_SIGN = re.compile(
    r"(?P<cites>(?:\[\d{1,5}\])+)"
    r"|\((?P<remark>Contested)(?=: )"
    r"|(?P<others>\b(?:though|although|but|while|whereas)\s+"
    r"(?:others|other sources|another source|another)\s+"
    r"(?:say|says|give|gives|report|reports|put|puts)\b(?:\s+otherwise\b)?)"
    # A remark belongs to the sentence in front of it.
    r"|(?P<end>[.!?][\"”’)]*(?=\s|$)(?!\s*\(Contested: ))",
    re.IGNORECASE,
)
_WEB = re.compile(r"https?://", re.IGNORECASE)
_NUMBER = re.compile(r"\[(\d{1,5})\]")
_NARROW = "\N{NARROW NO-BREAK SPACE}"
_TOGETHER = 5
"""The number of citations that are kept on one line."""
_CONTENTS = 3
"""The highest level of headings within a part."""


class MarkdownRenderer:
    """Renders the chapters of one report, and collects the contested sentences."""

    def __init__(self, quote_links: QuoteLinks) -> None:
        self._quote_links = quote_links
        self.contested: dict[int, list[tuple[str, str]]] = {}
        """By a contradiction's number: the ids and chapters of its sentences."""

    def to_html(self, markdown: str, chapter: str = "", mark_contested: bool = True) -> Markup:
        links = _Links(self, self._quote_links, chapter, mark_contested)
        # The parser escapes the text; the links are made of numbers and escaped titles.
        return Markup(_parser().render(markdown, {"links": links}))  # noqa: S704


def is_web_url(uri: str) -> bool:
    return bool(_WEB.match(uri.strip()))


def citation(n: int, quotes: Sequence[str] = ()) -> str:
    backed = f' data-quotes="{" ".join(quotes)}"' if quotes else ""
    return f'<a class="cite" href="#source-{n}"{backed}>[{n}]</a>'


class _Links:
    """The citations of one chapter."""

    def __init__(
        self, renderer: MarkdownRenderer, quote_links: QuoteLinks, chapter: str, mark: bool
    ) -> None:
        self.renderer = renderer
        self.quote_links = quote_links
        self.chapter = chapter
        self.mark = mark

    def apply(self, tokens: list[Token]) -> Iterator[Token]:
        block, inside_link = _Block(self), 0
        for token in tokens:
            inside_link += {"link_open": 1, "link_close": -1}.get(token.type, 0)
            if token.type == "link_open":
                token.attrSet("rel", "noopener noreferrer nofollow")
            if token.type != "text" or inside_link:
                block.sentence += " " if token.type.endswith("break") else token.content
                yield token
            else:
                yield from block.read(token.content)
        yield from block.marks()


class _Block:
    """One paragraph, list item or table cell."""

    def __init__(self, links: _Links) -> None:
        self._links = links
        self._quote_links = links.quote_links
        self.sentence = ""
        """The text since the last citation."""
        self._cited: tuple[list[int], str] = ([], "")
        """The last citation's numbers and sentence."""
        self._remarked = ""
        """The sentence that the current remark contests."""
        self._unlinked: list[int] = []
        """Contradictions of the sentence without a link yet."""
        self._linked: set[int] = set()
        self._current: int | None = None
        """The contradiction whose other side the text states."""

    def read(self, text: str) -> Iterator[Token]:
        end = 0
        for sign in _SIGN.finditer(text):
            yield from self._plain(text[end : sign.start()], bool(sign["cites"]))
            end = sign.end()
            if sign["cites"]:
                yield from self._citations([int(n) for n in _NUMBER.findall(sign["cites"])])
            elif sign["remark"]:
                yield from self._remark(sign["remark"], text[end:].partition(")")[0])
            elif sign["others"]:
                self.sentence += sign["others"]
                yield self._words(sign["others"])
            else:
                yield from self._plain(sign["end"])
                yield from self.marks()
                self._current = None
        yield from self._plain(text[end:])

    def marks(self) -> Iterator[Token]:
        """Marks behind a sentence, for contradictions that none of its words link to."""
        unlinked = [place for place in self._unlinked if place not in self._linked]
        for i, place in enumerate(unlinked):
            yield _token("text", "\N{NO-BREAK SPACE}")
            yield self._contested(place, "on another point" if i else "contested", "dispute")
        self._unlinked = []

    def _plain(self, text: str, before_citation: bool = False) -> Iterator[Token]:
        self.sentence += text
        if ")" in text:
            self._remarked, self._current = "", None
        # A citation stays on the line of the word it follows.
        held = before_citation and text.endswith(" ")
        yield _token("text", text[:-1] + _NARROW if held else text)

    def _citations(self, numbers: list[int]) -> Iterator[Token]:
        known = [n for n in numbers if n in self._quote_links.entries]
        for place, n in enumerate(numbers):
            if place % _TOGETHER:
                yield _token("text", "\N{WORD JOINER}")
            if n in known:
                # Raw on purpose: it holds numbers and nothing from the text.
                yield _token("html_inline", citation(n, self._quotes(n)))
            else:
                yield _token("text", f"[{n}]")
        if self._links.mark and not self._remarked:
            found = self._quote_links.find_disputes(known, self.sentence)
            self._unlinked += [place for place in found if place not in self._unlinked]
        self._cited, self.sentence = (known, self.sentence), ""

    def _quotes(self, n: int) -> list[str]:
        found = self._quote_links.find_quotes(n, f"{self._remarked} {self.sentence}")
        if found or self._current is None:
            return found
        # “though others say 4 million” is too short to match; the contradiction knows its claims.
        return self._quote_links.quotes_of_claims(
            n, self._quote_links.dispute(self._current).claim_ids
        )

    def _remark(self, word: str, remark: str) -> Iterator[Token]:
        numbers, self._remarked = self._cited
        if self._links.mark and not self._unlinked:
            others = [int(n) for n in _NUMBER.findall(remark)]
            self._unlinked = self._quote_links.find_dispute_between(numbers, others)
        yield _token("text", "(")
        yield self._words(word)

    def _words(self, words: str) -> Token:
        if not self._unlinked:
            return _token("text", words)
        self._current = self._unlinked.pop(0)
        return self._contested(self._current, words, "dispute says")

    def _contested(self, place: int, words: str, kind: str) -> Token:
        self._linked.add(place)
        met = self._links.renderer.contested.setdefault(place, [])
        name = f"met-{place}-{len(met) + 1}"
        met.append((name, self._links.chapter))
        about = escape(self._quote_links.dispute(place).about)
        # A screen reader reads a mark with its subject.
        more = f'<span class="hidden">: {about}</span>' if kind == "dispute" else ""
        return _token(
            "html_inline",
            f'<a class="{kind}" id="{name}" href="#dispute-{place}" title="{about}">'
            f"{escape(words)}{more}</a>",
        )


@cache
def _parser() -> MarkdownIt:
    # Without reference links: [1] is always a citation.
    parser = _Parser("commonmark", {"html": False}).enable("table").disable(["image", "reference"])
    parser.core.ruler.push("citations", _link_citations)
    parser.core.ruler.push("headings", _lower_headings)
    parser.core.ruler.push("tables", _wrap_tables)
    return parser


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        return is_web_url(url) or url.startswith("#")


def _link_citations(state: StateCore) -> None:
    links: _Links = state.env["links"]
    for block in state.tokens:
        if block.type == "inline" and block.children:
            block.children = list(links.apply(block.children))


def _lower_headings(state: StateCore) -> None:
    """Headings in a chapter are below the chapter's own, and skip no level."""
    level = _CONTENTS - 1
    for block in state.tokens:
        if block.type == "heading_open":
            level = max(_CONTENTS, min(int(block.tag[1]), level + 1))
        if block.type in ("heading_open", "heading_close"):
            block.tag = f"h{level}"


def _wrap_tables(state: StateCore) -> None:
    """Wrap tables in a region that scrolls, also by keyboard."""
    framed: list[Token] = []
    for block in state.tokens:
        if block.type == "table_open":
            frame = '<div class="scroll" role="region" tabindex="0" aria-label="table">'
            framed.append(_token("html_block", frame))
        framed.append(block)
        if block.type == "table_close":
            framed.append(_token("html_block", "</div>\n"))
    state.tokens = framed


def _token(kind: str, content: str) -> Token:
    return Token(kind, "", 0, content=content)
