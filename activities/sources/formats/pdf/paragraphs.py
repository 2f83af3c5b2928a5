"""PDF files and images of pages: paragraphs put together again from lines on pages.

Size, weight and place of each line tell headings, paragraphs, list items and table rows apart.
Page numbers, lines that repeat at the edge of pages and tables of contents are dropped.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import pypdfium2 as pdfium
from PIL import Image, ImageOps, ImageSequence

from activities.sources.formats.descriptions import declared_title, find_date
from activities.sources.formats.extracted_text import (
    MOST_CHARACTERS,
    Extract,
    UnreadableError,
    within_limit,
)
from activities.sources.formats.lines import ITEM, ends_sentence
from activities.sources.formats.pdf.page_lines import (
    HYPHEN,
    Hyphenation,
    Line,
    page_lines,
    recognised_lines,
)
from activities.sources.formats.pdf.page_tables import Table, with_tables
from activities.sources.formats.recognition import ADVICE, Recognise
from activities.sources.formats.tables import table_lines

_PAGE_NUMBER = re.compile(
    r"\W*(?:page|p\.|seite)? *(?:\d{1,4}|[ivxlc]{1,6})(?: *(?:of|/|von) *\d+)?\W*$", re.IGNORECASE
)
_PAGE = re.compile(r"page \d+(?: of \d+)?$", re.IGNORECASE)
_LEADERS = re.compile(r"(?:\. ?){4,}\s*(?:\d+|[ivxlc]+)$")
_MARGIN = 0.1
_EDGE_LINES = 2
_MOST_HEADING_WORDS = 25
# Pictures of pages, which take seconds each; letters of usual size are 30 pixels high.
_MOST_PICTURES = 100
_MOST_PIXELS = 2400
_PIXELS_PER_POINT = 200 / 72
_PAGE_POINTS = 842.0
# pdfium keeps global state and is not safe for two threads at once.
_PDFIUM = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Paragraph:
    first: Line
    text: str
    level: int = 0  # of the heading; 0 is text


def extract_pdf(path: Path, recognise: Recognise | None = None) -> Extract:
    """The text of a PDF. `recognise` reads the pages that have none."""
    with _PDFIUM, closing(pdfium.PdfDocument(path)) as document:
        pages, pictures = _pages(document, recognise)
        fields = document.get_metadata_dict(skip_empty=True)
    if recognise is None and not any(pages):
        raise UnreadableError(f"holds no text; {ADVICE}")
    return _compose(
        pages,
        pictures,
        title=declared_title(str(fields.get("Title") or "")),
        saved=find_date(str(fields.get("CreationDate") or "").removeprefix("D:")[:8]),
    )


def extract_image(path: Path, recognise: Recognise) -> Extract:
    """The text that is recognised in an image; some formats hold several."""
    with Image.open(path) as image:
        pages: list[list[Line]] = []
        for number, frame in enumerate(ImageSequence.Iterator(image)):
            if number == _MOST_PICTURES:
                break
            opaque = ImageOps.exif_transpose(frame).convert("RGBA")
            picture = Image.alpha_composite(Image.new("RGBA", opaque.size, "white"), opaque)
            picture = picture.convert("L")
            picture.thumbnail((_MOST_PIXELS, _MOST_PIXELS))
            scale = _PAGE_POINTS / max(picture.size)
            height = picture.height * scale
            pages.append(recognised_lines(recognise(picture), number, height, scale))
        return _compose(pages, getattr(image, "n_frames", 1))


def _pages(
    document: pdfium.PdfDocument, recognise: Recognise | None
) -> tuple[list[list[Line]], int]:
    """The lines of each page, and how many pages are pictures without text."""
    pages: list[list[Line]] = []
    length = pictures = 0
    for number in range(len(document)):
        with closing(document[number]) as page:
            lines = page_lines(page, number)
            if recognise is not None and not lines and next(page.get_objects(max_depth=1), None):
                pictures += 1
                if pictures <= _MOST_PICTURES:
                    lines = _recognise_page(page, number, recognise)
        pages.append(lines)
        length += sum(len(line.text) for line in lines)
        if length > MOST_CHARACTERS:
            break
    return pages, pictures


def _recognise_page(page: pdfium.PdfPage, number: int, recognise: Recognise) -> list[Line]:
    scale = min(_PIXELS_PER_POINT, _MOST_PIXELS / max(page.get_size()))
    picture = page.render(scale=scale, grayscale=True).to_pil()
    return recognised_lines(recognise(picture), number, float(page.get_height()), 1 / scale)


def _compose(
    pages: list[list[Line]], pictures: int, title: str | None = None, saved: str | None = None
) -> Extract:
    """The document of these pages, of which so many are pictures."""
    _drop_furniture(pages)
    lines = [line for page in pages for line in page]
    if not lines:
        raise UnreadableError("holds no text, and none is recognised in its pictures")
    paragraphs = _paragraphs(lines)
    written = [f"{'#' * p.level} {p.text}" if p.level else p.text for p in paragraphs]
    if pictures > _MOST_PICTURES:
        written.append(f"[Text was recognised in the first {_MOST_PICTURES} of {pictures} images.]")
    return Extract(
        "\n\n".join(within_limit(written)),
        title=_title(paragraphs, title),
        saved=saved,
        usual="report",
        recognised=any(line.recognised for line in lines),
    )


def _drop_furniture(pages: list[list[Line]]) -> None:
    """Remove page numbers, contents, and what stands at the edge of many pages."""
    edges = [_edge(lines) for lines in pages]
    seen = Counter(key for edge in edges for key in {_edge_key(line) for line in edge})
    often = max(2.0, 0.4 * len(pages))
    for number, edge in enumerate(edges):
        dropped = {
            line
            for line in edge
            if seen[_edge_key(line)] >= often or any(_PAGE.match(c.text) for c in line.cells())
        } | {line for line in _extremes(pages[number]) if _PAGE_NUMBER.match(line.text)}
        pages[number] = [
            line
            for line in pages[number]
            if line not in dropped and not _LEADERS.search(line.text[-40:])
        ]


def _edge(lines: list[Line]) -> list[Line]:
    """The outermost lines of a page, if they stand in its margins."""
    ordered = sorted(lines, key=lambda line: -line.base)
    top = [x for x in ordered[:_EDGE_LINES] if x.base > (1 - _MARGIN) * x.page_height]
    return top + [x for x in ordered[-_EDGE_LINES:] if x.base < _MARGIN * x.page_height]


def _extremes(lines: list[Line]) -> list[Line]:
    """The topmost and the lowest line of a page, where its number stands."""
    outer = [x for x in lines if not 0.2 < x.base / x.page_height < 0.8 and len(x.text) < 16]
    heights = sorted(line.base for line in lines)
    return [line for line in outer if line.base in (heights[0], heights[-1])]


def _edge_key(line: Line) -> str:
    return re.sub(r"\d+", "#", line.text)[:120]


def _paragraphs(lines: list[Line]) -> list[_Paragraph]:
    hyphenation = Hyphenation([line.text for line in lines])
    sizes: Counter[tuple[float, bool]] = Counter()
    for line in lines:
        sizes[line.size, line.bold] += len(line.text)
    body_size, body_bold = sizes.most_common(1)[0][0]
    largest = max(line.size for line in lines)
    paragraphs: list[_Paragraph] = []
    for group in _groups(list(with_tables(lines, hyphenation))):
        if isinstance(group, Table):
            written = "\n".join(table_lines(group.rows, headed=group.headed))
            paragraphs.append(_Paragraph(group.first, written))
            continue
        text = hyphenation.resolve(_joined(group))
        first = group[0]
        larger = first.size > 1.12 * body_size
        bolder = first.bold and not body_bold and first.size > 0.95 * body_size
        level = 0
        if (larger or bolder) and _can_head(text):
            level = 1 if larger and first.size > 0.97 * largest else 2
        paragraphs.append(_Paragraph(first, text, level))
    return paragraphs


def _can_head(text: str) -> bool:
    return (
        len(text.split()) <= _MOST_HEADING_WORDS
        and not ends_sentence(text)
        and not text.endswith((",", ";", ":"))
        and re.search(r"[^\W\d_]{2}", text) is not None
    )


def _groups(items: list[Line | Table]) -> Iterator[list[Line] | Table]:
    """Lines that make one paragraph each, and tables."""
    lines = [item for item in items if isinstance(item, Line)]
    pitches = [
        (above.last_base - below.base) / above.size
        for above, below in pairwise(lines)
        if above.page == below.page and abs(above.size - below.size) < 0.05 * above.size
    ]
    usual = median([pitch for pitch in pitches if 0.5 < pitch < 3] or [1.2])
    edges: dict[tuple[int, int], float] = {}
    for line in lines:
        column = (line.page, round(line.left / 40))
        edges[column] = max(edges.get(column, 0.0), line.right)
    group: list[Line] = []
    for item in items:
        if group and (isinstance(item, Table) or not _continues(group, item, usual, edges)):
            yield group
            group = []
        if isinstance(item, Table):
            yield item
        else:
            group.append(item)
    if group:
        yield group


def _continues(
    group: list[Line], line: Line, usual: float, edges: dict[tuple[int, int], float]
) -> bool:
    """Whether `line` goes on with the paragraph that `group` has begun."""
    last = group[-1]
    if not any(map(str.isalnum, last.text)) and len(group) == 1:
        return abs(last.base - line.base) < 0.5 * line.size  # a bullet set apart from its item
    if len(last.cells()) > 1 or len(line.cells()) > 1 or ITEM.match(line.text):
        return False
    if abs(last.size - line.size) > 0.08 * last.size or last.bold != line.bold:
        return False
    goes_on = line.text[0].islower() and not ends_sentence(last.text)
    column = max(edges.get((last.page, round(last.left / 40) + i), 0.0) for i in (-1, 0, 1))
    letter = (line.right - line.left) / max(1, len(line.text))
    first_word = abs(letter) * len(line.text.split(" ", 1)[0])
    # The next word would have fitted: the paragraph ended here, unless only a little was left.
    nearly = last.right - last.left > 0.8 * (column - last.left) and not ends_sentence(last.text)
    if last.right + first_word + 0.5 * last.size < column and not nearly:
        return goes_on
    drop = last.last_base - line.base
    if last.page != line.page or drop < -0.5 * last.size:
        return goes_on or not (ends_sentence(last.text) or line.bold)
    if drop > 1.3 * usual * last.size:
        return False
    indented = line.left > last.left + 0.8 * last.size and len(group) > 1
    return not (indented and ends_sentence(last.text))


def _joined(group: list[Line]) -> str:
    if len(cells := group[0].cells()) > 1:  # a row on its own
        return " | ".join(cell.text for cell in cells)
    text = group[0].text
    for line in group[1:]:
        if text.endswith("-") and text[-2:-1].isalpha() and line.text[0].islower():
            text = text[:-1] + HYPHEN + line.text
        else:
            text += ("" if text.endswith(HYPHEN) else " ") + line.text
    return text


def _title(paragraphs: list[_Paragraph], declared: str | None) -> str | None:
    top = next((p.text for p in paragraphs if p.level == 1 and p.first.page == 0), None)
    if top is not None and len(top.split()) > 1:
        return top
    return declared or top or next((p.text for p in paragraphs if p.level), None)
