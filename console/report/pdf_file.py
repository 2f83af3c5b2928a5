"""The report as a PDF: outline, links, citations, tables, charts and page numbers.

Noto Sans and FiraGO are embedded; they have Latin, Greek, Cyrillic, Georgian, Devanagari, Thai and
signs. Chinese, Japanese and Korean are not embedded: readers of PDF have fonts for them.
Text runs from left to right. Where a report has characters that no font has, or Arabic or Hebrew,
the last lines of the file say so and name the formats that show them.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from itertools import groupby
from typing import Any

import pymupdf_fonts
from reportlab.graphics.shapes import Circle, Drawing, Line, PolyLine, Rect, String
from reportlab.lib.colors import HexColor
from reportlab.lib.fonts import addMapping
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, KeepTogether, Paragraph, SimpleDocTemplate, Spacer
from reportlab.platypus import Table as PdfTable

from console.formatting import count, printable
from console.report import charts
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

_FONT, _FALLBACK = "Noto Sans", "FiraGO"
_ASIAN = {"HANGUL": "HYSMyeongJo-Medium", "KANA": "HeiseiMin-W3", "HAN": "STSong-Light"}
_ACCENT, _INK, _SOFT, _LINE = (HexColor(c) for c in ("#0b5a73", "#1b2126", "#56616b", "#d5dbdf"))
_WARN, _WARN_GROUND = HexColor("#87460a"), HexColor("#faeedd")
_MARGIN = 18 * mm
_WIDTH = A4[0] - 2 * _MARGIN - 12
"""Of the text: the frame of a page has a padding of six points on each side."""
_MOST_COLUMNS = 10
"""A wider table is written row by row."""
_BAR_WIDTH, _BAR_HEIGHT = 0.4 * _WIDTH, 8.0
_MISSING = "\N{REPLACEMENT CHARACTER}"


def _style(name: str, size: float, **options: Any) -> ParagraphStyle:
    return ParagraphStyle(
        name,
        fontName=_FONT,
        fontSize=size,
        leading=options.pop("leading", 1.36 * size),
        textColor=options.pop("textColor", _INK),
        **options,
    )


_STYLES = {
    "title": _style("title", 17, spaceAfter=8),
    "heading1": _style("heading1", 13, spaceBefore=12, spaceAfter=4, keepWithNext=1),
    "heading2": _style("heading2", 10.5, spaceBefore=8, spaceAfter=3, keepWithNext=1),
    "paragraph": _style("paragraph", 9.5, spaceAfter=4),
    "item": _style("item", 9.5, spaceAfter=2),
    "quote": _style("quote", 8.5, leftIndent=16, spaceAfter=3, textColor=_SOFT),
    "code": _style("code", 8, leftIndent=8, spaceAfter=4),
    "small": _style("small", 8, textColor=_SOFT, spaceBefore=4),
    "cell": _style("cell", 8),
    "caption": _style("caption", 9, spaceBefore=6, spaceAfter=3, keepWithNext=1),
}


def render_pdf(result: ResearchResult) -> bytes:
    _register_fonts()
    title, blocks = build_document(result)
    return _PdfFile(title, blocks).render()


@cache
def _register_fonts() -> None:
    for name, key in (("", "notos"), ("-B", "notosbo"), ("-I", "notosit"), ("-BI", "notosbi")):
        pdfmetrics.registerFont(_load(f"{_FONT}{name}", key))
    pdfmetrics.registerFont(_load(_FALLBACK, "figo"))
    for asian in _ASIAN.values():
        pdfmetrics.registerFont(UnicodeCIDFont(asian))
    for bold in (0, 1):
        for italic in (0, 1):
            end = "-" * (bold | italic) + "B" * bold + "I" * italic
            addMapping(_FONT, bold, italic, f"{_FONT}{end}")
            for single in (_FALLBACK, *_ASIAN.values()):
                addMapping(single, bold, italic, single)


def _load(name: str, key: str) -> TTFont:
    return TTFont(name, io.BytesIO(pymupdf_fonts.fontbuffers[key]()))


@cache
def _characters(font: str) -> frozenset[int]:
    return frozenset(pdfmetrics.getFont(font).face.charToGlyph)


@cache
def _find_font(character: str) -> str:
    """The font that has the character; empty where none has it."""
    for font in (_FONT, _FALLBACK):
        if ord(character) in _characters(font):
            return font
    name = unicodedata.name(character, "")
    if name.startswith("HANGUL"):
        return _ASIAN["HANGUL"]
    if name.startswith(("HIRAGANA", "KATAKANA")):
        return _ASIAN["KANA"]
    is_wide = unicodedata.east_asian_width(character) in "WF"
    is_emoji = unicodedata.category(character) == "So"
    return _ASIAN["HAN"] if is_wide and not is_emoji and ord(character) < 0x10000 else ""


class _PdfFile:
    def __init__(self, title: str, blocks: Sequence[Block]) -> None:
        self._title = title
        self._blocks = blocks
        self._anchors = {b.anchor for b in blocks if isinstance(b, Text) and b.anchor}
        self._missing: set[str] = set()
        self._has_right_to_left = False
        self._has_asian = False

    def render(self) -> bytes:
        story: list[Flowable] = []
        for block in self._blocks:
            if isinstance(block, Text):
                story.append(self._text(block))
            elif isinstance(block, Table):
                story += self._table(block)
            else:
                story += self._figure(block)
        story += [self._text(Text("small", [Run(note)])) for note in self._notes()]
        buffer = io.BytesIO()
        template = _Template(
            buffer,
            pagesize=A4,
            leftMargin=_MARGIN,
            rightMargin=_MARGIN,
            topMargin=_MARGIN,
            bottomMargin=_MARGIN,
            title=printable(self._title),
            lang="en",
            # The same report gives the same file.
            invariant=1,
        )
        template.build(story, onFirstPage=_number_page, onLaterPages=_number_page)
        return buffer.getvalue()

    def _notes(self) -> list[str]:
        notes = []
        if self._has_asian:
            notes.append(
                "Chinese, Japanese and Korean are shown in a font of the program that opens this"
                " file; where it has none, HTML and Word have the text."
            )
        if self._missing:
            notes.append(
                f"The fonts of this file lack {count(len(self._missing), 'character')} of the"
                f" report, shown as {_MISSING}; HTML, Word and Markdown have them."
            )
        if self._has_right_to_left:
            notes.append(
                "This file sets text from left to right, Arabic and Hebrew too; HTML and Word set"
                " them as they are written."
            )
        return notes

    def _text(self, block: Text) -> Paragraph:
        name = f"heading{min(block.level, 2)}" if block.style == "heading" else block.style
        style = _STYLES[name]
        if block.style == "title" and sum(len(run.text) for run in block.runs) > LONG_TITLE:
            style = ParagraphStyle("long title", style, fontSize=13, leading=17)
        if block.style == "item":
            indent = 14.0 * (block.level + 1) + (6 if block.anchor else 0)
            style = ParagraphStyle(
                f"item{block.level}",
                style,
                leftIndent=indent,
                bulletIndent=indent - 12,
                bulletFontName=_FONT,
            )
        markup = self._markup(block.runs)
        if block.style in ("heading", "title"):
            markup = f"<b>{markup}</b>"
        if block.style == "code":
            markup = markup.replace("\n", "<br/>").replace("  ", "\u00a0 ")
        anchor = f'<a name="{block.anchor}"/>' if block.anchor else ""
        paragraph = self._paragraph(anchor + markup, style, block.marker or None)
        if block.style == "heading":
            paragraph.outline = ("".join(run.text for run in block.runs), block.level - 1)
        return paragraph

    def _paragraph(
        self, markup: str, style: ParagraphStyle, bullet: str | None = None
    ) -> Paragraph:
        if any(f'name="{font}"' in markup for font in _ASIAN.values()):
            # These languages have no spaces to break lines at.
            style = ParagraphStyle(f"{style.name}-asian", style, wordWrap="CJK")
        return Paragraph(markup, style, bulletText=bullet)

    def _markup(self, runs: Iterable[Run]) -> str:
        parts = []
        for run in runs:
            markup = self._set_fonts(run.text)
            markup = f"<b>{markup}</b>" if run.bold else markup
            markup = f"<i>{markup}</i>" if run.italic else markup
            if run.href and (not run.href.startswith("#") or run.href[1:] in self._anchors):
                markup = f'<a href="{escape(run.href)}" color="#0b5a73">{markup}</a>'
            parts.append(markup)
        return "".join(parts)

    def _set_fonts(self, text: str) -> str:
        """The text as markup, each character in a font that has it."""
        parts = []
        for font, run in groupby(printable(text), key=self._choose_font):
            words = "".join(run)
            if not font:
                parts.append(_MISSING * len(words))
            elif font == _FONT:
                parts.append(escape(words, quote=False))
            else:
                parts.append(f'<font name="{font}">{escape(words, quote=False)}</font>')
        return "".join(parts)

    def _choose_font(self, character: str) -> str:
        if unicodedata.bidirectional(character) in ("R", "AL"):
            self._has_right_to_left = True
        font = _find_font(character)
        self._has_asian |= font in _ASIAN.values()
        if not font and character != "\n":
            self._missing.add(character)
        return font if character != "\n" else _FONT

    def _table(self, block: Table) -> list[Flowable]:
        shares = block.shares
        if len(shares) > _MOST_COLUMNS:
            return [self._text(Text("item", runs)) for row in block.rows for runs in row]
        head = [self._cell(cell, bold=True) for cell in block.head]
        rows = [
            *([head] if block.has_head else []),
            *([self._cell(c) for c in r] for r in block.rows),
        ]
        rows = [[*row, *([""] * (len(shares) - len(row)))] for row in rows]
        made = PdfTable(
            rows,
            colWidths=[_WIDTH * share for share in shares],
            repeatRows=int(block.has_head),
            splitInRow=1,
            hAlign="LEFT",
            style=[
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ("LINEBELOW", (0, 0), (-1, -1), 0.5, _LINE),
                ("LEFTPADDING", (0, 0), (-1, -1), 0),
                ("TOPPADDING", (0, 0), (-1, -1), 2),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 3),
            ],
        )
        return [*self._caption(block.caption), made, Spacer(1, 6)]

    def _cell(self, runs: Iterable[Run], *, bold: bool = False) -> Paragraph:
        markup = self._markup(runs)
        return self._paragraph(f"<b>{markup}</b>" if bold else markup, _STYLES["cell"])

    def _caption(self, text: str) -> list[Flowable]:
        return [Paragraph(f"<b>{self._set_fonts(text)}</b>", _STYLES["caption"])] if text else []

    def _figure(self, block: Figure) -> list[Flowable]:
        parts = self._caption(block.caption)
        if block.drawing.chart.kind == "over_time":
            parts.append(_draw_course(block.drawing))
        rows = [
            [
                self._cell([Run(mark.point.label)]),
                _draw_bar(mark, block.drawing.band),
                self._cell([Run(f"{mark.point.text} "), *cite(mark.sources)]),
            ]
            for mark in block.drawing.marks
        ]
        widths = (0.32 * _WIDTH, _BAR_WIDTH + 8, 0.25 * _WIDTH)
        style = [("VALIGN", (0, 0), (-1, -1), "MIDDLE"), ("LEFTPADDING", (0, 0), (0, -1), 0)]
        bars = PdfTable(rows, colWidths=widths, hAlign="LEFT", style=style)
        return [KeepTogether([*parts, bars, Spacer(1, 6)])]


def _draw_bar(mark: charts.Mark, band: tuple[float, float] | None) -> Drawing:
    drawing = Drawing(_BAR_WIDTH, _BAR_HEIGHT)
    if band:
        start, end = (share * _BAR_WIDTH for share in band)
        drawing.add(
            Rect(start, 0, end - start, _BAR_HEIGHT, fillColor=_WARN_GROUND, strokeColor=_WARN)
        )
    start, end = mark.start * _BAR_WIDTH, mark.end * _BAR_WIDTH
    width = max(2.0, end - start)
    drawing.add(Rect(start, 0, width, _BAR_HEIGHT, fillColor=_ACCENT, strokeColor=None))
    return drawing


def _draw_course(drawn: charts.Drawing) -> Drawing:
    drawing = Drawing(charts.WIDTH, charts.HEIGHT, hAlign="LEFT")
    base = charts.HEIGHT - drawn.base
    drawing.add(Line(8, base, charts.WIDTH - 8, base, strokeColor=_LINE))
    points = [place for mark in drawn.marks for place in (mark.x, charts.HEIGHT - mark.y)]
    drawing.add(PolyLine(points, strokeColor=_ACCENT, strokeWidth=1.5))
    for mark in drawn.marks:
        y = charts.HEIGHT - mark.y
        drawing.add(Circle(mark.x, y, 3, fillColor=_ACCENT, strokeColor=None))
        labels = ((mark.point.text, y + 6), (mark.point.label, 6)) if mark.is_labelled else ()
        for text, height in labels:
            label = String(mark.x, height, text, fontName=_FONT, fontSize=8, textAnchor="middle")
            drawing.add(label)
    return drawing


class _Template(SimpleDocTemplate):  # type: ignore[misc]
    """Adds the headings to the outline."""

    _entries = 0
    _level = -1

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802
        if (outline := getattr(flowable, "outline", None)) is None:
            return
        text, level = outline
        self._level = min(level, self._level + 1)
        self._entries += 1
        key = f"outline-{self._entries}"
        self.canv.bookmarkPage(key)
        self.canv.addOutlineEntry(printable(text), key, self._level)


def _number_page(canvas: Canvas, _document: SimpleDocTemplate) -> None:
    canvas.saveState()
    canvas.setFont(_FONT, 8)
    canvas.setFillColor(_SOFT)
    canvas.drawRightString(A4[0] - _MARGIN, 10 * mm, str(canvas.getPageNumber()))
    canvas.restoreState()
