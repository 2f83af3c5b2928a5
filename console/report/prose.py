"""Markdown as safe HTML: no raw HTML, no images, no link but to the web and within the page.

A citation [n] becomes a link to the source of that number, where there is one, and carries the
quotes its sentence rests on. A sentence that is contested gets a link to the contradiction; where
the writer's own remark says what others say, the link stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from console.report.backing import Backing
from console.report.markup import is_web

_CITED = re.compile(
    r"(?P<cites>(?:\[\d{1,5}\])+)(?P<stop>[.,;:!?]?)"
    r"(?P<told>\s*\(Contested: )?"
)
_NUMBER = re.compile(r"\[(\d{1,5})\]")
_NARROW = "\N{NARROW NO-BREAK SPACE}"
_TOGETHER = 5
"""So many citations stay on one line."""
_CONTENTS = 3
"""Headings within a part are of this level or lower."""


class Prose:
    """Renders the chapters of one report, and remembers which sentences are contested."""

    def __init__(self, backing: Backing) -> None:
        self._backing = backing
        self.contested: dict[int, list[tuple[str, str]]] = {}
        """By a contradiction's place: where it is met in the report, as id and chapter."""

    def to_html(self, markdown: str, chapter: str = "", mark_contested: bool = True) -> str:
        links = _Links(self, self._backing, chapter, mark_contested)
        return str(_parser().render(markdown, {"links": links}))


def citation(n: int, quotes: Sequence[str] = ()) -> str:
    backed = f' data-quotes="{" ".join(quotes)}"' if quotes else ""
    return f'<a class="cite" href="#source-{n}"{backed}>[{n}]</a>'


class _Links:
    """The citations of one chapter."""

    def __init__(self, prose: Prose, backing: Backing, chapter: str, mark: bool) -> None:
        self._prose = prose
        self._backing = backing
        self._chapter = chapter
        self._mark = mark
        self._remarked = ""
        """The sentence whose contesting remark is being read."""

    def applied(self, tokens: list[Token]) -> Iterator[Token]:
        inside_link, sentence = 0, ""
        for token in tokens:
            inside_link += {"link_open": 1, "link_close": -1}.get(token.type, 0)
            if token.type == "link_open":
                token.attrSet("rel", "noopener noreferrer nofollow")
            if token.type != "text" or inside_link:
                sentence += " " if token.type.endswith("break") else token.content
                yield token
                continue
            end = 0
            for match in _CITED.finditer(token.content):
                before = token.content[end : match.start()]
                sentence += before
                if ")" in before:
                    self._remarked = ""
                # A citation stays on the line of the word it follows.
                held = before[:-1] + _NARROW if before.endswith(" ") else before
                yield _token("text", held)
                yield from self._cited(match, sentence)
                sentence, end = "", match.end()
            sentence += token.content[end:]
            yield _token("text", token.content[end:])

    def _cited(self, match: re.Match[str], sentence: str) -> Iterator[Token]:
        numbers = [int(n) for n in _NUMBER.findall(match["cites"])]
        known = [n for n in numbers if n in self._backing.entries]
        for place, n in enumerate(numbers):
            if place % _TOGETHER:
                yield _token("text", "\N{WORD JOINER}")
            if n in known:
                # Raw on purpose: it holds numbers and nothing from the text.
                quotes = self._backing.quotes_for(n, f"{self._remarked} {sentence}")
                yield _token("html_inline", citation(n, quotes))
            else:
                yield _token("text", f"[{n}]")
        yield _token("text", match["stop"])
        found = (
            [] if self._remarked or not self._mark else self._backing.disputes_of(known, sentence)
        )
        if not match["told"]:
            for place in found:
                yield _token("text", "\N{NO-BREAK SPACE}")
                yield self._contested(place)
            return
        self._remarked = sentence
        if found:
            yield _token("text", " (")
            yield from (self._contested(place) for place in found)
            yield _token("text", " ")
        else:
            yield _token("text", match["told"])

    def _contested(self, place: int) -> Token:
        met = self._prose.contested.setdefault(place, [])
        name = f"met-{place}-{len(met) + 1}"
        met.append((name, self._chapter))
        about = escape(self._backing.dispute(place).about)
        return _token(
            "html_inline",
            f'<a class="dispute" id="{name}" href="#dispute-{place}" title="{about}">'
            f'contested<span class="hidden">: {about}</span></a>',
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
        return is_web(url) or url.startswith("#")


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
