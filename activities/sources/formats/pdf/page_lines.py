"""The lines of a page with what tells them apart (place, height, weight, cells), and their words.

Lines are those of a PDF's text, or those recognised in the picture of a page. Of words broken at
line ends, `impor-/tant` is joined and `zero-/emission` keeps its hyphen: the rest of the document
shows how the word is written; where it does not, the dictionary knows the whole word or both of its
parts.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median, median_low

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from activities.evidence.text.terms import detect_language, is_word
from activities.sources.formats.extracted_text import normalise
from activities.sources.formats.recognition import TextBox

HYPHEN = "\ufffe"  # what pdfium writes for a hyphen at the end of a line

_LINE = re.compile(r"\S(?:[^\r\n]*\S)?")
_SAMPLES = 6
_BOLD = 600
_LONGEST_NAME = 128  # bytes of a font's name
# In ems. Justified text stretches a space to little more than half an em, and hardly ever to two.
_PIECE_GAP, _CELL_GAP = 0.7, 2.0
_NUMBERING = re.compile(
    r"(?:[•·▪◦‣●○■□➢✓*–-]|\(?[\dA-Za-z]{1,2}[.)]|\d{1,2}(?:\.\d{1,2}){0,4}\.?)$"
)
# Recognised lines of one size differ in height, by their letters.
_SAME_SIZE = 0.25
# Two texts this long beside one another, in this many rows, are columns of prose.
_PROSE, _LEAST_ROWS = 20, 3


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a line with space on either side."""

    text: str
    left: float
    right: float
    base: float


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text; `base` and `last_base` differ where a broken word runs into the next."""

    text: str
    pieces: tuple[Piece, ...]
    page: int
    page_height: float
    left: float
    right: float
    base: float
    last_base: float
    size: float
    bold: bool
    recognised: bool = False

    def cells(self) -> list[Piece]:
        """The pieces, joined where the space between them is no wider than text may have."""

        def goes_on(before: Sequence[Piece], piece: Piece) -> bool:
            numbering = len(before) == 1 and _NUMBERING.match(before[0].text)
            return bool(numbering) or piece.left - before[-1].right <= _CELL_GAP * self.size

        return self.join_pieces(goes_on)

    def join_pieces(self, goes_on: Callable[[Sequence[Piece], Piece], bool]) -> list[Piece]:
        """The pieces, joined where one goes on with the last of those before it."""
        joined: list[Piece] = []
        for piece in self.pieces:
            if joined and goes_on(joined, piece):
                last = joined.pop()
                piece = replace(last, text=f"{last.text} {piece.text}", right=piece.right)
            joined.append(piece)
        return joined


def page_lines(page: pdfium.PdfPage, number: int) -> list[Line]:
    """The lines of a page in reading order."""
    height = float(page.get_height())
    with closing(page.get_textpage()) as textpage:
        count = textpage.count_chars()
        text = textpage.get_text_range() if count > 0 else ""
        if len(text) != count:
            # Characters beyond the basic plane shift the index; read one by one instead.
            text = "".join(_character(textpage, index) for index in range(count))
        return [
            _line(textpage, text, found.start(), found.end(), number, height)
            for found in _LINE.finditer(text)
        ]


def _character(textpage: pdfium.PdfTextPage, index: int) -> str:
    code = raw.FPDFText_GetUnicode(textpage, index)
    return chr(code) if code and not 0xD800 <= code <= 0xDFFF else " "


def _line(
    textpage: pdfium.PdfTextPage, text: str, start: int, end: int, page: int, height: float
) -> Line:
    step = max(1, (end - start) // _SAMPLES)
    samples = [index for index in range(start, end, step) if not text[index].isspace()]
    boxes = {index: textpage.get_charbox(index, loose=True) for index in {*samples, start, end - 1}}
    size = max(box[3] - box[1] for box in boxes.values())
    base = _base(textpage, start)
    pieces = _pieces(textpage, text, start, end, size, base)
    return Line(
        text=" ".join(piece.text for piece in pieces),
        pieces=pieces,
        page=page,
        page_height=height,
        left=boxes[start][0],
        right=boxes[end - 1][2],
        base=base,
        last_base=_base(textpage, end - 1),
        size=round(size, 1),
        bold=all(_is_bold(textpage, index) for index in samples),
    )


def _is_bold(textpage: pdfium.PdfTextPage, index: int) -> bool:
    """By the weight of the font, or by its name where a standard font has no weight."""
    if raw.FPDFText_GetFontWeight(textpage, index) >= _BOLD:
        return True
    name = ctypes.create_string_buffer(_LONGEST_NAME)
    raw.FPDFText_GetFontInfo(textpage, index, name, _LONGEST_NAME, None)
    return b"bold" in name.value.lower()


def _base(textpage: pdfium.PdfTextPage, index: int) -> float:
    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(textpage, index, x, y)
    return y.value


def _pieces(
    textpage: pdfium.PdfTextPage, text: str, start: int, end: int, size: float, base: float
) -> tuple[Piece, ...]:
    """The line, cut where the space between two words is wider than a space."""
    pieces: list[Piece] = []
    first, left = start, textpage.get_charbox(start)[0]
    for space in re.finditer(r"\s+", text[start:end]):
        before, after = start + space.start() - 1, start + space.end()
        right, next_left = textpage.get_charbox(before)[2], textpage.get_charbox(after)[0]
        if next_left - right > _PIECE_GAP * size:
            pieces.append(Piece(_printable(text[first : before + 1]), left, right, base))
            first, left = after, next_left
    right = textpage.get_charbox(end - 1)[2]
    return (*pieces, Piece(_printable(text[first:end]), left, right, base))


def _printable(text: str) -> str:
    """Normalised and on one line, but with the marks of broken words still in it."""
    return HYPHEN.join(" ".join(normalise(part).split()) for part in text.split(HYPHEN))


# --- recognised in a picture ----------------------------------------------------------------------


def recognised_lines(
    boxes: Sequence[TextBox], page: int, height: float, scale: float
) -> list[Line]:
    """The lines of a page in reading order; `scale` is the size of a pixel in points."""
    usual = median([box.bottom - box.top for box in boxes] or [0.0])
    return [_recognised_line(row, page, height, scale, usual) for row in _in_columns(boxes)]


def _recognised_line(
    row: Sequence[TextBox], page: int, page_height: float, scale: float, usual: float
) -> Line:
    size = max(box.bottom - box.top for box in row)
    if abs(size - usual) < _SAME_SIZE * usual:
        size = usual
    base = page_height - scale * max(box.bottom for box in row)
    pieces = tuple(
        Piece(_printable(box.text), box.left * scale, box.right * scale, base) for box in row
    )
    return Line(
        text=" ".join(piece.text for piece in pieces),
        pieces=pieces,
        page=page,
        page_height=page_height,
        left=pieces[0].left,
        right=pieces[-1].right,
        base=base,
        last_base=base,
        size=round(size * scale, 1),
        bold=False,
        recognised=True,
    )


def _in_columns(boxes: Sequence[TextBox]) -> list[list[TextBox]]:
    """The rows of a page. Columns of prose are read one after the other, down to a line or the row
    of a table that crosses the space between them."""
    rows = _rows(boxes)
    spaces = [
        (left.right + right.left) / 2
        for row in rows
        for left, right in pairwise(row)
        if min(len(left.text), len(right.text)) >= _PROSE
    ]
    if len(spaces) < _LEAST_ROWS:
        return rows
    space = median_low(spaces)
    ordered: list[list[TextBox]] = []
    left_side: list[TextBox] = []
    right_side: list[TextBox] = []
    for row in rows:
        is_of_table = len(row) > 2 and all(len(box.text) < _PROSE for box in row)
        if is_of_table or any(box.left < space < box.right for box in row):
            ordered += [*_in_columns(left_side), *_in_columns(right_side), row]
            left_side, right_side = [], []
        else:
            left_side += [box for box in row if box.right <= space]
            right_side += [box for box in row if box.right > space]
    return [*ordered, *_in_columns(left_side), *_in_columns(right_side)]


def _rows(boxes: Sequence[TextBox]) -> list[list[TextBox]]:
    """Boxes beside one another, from left to right; rows from top to bottom."""
    rows: list[list[TextBox]] = []
    for box in sorted(boxes, key=lambda box: box.top + box.bottom):
        last = rows[-1][-1] if rows else None
        if last is not None and box.top + box.bottom < last.top / 2 + last.bottom * 1.5:
            rows[-1].append(box)
        else:
            rows.append([box])
    return [sorted(row, key=lambda box: box.left) for row in rows]


# --- words broken at line ends -------------------------------------------------------------------

_WORD = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*")
_BROKEN = re.compile(rf"([\w-]*){HYPHEN}(\w*)")


class Hyphenation:
    """How one document breaks its words."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._language = detect_language(" ".join(lines[:100]))
        self._words: Counter[str] = Counter()
        for line in lines:
            for word in _WORD.findall(_BROKEN.sub(" ", line.lower())):
                self._words.update({word, *word.split("-")})

    def resolve(self, text: str) -> str:
        """The text with every break at a line end mended."""
        return _BROKEN.sub(self._mended, text) if HYPHEN in text else text

    def joined(self, fragments: Sequence[str]) -> str:
        """Lines of a narrow cell as one; a word cut without a hyphen is whole elsewhere."""
        text = ""
        for fragment in fragments:
            left, right = text.rsplit(" ", 1)[-1].lower(), fragment.split(" ", 1)[0].lower()
            cut = left and self._words[left + right] >= max(1, self._words[left])
            text = f"{text}{fragment}" if cut or not text else f"{text} {fragment}"
        return text

    def _mended(self, broken: re.Match[str]) -> str:
        left, right = broken[1], broken[2]
        return left + right if self._is_one_word(left, right) else f"{left}-{right}"

    def _is_one_word(self, left: str, right: str) -> bool:
        if not left[-1:].isalpha() or not right[:1].islower() or "-" in left:
            return False
        first, second = left.lower(), right.lower()
        if self._words[first + second] or self._words[f"{first}-{second}"]:
            return bool(self._words[first + second])
        if is_word(first + second, self._language):
            return True
        return not (is_word(first, self._language) and is_word(second, self._language))
