"""Tables in a PDF, which are only lines that happen to stand in columns.

A table begins with a line of two or more cells and goes on as long as lines keep to its columns.
Cells that were wrapped are put together again by the distance between their lines. Where columns
stand closer than cells must, they are known by their edges, which are in line over several rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median

from activities.sources.formats.pdf.page_lines import Hyphenation, Line, Piece

_CLOSE = 3.0  # points by which the edges of a column may differ
_MOST_GAP = 2.6  # in heights of a line, between rows of a table
_LEAST_ROWS = 2
_LEAST_ALIGNED = 3  # rows and columns of a table that only its edges tell
_LONG_CELL = 45  # characters in a line; cells of prose are columns of a page, not of a table


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; all rows have the same length. A header is bolder than what is below it."""

    rows: tuple[tuple[str, ...], ...]
    first: Line
    headed: bool


def with_tables(lines: Sequence[Line], words: Hyphenation) -> Iterator[Line | Table]:
    """The lines of a document with runs of table lines made into tables."""
    position = 0
    while position < len(lines):
        end = _aligned_end(lines, position)
        columns = _spans(lines[position:end]) if end > position else []
        if not columns:
            end = _table_end(lines, position)
            columns = _columns(lines[position:end])
        table = _table(lines[position:end], columns, words) if len(columns) > 1 else None
        if table is not None:
            yield table
            position = end
        else:
            yield lines[position]
            position += 1


def _table_end(lines: Sequence[Line], start: int) -> int:
    """Where the table that may begin at `start` ends; `start` itself if none does."""
    first = lines[start]
    columns = [(cell.left, cell.right) for cell in first.cells()]
    if len(columns) < 2:
        return start
    heights = [first.base]
    end = start + 1
    rows = 1
    while end < len(lines):
        line = lines[end]
        if line.page != first.page or abs(line.size - first.size) > 0.1 * first.size:
            break
        above = line.base > first.base + _CLOSE
        if above or min(heights) - line.base > _MOST_GAP * first.size:
            break
        cells = line.cells()
        beside = any(abs(line.base - height) < _CLOSE for height in heights)
        if len(cells) > 1:
            rows += 1
        elif not beside and not _keeps_to(cells[0], columns):
            break
        if len(cells) > 1 or beside:
            columns.extend((cell.left, cell.right) for cell in cells)
        heights.append(line.base)
        end += 1
    return end if rows >= _LEAST_ROWS else start


def _aligned_end(lines: Sequence[Line], start: int) -> int:
    """Where lines end that have as many pieces as the first, in line with one another.

    A row may leave cells empty. A line without the first column goes on with wrapped cells; such
    tables are told by the distance between their lines instead.
    """
    first = lines[start]
    if len(first.pieces) < _LEAST_ALIGNED:
        return start
    full = [first]
    end = start + 1
    while end < len(lines) and _follows(lines[end - 1], lines[end]):
        line = lines[end]
        if len(line.pieces) == len(first.pieces):
            full.append(line)
        else:
            held = {_held_by(piece, _spans(full)) for piece in line.pieces}
            if None in held:
                break
            if 0 not in held:
                return start
        end += 1
    if len(full) < _LEAST_ALIGNED or len(_spans(full)) != len(first.pieces):
        return start
    columns = zip(*(line.pieces for line in full), strict=True)
    return end if all(_is_aligned(column) for column in columns) else start


def _held_by(piece: Piece, columns: Sequence[tuple[float, float]]) -> int | None:
    """The one column that a piece overlaps."""
    over = [
        n for n, (left, right) in enumerate(columns) if left < piece.right and piece.left < right
    ]
    return over[0] if len(over) == 1 else None


def _follows(above: Line, below: Line) -> bool:
    drop = above.base - below.base
    same = above.page == below.page and abs(above.size - below.size) < 0.1 * above.size
    return same and _CLOSE < drop < _MOST_GAP * above.size


def _is_aligned(column: Sequence[Piece]) -> bool:
    """Whether most pieces share their left edge, their right edge or their middle."""
    edges = (
        [piece.left for piece in column],
        [piece.right for piece in column],
        [(piece.left + piece.right) / 2 for piece in column],
    )
    return any(
        sum(abs(place - median(places)) < _CLOSE for place in places) > 0.75 * len(places)
        for places in edges
    )


def _spans(lines: Sequence[Line]) -> list[tuple[float, float]]:
    return _merged([(piece.left, piece.right) for line in lines for piece in line.pieces])


def _keeps_to(cell: Piece, columns: Sequence[tuple[float, float]]) -> bool:
    """Whether a lone piece begins where a column does and ends before the next."""
    starts = sorted({left for left, _ in columns})
    if not any(abs(cell.left - left) < _CLOSE for left in starts):
        return False
    return all(cell.right < left for left in starts if left > cell.left + _CLOSE)


def _table(
    lines: Sequence[Line], columns: Sequence[tuple[float, float]], words: Hyphenation
) -> Table | None:

    def is_of_one_cell(before: Sequence[Piece], piece: Piece) -> bool:
        return _column(before[-1], columns) == _column(piece, columns)

    pieces = [piece for line in lines for piece in line.join_pieces(is_of_one_cell)]
    if mean(len(piece.text) for piece in pieces) > _LONG_CELL:
        return None
    rows = []
    for group in _rows(pieces, columns):
        cells: list[list[str]] = [[] for _ in columns]
        for piece in group:
            cells[_column(piece, columns)].append(piece.text)
        rows.append(tuple(words.resolve(words.joined(cell)) for cell in cells))
    headed = lines[0].bold and not lines[-1].bold
    return Table(tuple(rows), lines[0], headed) if len(rows) >= _LEAST_ROWS else None


def _columns(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """The stretches across the page that hold text, from pieces that cannot span two columns."""
    spans: list[tuple[float, float]] = []
    for line in lines:
        cells = line.cells()
        # Where pieces of a cell stand apart a little, they may be cells of narrow columns.
        alone = [cell for cell in cells if any(cell == piece for piece in line.pieces)]
        spans.extend((cell.left, cell.right) for cell in alone)
    return _merged(spans)


def _merged(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for left, right in sorted(spans):
        if merged and left < merged[-1][1] + _CLOSE:
            merged[-1] = (merged[-1][0], max(merged[-1][1], right))
        else:
            merged.append((left, right))
    return merged


def _column(piece: Piece, columns: Sequence[tuple[float, float]]) -> int:
    """The column that a piece overlaps most, else the nearest."""

    def distance(number: int) -> float:
        left, right = columns[number]
        return max(left, piece.left) - min(right, piece.right)

    return min(range(len(columns)), key=distance)


def _rows(pieces: Sequence[Piece], columns: Sequence[tuple[float, float]]) -> Iterator[list[Piece]]:
    """Pieces that make one row each, from the top down."""
    levels = _levels(pieces)
    gaps = [above[0].base - below[0].base for above, below in pairwise(levels)]
    wrapped = _wrapped_gap(levels, gaps, len(columns))
    row: list[Piece] = []
    for number, level in enumerate(levels):
        filled = {_column(piece, columns) for piece in level}
        if wrapped is not None:
            goes_on = number > 0 and gaps[number - 1] <= wrapped
        else:
            goes_on = len(filled) == 1 and 0 not in filled
        if row and not goes_on:
            yield row
            row = []
        row.extend(level)
    if row:
        yield row


def _levels(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces on the same height, from left to right."""
    levels: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: (-piece.base, piece.left)):
        if levels and levels[-1][0].base - piece.base < _CLOSE:
            levels[-1].append(piece)
        else:
            levels.append([piece])
    return [sorted(level, key=lambda piece: piece.left) for level in levels]


def _wrapped_gap(levels: Sequence[list[Piece]], gaps: Sequence[float], width: int) -> float | None:
    """The widest gap between lines of one row, or None if each line is a row.

    Rows stand further apart than the lines of a cell, and the second line of a row is rarely full.
    """
    least = min(gaps, default=0.0)
    close = [n for n, gap in enumerate(gaps) if gap < 1.12 * least]
    fill = mean([len(levels[n + 1]) for n in close] or [width])
    return 1.12 * least if len(close) < len(gaps) and fill <= 0.6 * width else None
