"""The blocks of an HTML tree: headings, paragraphs, list items, definitions, tables, code.

Markdown and reStructuredText are rendered to HTML by their libraries and read here as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from activities.sources.formats.extracted_text import BULLET, Block, fold, heading, normalise
from activities.sources.formats.lines import HEADING, starts_unit, unwrap
from activities.sources.formats.tables import table_lines

_HEADING = re.compile(r"h([1-6])")
_LANGUAGE = re.compile(r"(?:language|lang|highlight|brush)[-:]\s?([\w+#-]+)")
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "header", "hr", "li", "main", "ol", "p", "section",
    "summary", "table", "td", "th", "tr", "ul", "h1", "h2", "h3", "h4", "h5", "h6",
}  # fmt: skip
# A line of a site generator's template, and the mark of a GitHub alert.
_TEMPLATE_TAG = re.compile(r"\{[{%].*[%}]\}|\[!\w+\]")
# Of so many lines, most of a page in one <pre> is a text file on a page, not code.
_TEXT_FILE_LINES = 60


@dataclass(slots=True)
class _Item:
    """A list item that is being read; `place` is where its block stands, once it has one."""

    mark: str
    place: int | None = None


@dataclass(frozen=True, slots=True)
class _End:
    """The end of an element, on the stack of nodes still to be read."""

    node: LexborNode


def html_blocks(root: LexborNode, *, keep_lines: bool = False) -> list[Block]:
    """The blocks of a tree; with `keep_lines`, a line such as `Author: Ann` is a block."""
    return _Reader(len(root.text()), keep_lines).read(root)


def plain_text(node: LexborNode) -> str:
    """The text of an element on one line; only blocks and breaks part words."""
    return fold(_text(node))


class _Reader:
    """Reads a tree in order, with a stack of its own, as pages may nest without end."""

    def __init__(self, page_length: int, keep_lines: bool) -> None:
        self._page_length = page_length
        self._keep_lines = keep_lines
        self._blocks: list[Block] = []
        self._pending: list[str] = []
        self._level = 0
        self._items: list[_Item] = []
        self._counters: list[int] = []  # of the open lists; 0 where items have no number
        self._terms: list[str] = []

    def read(self, root: LexborNode) -> list[Block]:
        stack: list[LexborNode | _End] = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, _End):
                self._close(node.node)
            elif node.tag == "-text":
                self._pending.append(node.text_content or "")
            elif node.tag == "br":
                self._break_line()
            elif node.tag == "pre":
                self._flush()
                self._code(node)
            elif node.tag == "table" and not _is_layout(node):
                self._flush()
                self._table(node)
            elif node.tag in _BLOCKS:
                self._flush()
                self._open(node)
                stack.append(_End(node))
                stack.extend(reversed(list(node.iter(include_text=True))))
            elif not (node.tag or "-").startswith("-"):
                if node.tag == "sup" and node.text().strip().isdigit():
                    self._pending.append("^")
                stack.extend(reversed(list(node.iter(include_text=True))))
        self._flush()
        self._flush_terms()
        return self._blocks

    def _open(self, node: LexborNode) -> None:
        if found := _HEADING.fullmatch(node.tag or ""):
            self._flush_terms()
            self._level = int(found[1])
        elif node.tag in ("ul", "ol"):
            start = node.attributes.get("start") or "1"
            number = int(start) if start.isdigit() else 1
            self._counters.append(number if node.tag == "ol" else 0)
        elif node.tag == "li":
            self._items.append(_Item(self._next_mark()))

    def _close(self, node: LexborNode) -> None:
        if node.tag == "dt" or "admonition-title" in _classes(node):
            term = fold("".join(self._pending))
            self._pending.clear()
            if node.tag == "dt" or term.lower() not in _classes(node.parent):
                self._terms.append(term)
            return
        self._flush()
        if _HEADING.fullmatch(node.tag or ""):
            self._level = 0
        elif node.tag in ("ul", "ol"):
            self._counters.pop()
        elif node.tag == "li":
            self._items.pop()
        elif node.tag == "dd" or "admonition" in _classes(node):
            self._flush_terms()

    def _next_mark(self) -> str:
        indent = "  " * len(self._items)
        if not self._counters or not self._counters[-1]:
            return indent + BULLET
        self._counters[-1] += 1
        return f"{indent}{self._counters[-1] - 1}. "

    def _break_line(self) -> None:
        if self._level or self._terms:
            self._pending.append(" ")
        else:
            self._flush()

    def _flush(self) -> None:
        """The text read since the last block ended, as a block."""
        text = "".join(self._pending)
        self._pending.clear()
        for line in _labelled_lines(normalise(text)) if self._keep_lines else [text]:
            if any(map(str.isalnum, line)):
                self._paragraph(fold(line))

    def _paragraph(self, text: str) -> None:
        if self._level:
            self._blocks.append(heading(self._level, text))
            return
        if self._terms:
            text = f"{', '.join(filter(None, self._terms)).rstrip(':')}: {text}"
            self._terms.clear()
        item = self._items[-1] if self._items else None
        if item is None:
            self._blocks.append(Block("text", text))
        elif item.place is None:
            item.place = len(self._blocks)
            self._blocks.append(Block("item", text, item.mark))
        elif item.place == len(self._blocks) - 1:
            block = self._blocks[-1]
            line = " " * len(item.mark) + text
            self._blocks[-1] = block._replace(text=f"{block.text}\n{line}")
        else:  # after a nested list or code
            self._blocks.append(Block("text", text))

    def _flush_terms(self) -> None:
        """Terms that no definition followed."""
        terms = [term for term in self._terms if any(map(str.isalnum, term))]
        self._terms.clear()
        if terms:
            self._paragraph(", ".join(terms))

    def _code(self, node: LexborNode) -> None:
        text = normalise("".join(_pieces(node)).expandtabs(4).strip("\n"))
        if not any(map(str.isalnum, text)):
            return
        if text.count("\n") > _TEXT_FILE_LINES and len(text) > 0.8 * self._page_length:
            self._blocks.extend(Block("text", part) for part in unwrap(text).split("\n\n"))
            return
        self._flush_terms()
        self._blocks.append(Block("code", text, _language(node)))

    def _table(self, table: LexborNode) -> None:
        self._flush_terms()
        caption = table.css_first("caption")
        if caption is not None and (text := plain_text(caption)):
            self._blocks.append(Block("text", text))
        rows = table.css("tr")
        headed = bool(rows) and len(rows[0].css("th")) > 1
        lines = table_lines((_row(row) for row in rows), headed=headed)
        self._blocks.extend(Block("row", line) for line in lines if line)


def _labelled_lines(text: str) -> Iterator[str]:
    """Lines as Markdown joins them, but for those with a label, and without template tags."""
    joined = ""
    for line in text.split("\n"):
        if _TEMPLATE_TAG.fullmatch(line.strip()):
            continue
        # Markdown has read its headings: what looks like one here is code that a line broke before.
        if joined and starts_unit(line.strip()) and not HEADING.match(line.strip()):
            yield joined
            joined = ""
        joined += f" {line}"
    yield joined


def _classes(node: LexborNode | None) -> list[str]:
    return (node.attributes.get("class") or "").lower().split() if node is not None else []


def _language(node: LexborNode) -> str:
    """The language that a code block's classes name, on it or next to it."""
    nodes = [node, node.css_first("code"), node.parent, node.parent.parent if node.parent else None]
    for each in nodes:
        if found := _LANGUAGE.search(" ".join(_classes(each))):
            return "" if found[1] in ("default", "none") else found[1]
    return ""


def _is_layout(table: LexborNode) -> bool:
    """Tables that only place things: nested, of one column, of long text, or round code."""
    if table.css_first("table table, h1, h2, p ~ p, pre") is not None:
        return True
    rows = table.css("tr")
    widest = max((len(row.css("td, th")) for row in rows), default=0)
    cells = max(1, len(table.css("td, th")))
    return widest < 2 or len(table.text()) / cells > 300


def _row(row: LexborNode) -> list[str]:
    cells: list[str] = []
    for cell in row.css("td, th"):
        cells.append(plain_text(cell))
        span = cell.attributes.get("colspan") or "1"
        cells.extend([""] * (min(int(span), 100) - 1 if span.isdigit() else 0))
    return cells


def _text(node: LexborNode) -> str:
    return "".join(_pieces(node, " "))


def _pieces(node: LexborNode, block: str = "") -> Iterator[str]:
    for child in node.traverse(include_text=True):
        if child.tag == "-text":
            yield child.text_content or ""
        elif child.tag == "br":
            yield block or "\n"
        elif child.tag in _BLOCKS:
            yield block
