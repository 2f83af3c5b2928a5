"""Markdown as safe HTML: no raw HTML, no images, no link but to the web and within the page.

A citation [n] becomes a link to the source of that number, where there is one, and carries the
quotes its sentence rests on. A contested sentence leads to its contradiction, and says so once:
where its own words tell of the others (“though others say”, “(Contested: …”) they are the link, and
where they do not, a mark stands behind its full stop. A paragraph has one mark for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from console.report.html import is_web_url
from console.report.quote_links import QuoteLinks

_SIGN = re.compile(
    r"(?P<cites>(?:\[\d{1,5}\])+)"
    r"|\((?P<remark>Contested)(?=: )"
    r"|(?P<others>\b(?:though|although|but|while|whereas)\s+"
    r"(?:others|other sources|another source|another)\s+"
    r"(?:say|says|give|gives|report|reports|put|puts)\b(?:\s+otherwise\b)?)"
    # A remark belongs to the sentence before it.
    r"|(?P<end>[.!?][\"”’)]*(?=\s|$)(?!\s*\(Contested: ))",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\[(\d{1,5})\]")
_NARROW = "\N{NARROW NO-BREAK SPACE}"
_TOGETHER = 5
"""So many citations stay on one line."""
_CONTENTS = 3
"""Headings within a part are of this level or lower."""


class MarkdownRenderer:
    """Renders the chapters of one report, and remembers which sentences are contested."""

    def __init__(self, quote_links: QuoteLinks) -> None:
        self._quote_links = quote_links
        self.contested: dict[int, list[tuple[str, str]]] = {}
        """By a contradiction's place: where it is met in the report, as id and chapter."""

    def to_html(self, markdown: str, chapter: str = "", mark_contested: bool = True) -> str:
        links = _Links(self, self._quote_links, chapter, mark_contested)
        return str(_parser().render(markdown, {"links": links}))


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

    def applied(self, tokens: list[Token]) -> Iterator[Token]:
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
    """One paragraph, item or cell, as it is read from its beginning."""

    def __init__(self, links: _Links) -> None:
        self._links = links
        self._quote_links = links.quote_links
        self.sentence = ""
        """What was read since the last citation."""
        self._cited: tuple[list[int], str] = ([], "")
        """The last citation's numbers and sentence."""
        self._remarked = ""
        """The sentence whose contesting remark is being read."""
        self._owed: list[int] = []
        """Contradictions the sentence has a side in, and nothing leads to yet."""
        self._told: set[int] = set()
        self._against: int | None = None
        """The contradiction whose other sides are being told."""

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
                self._against = None
        yield from self._plain(text[end:])

    def marks(self) -> Iterator[Token]:
        """Behind a sentence: what no word of it leads to."""
        owed = [place for place in self._owed if place not in self._told]
        for i, place in enumerate(owed):
            yield _token("text", "\N{NO-BREAK SPACE}")
            yield self._contested(place, "on another point" if i else "contested", "dispute")
        self._owed = []

    def _plain(self, text: str, before_citation: bool = False) -> Iterator[Token]:
        self.sentence += text
        if ")" in text:
            self._remarked, self._against = "", None
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
            found = self._quote_links.disputes_of(known, self.sentence)
            self._owed += [place for place in found if place not in self._owed]
        self._cited, self.sentence = (known, self.sentence), ""

    def _quotes(self, n: int) -> list[str]:
        found = self._quote_links.quotes_for(n, f"{self._remarked} {self.sentence}")
        if found or self._against is None:
            return found
        # “though others say 4 million” has few words of its own; the contradiction has its claims.
        return self._quote_links.quotes_of(n, self._quote_links.dispute(self._against).claim_ids)

    def _remark(self, word: str, remark: str) -> Iterator[Token]:
        numbers, self._remarked = self._cited
        if self._links.mark and not self._owed:
            others = [int(n) for n in _NUMBER.findall(remark)]
            self._owed = self._quote_links.disputes_between(numbers, others)
        yield _token("text", "(")
        yield self._words(word)

    def _words(self, words: str) -> Token:
        if not self._owed:
            return _token("text", words)
        self._against = self._owed.pop(0)
        return self._contested(self._against, words, "dispute says")

    def _contested(self, place: int, words: str, kind: str) -> Token:
        self._told.add(place)
        met = self._links.renderer.contested.setdefault(place, [])
        name = f"met-{place}-{len(met) + 1}"
        met.append((name, self._links.chapter))
        about = escape(self._quote_links.dispute(place).about)
        # A mark is read out with what it is about; words of the sentence stay the sentence's.
        more = f'<span class="hidden">: {about}</span>' if kind == "dispute" else ""
        return _token(
            "html_inline",
            f'<a class="{kind}" id="{name}" href="#dispute-{place}" title="{about}">'
            f"{escape(words)}{more}</a>",
        )


@cache
def _parser() -> MarkdownIt:
    # Without definitions of links elsewhere: [1] is a citation, whatever a text says it is.
    parser = _Parser("commonmark", {"html": False}).enable("table").disable(["image", "reference"])
    parser.core.ruler.push("citations", _link_citations)
    parser.core.ruler.push("headings", _lower_headings)
    parser.core.ruler.push("tables", _reachable_tables)
    return parser


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        return is_web_url(url) or url.startswith("#")


def _link_citations(state: StateCore) -> None:
    links: _Links = state.env["links"]
    for block in state.tokens:
        if block.type == "inline" and block.children:
            block.children = list(links.applied(block.children))


def _lower_headings(state: StateCore) -> None:
    """A chapter's own headings come below the chapter's, and none skips a level."""
    level = _CONTENTS - 1
    for block in state.tokens:
        if block.type == "heading_open":
            level = max(_CONTENTS, min(int(block.tag[1]), level + 1))
        if block.type in ("heading_open", "heading_close"):
            block.tag = f"h{level}"


def _reachable_tables(state: StateCore) -> None:
    """A table may be wider than a phone: it scrolls for itself, also by keyboard."""
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
