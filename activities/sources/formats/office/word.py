"""Word files: paragraphs, lists and tables in the order they are read.

The XML is walked directly, as python-docx leaves out content controls and tracked insertions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
from docx.oxml.ns import qn

from activities.sources.formats.descriptions import declared_title, saved_date
from activities.sources.formats.extracted_text import (
    BULLET,
    Block,
    Extract,
    fold,
    heading,
    write_blocks,
)
from activities.sources.formats.lines import ends_sentence
from activities.sources.formats.tables import table_lines

_HEADING_STYLE = re.compile(r"(?:heading|überschrift|titre|título|titolo) ?(\d)?|title", re.I)
_CONTENTS_STYLE = re.compile(r"toc ?\d|table of contents|contents", re.IGNORECASE)
_LIST_STYLE = re.compile(r"list (?:bullet|number|paragraph)|aufzählung|listenabsatz", re.I)
_UNREAD = {qn(f"w:{name}") for name in ("pPr", "rPr", "del", "drawing", "pict", "instrText")}
_NESTING = {qn(f"w:{name}") for name in ("sdt", "sdtContent", "customXml", "ins")}


def extract_word(path: Path) -> Extract:
    document = docx.Document(str(path))
    styles = {
        str(style.styleId): str(style.name_val or style.styleId)
        for style in document.styles.element.style_lst
    }
    properties = document.core_properties
    return Extract(
        write_blocks(_blocks(document.element.body, styles)),
        title=declared_title(properties.title or ""),
        saved=saved_date(properties.created, properties.modified),
        usual="report",
    )


def _blocks(parent: Any, styles: dict[str, str]) -> Iterator[Block]:
    """Paragraphs and tables in order, also inside content controls and tracked insertions."""
    for element in parent:
        if element.tag == qn("w:p"):
            yield from _paragraph(element, styles)
        elif element.tag == qn("w:tbl"):
            yield from _table(element, styles)
        elif element.tag in _NESTING:
            yield from _blocks(element, styles)


def _paragraph(paragraph: Any, styles: dict[str, str]) -> Iterator[Block]:
    style = _style_name(paragraph, styles)
    if _CONTENTS_STYLE.match(style):
        return
    lines = [fold(line) for line in _text(paragraph).split("\n")]
    text = " ".join(filter(None, lines))
    if not text:
        return
    if styled := _HEADING_STYLE.match(style):
        yield heading(int(styled[1] or 1), text)
    elif paragraph.find(f"{qn('w:pPr')}/{qn('w:numPr')}") is not None or _LIST_STYLE.match(style):
        yield Block("item", text, BULLET)
    elif _is_bold(paragraph) and len(text) < 100 and not ends_sentence(text):
        yield heading(2, text)
    else:
        yield from (Block("text", line) for line in lines if line)


def _style_name(paragraph: Any, styles: dict[str, str]) -> str:
    style = paragraph.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
    identifier = "" if style is None else str(style.get(qn("w:val")))
    return styles.get(identifier, identifier)


def _text(paragraph: Any) -> str:
    """All text of a paragraph, links and insertions too, without deletions and drawn boxes."""
    pieces: list[str] = []
    stack = list(reversed(paragraph))
    while stack:
        element = stack.pop()
        if element.tag == qn("w:t"):
            pieces.append(element.text or "")
        elif element.tag in (qn("w:tab"), qn("w:noBreakHyphen")):
            pieces.append("-" if element.tag == qn("w:noBreakHyphen") else " ")
        elif element.tag in (qn("w:br"), qn("w:cr")):
            pieces.append("\n")
        elif element.tag not in _UNREAD:
            stack.extend(reversed(element))
    return "".join(pieces)


def _is_bold(paragraph: Any) -> bool:
    runs = [run for run in paragraph.iter(qn("w:r")) if run.find(qn("w:t")) is not None]
    marks = [run.find(f"{qn('w:rPr')}/{qn('w:b')}") for run in runs]
    return bool(marks) and all(
        mark is not None and mark.get(qn("w:val")) not in ("0", "false") for mark in marks
    )


def _table(table: Any, styles: dict[str, str]) -> Iterator[Block]:
    rows: list[list[str]] = []
    for row in table.iter(qn("w:tr")):
        if row.getparent() is not table:
            continue
        cells: list[str] = []
        for cell in row.iterchildren(qn("w:tc")):
            cells.append(fold("\n".join(_text(p) for p in cell.iter(qn("w:p")))))
            span = cell.find(f"{qn('w:tcPr')}/{qn('w:gridSpan')}")
            cells.extend([""] * (int(span.get(qn("w:val"))) - 1 if span is not None else 0))
        rows.append(cells)
    if max((sum(map(bool, row)) for row in rows), default=0) > 1:
        yield from (Block("row", line) for line in table_lines(rows) if line)
        return
    for cell in table.iter(qn("w:tc")):  # a frame drawn round text
        yield from _blocks(cell, styles)
