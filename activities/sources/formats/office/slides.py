"""PowerPoint files: slide titles, bodies, tables, the numbers of charts, and notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pptx
from pptx.enum.shapes import PP_PLACEHOLDER

from activities.sources.formats.descriptions import declared_title, saved_date
from activities.sources.formats.extracted_text import (
    BULLET,
    Block,
    Extract,
    fold,
    heading,
    write_blocks,
)
from activities.sources.formats.tables import row_line, table_lines

_FURNITURE = {PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.DATE}
_TITLES = {PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE, PP_PLACEHOLDER.VERTICAL_TITLE}


def extract_slides(path: Path) -> Extract:
    presentation = pptx.Presentation(str(path))
    blocks = (block for slide in presentation.slides for block in _slide_blocks(slide))
    properties = presentation.core_properties
    return Extract(
        write_blocks(blocks),
        title=declared_title(properties.title or ""),
        saved=saved_date(properties.created, properties.modified),
        usual="slides",
    )


def _slide_blocks(slide: Any) -> Iterator[Block]:
    shapes = list(_shapes(slide.shapes))
    titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
    for shape in titles:
        if text := fold(shape.text_frame.text):
            yield heading(2, text)
    for shape in shapes:
        if shape in titles or _placeholder(shape) in _FURNITURE:
            continue
        if getattr(shape, "has_table", False):
            rows = [[fold(cell.text) for cell in row.cells] for row in shape.table.rows]
            yield from (Block("row", line) for line in table_lines(rows) if line)
        elif getattr(shape, "has_chart", False):
            yield from _chart(shape.chart)
        elif shape.has_text_frame:
            yield from _frame(shape.text_frame)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
        yield from (Block("text", text) for p in notes.paragraphs if (text := fold(p.text)))


def _shapes(shapes: Any) -> Iterator[Any]:
    """All shapes of a slide, groups opened, from the top left down."""
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _placeholder(shape: Any) -> Any:
    return shape.placeholder_format.type if shape.is_placeholder else None


def _frame(frame: Any) -> Iterator[Block]:
    paragraphs = [text for p in frame.paragraphs if (text := fold(p.text))]
    if len(paragraphs) == 1:
        yield Block("text", paragraphs[0])
    else:
        yield from (Block("item", text, BULLET) for text in paragraphs)


def _chart(chart: Any) -> Iterator[Block]:
    """The numbers behind a chart, one line per category."""
    if chart.has_title and (title := fold(chart.chart_title.text_frame.text)):
        yield Block("text", title)
    for plot in chart.plots:
        series = list(plot.series)
        header = ["", *(fold(each.name or "") for each in series)]
        rows = [
            [fold(str(category)), *(_value(each.values, n) for each in series)]
            for n, category in enumerate(plot.categories)
        ]
        yield from (Block("row", row_line(header, row)) for row in rows)


def _value(values: Any, position: int) -> str:
    value = values[position] if position < len(values) else None
    return "" if value is None else f"{value:.15g}"
