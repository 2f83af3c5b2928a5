"""The report as a Word file: real headings, links, tables, and a page number in the footer."""

from __future__ import annotations

import io
from collections.abc import Iterable

import docx
from docx.document import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Cm, Pt, RGBColor
from docx.table import _Cell
from docx.text.paragraph import Paragraph
from docx.text.run import Run as WordRun

from console.report.document import (
    LONG_TITLE,
    Block,
    Figure,
    Run,
    Table,
    Text,
    build_document,
    cite,
)
from workflows.contracts.result import ResearchResult

_STYLES = {"title": "Title", "quote": "Quote"}
"""Paragraphs of other kinds have the style that a document begins with."""
_ACCENT = RGBColor(0x0B, 0x5A, 0x73)
_WIDTH = Cm(16.6)
_BAR = "█"
_BAR_LENGTH = 24


def render_docx(result: ResearchResult) -> bytes:
    title, blocks = build_document(result)
    return _WordFile(title, result).render(blocks)


class _WordFile:
    def __init__(self, title: str, result: ResearchResult) -> None:
        self._document: Document = docx.Document()
        self._style_ids = {style.name: style.style_id for style in self._document.styles}
        self._anchors = 0
        properties = self._document.core_properties
        properties.title, properties.author = _clean(title)[:255], ""
        properties.comments = f"Job {result.id}"
        section = self._document.sections[0]
        section.page_width, section.page_height = Cm(21), Cm(29.7)
        section.left_margin = section.right_margin = Cm(2.2)
        section.top_margin = section.bottom_margin = Cm(2)
        style = self._document.styles["Normal"]
        style.font.name, style.font.size = "Calibri", Pt(10.5)
        self._document.styles["Title"].font.size = Pt(20 if len(title) < LONG_TITLE else 14)
        page_number = OxmlElement("w:fldSimple")
        page_number.set(qn("w:instr"), "PAGE")
        section.footer.paragraphs[0]._p.append(page_number)

    def render(self, blocks: Iterable[Block]) -> bytes:
        for block in blocks:
            if isinstance(block, Text):
                self._add_text(block)
            elif isinstance(block, Table):
                self._add_table(block)
            else:
                self._add_figure(block)
        buffer = io.BytesIO()
        self._document.save(buffer)
        return buffer.getvalue()

    def _add_text(self, block: Text) -> None:
        paragraph = self._document.add_paragraph()
        heading = f"Heading {min(block.level, 9)}" if block.style == "heading" else ""
        if style := heading or _STYLES.get(block.style, ""):
            # By its id: the library looks a name up among all styles, for every paragraph.
            paragraph._p.style = self._style_ids[style]
        if block.style == "item":
            indent = Cm(0.7 * (block.level + 1))
            paragraph.paragraph_format.left_indent = indent
            paragraph.paragraph_format.space_after = Pt(3)
            paragraph.paragraph_format.first_line_indent = Cm(-0.7) if block.marker else None
            paragraph.paragraph_format.tab_stops.add_tab_stop(indent)
            if block.marker:
                paragraph.add_run(f"{block.marker}\t")
        if block.anchor:
            self._add_bookmark(paragraph, block.anchor)
        self._add_runs(paragraph, block.runs, Pt(8.5) if block.style == "small" else None)

    def _add_runs(self, paragraph: Paragraph, runs: Iterable[Run], size: Pt | None = None) -> None:
        for run in runs:
            added = paragraph.add_run(_clean(run.text))
            added.bold, added.italic = run.bold or None, run.italic or None
            added.font.size = size
            if run.code:
                added.font.name = "Consolas"
            if run.href:
                added.font.color.rgb = _ACCENT
                _link(paragraph, added, run.href)

    def _add_table(self, block: Table) -> None:
        if block.caption:
            self._add_caption(block.caption)
        shares = block.shares
        table = self._document.add_table(0, len(shares), style="Table Grid")
        table.autofit = False
        for column, share in zip(table.columns, shares, strict=True):
            column.width = int(_WIDTH * share)
        for row in (*((block.head,) if block.has_head else ()), *block.rows):
            for cell, share, runs in zip(table.add_row().cells, shares, row, strict=False):
                cell.width = int(_WIDTH * share)
                self._fill(cell, runs, is_head=row is block.head)
        if block.has_head:
            # Word repeats the row at the top of each page.
            properties = table.rows[0]._tr.get_or_add_trPr()
            properties.append(OxmlElement("w:tblHeader"))
        self._document.add_paragraph()

    def _fill(self, cell: _Cell, runs: Iterable[Run], *, is_head: bool = False) -> None:
        paragraph = cell.paragraphs[0]
        self._add_runs(paragraph, runs, Pt(9))
        if is_head:
            for run in paragraph.runs:
                run.bold = True

    def _add_figure(self, block: Figure) -> None:
        """A bar of characters beside each value; it prints, and can be read aloud."""
        if block.caption:
            self._add_caption(block.caption)
        table = self._document.add_table(0, 3)
        for mark in block.drawing.marks:
            label, bar, value = table.add_row().cells
            self._fill(label, [Run(mark.point.label)])
            start, end = round(mark.start * _BAR_LENGTH), round(mark.end * _BAR_LENGTH)
            run = bar.paragraphs[0].add_run(" " * start + _BAR * max(1, end - start))
            run.font.color.rgb, run.font.size = _ACCENT, Pt(7)
            self._fill(value, [Run(f"{mark.point.text} "), *cite(mark.sources)])
        self._document.add_paragraph()

    def _add_caption(self, text: str) -> None:
        paragraph = self._document.add_paragraph()
        paragraph.paragraph_format.keep_with_next = True
        paragraph.add_run(_clean(text)).bold = True

    def _add_bookmark(self, paragraph: Paragraph, name: str) -> None:
        self._anchors += 1
        start, end = OxmlElement("w:bookmarkStart"), OxmlElement("w:bookmarkEnd")
        for element in (start, end):
            element.set(qn("w:id"), str(self._anchors))
        start.set(qn("w:name"), name)
        paragraph._p.append(start)
        paragraph._p.append(end)


def _link(paragraph: Paragraph, run: WordRun, href: str) -> None:
    """Put the run into a link to an address of the web or to a bookmark."""
    link = OxmlElement("w:hyperlink")
    if href.startswith("#"):
        link.set(qn("w:anchor"), href[1:])
    else:
        relation = paragraph.part.relate_to(
            _clean(href), RELATIONSHIP_TYPE.HYPERLINK, is_external=True
        )
        link.set(qn("r:id"), relation)
    paragraph._p.append(link)
    link.append(run._r)


def _clean(text: str) -> str:
    """XML has no control characters."""
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)
