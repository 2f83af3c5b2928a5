"""Markdown as safe HTML: no raw HTML, no images, no link but to the web and within the page.

A citation [n] becomes a link to the source of that number, where there is one.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_CITATION = re.compile(r"\[(\d{1,5})\]")
_WEB = re.compile(r"https?://", re.IGNORECASE)


def to_html(markdown: str, cited: Collection[int]) -> str:
    """The text as HTML; `cited` are the numbers that have a source to link to."""
    return str(_parser().render(markdown, {"cited": frozenset(cited)}))


def citation(number: int) -> str:
    return f'<a class="cite" href="#source-{number}">[{number}]</a>'


def link(uri: str) -> str:
    """An address as a link if it is one on the web; else as plain text."""
    shown = html.escape(uri)
    if not _WEB.match(uri):
        return f"<code>{shown}</code>"
    return f'<a href="{shown}" rel="noopener noreferrer nofollow">{shown}</a>'


@cache
def _parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False}).enable("table").disable("image")
    parser.core.ruler.push("citations", _link_citations)
    return parser


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        return bool(_WEB.match(url.strip())) or url.startswith("#")


def _link_citations(state: StateCore) -> None:
    cited = state.env["cited"]
    for block in state.tokens:
        if block.type == "inline" and block.children:
            block.children = list(_with_links(block.children, cited))


def _with_links(tokens: list[Token], cited: frozenset[int]) -> Iterator[Token]:
    inside_link = 0
    for token in tokens:
        inside_link += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type == "link_open":
            token.attrSet("rel", "noopener noreferrer nofollow")
        if token.type != "text" or inside_link:
            yield token
            continue
        end = 0
        for match in _CITATION.finditer(token.content):
            number = int(match.group(1))
            if number in cited:
                yield _token("text", token.content[end : match.start()])
                # Raw on purpose: it holds digits and nothing from the text.
                yield _token("html_inline", citation(number))
                end = match.end()
        yield _token("text", token.content[end:])


def _token(kind: str, content: str) -> Token:
    return Token(kind, "", 0, content=content)
