"""Tables drawn with characters: pipe tables, reStructuredText grids and ruled columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from activities.sources.formats.encoding import fold
from activities.sources.formats.tables import table_lines

_DIVIDER = re.compile(r" *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$")
_BORDER = re.compile(r" *\+(?:[-=]+\+)+$")
_RULED = re.compile(r" *={3,}(?: +={3,})+$")
_FENCE = re.compile(r" *(```|~~~)")
_LONGEST = 2000  # characters of a line that may belong to a table


def tables_as_rows(lines: Sequence[str]) -> Iterator[str]:
    """The lines, with tables written as one sentence for each row. Code is left alone."""
    fence = ""
    position = 0
    while position < len(lines):
        line = lines[position]
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        end = position
        if not fence and line:
            end = _pipes_end(lines, position) or _ruled_end(lines, position) or position
        if end == position:
            yield line
            position += 1
            continue
        block = lines[position:end]
        rows = _ruled_rows(block) if _RULED.match(line) else map(_cells, _without_borders(block))
        yield from ("", *table_lines([[_bare(cell) for cell in row] for row in rows]), "")
        position = end


def _pipes_end(lines: Sequence[str], start: int) -> int:
    """Where the pipe table or grid that begins here ends, or 0."""
    following = lines[start + 1] if start + 1 < len(lines) else ""
    if not _is_border(lines[start]) and not ("|" in lines[start] and _is_border(following)):
        return 0
    end = start
    while end < len(lines) and len(lines[end]) < _LONGEST:
        if "|" not in lines[end] and not _is_border(lines[end]):
            break
        end += 1
    return end if end - start > 2 else 0


def _ruled_end(lines: Sequence[str], start: int) -> int:
    """Where the table between ruled columns that begins here ends, or 0."""
    if len(lines[start]) > _LONGEST or not _RULED.match(lines[start]):
        return 0
    last = 0
    for end in range(start + 1, len(lines)):
        if lines[end].rstrip() == lines[start].rstrip():
            last = end + 1
            if end + 1 == len(lines) or not lines[end + 1].strip():
                return last
        elif len(lines[end]) > _LONGEST:
            break
    return last


def _ruled_rows(block: Sequence[str]) -> Iterator[list[str]]:
    spans = [found.span() for found in re.finditer("=+", block[0])]
    row: list[str] = []
    for line in block:
        if _RULED.match(line) or not line.strip():
            continue
        ends = [start for start, _ in spans[1:]] + [len(line)]
        cells = [line[a:b].strip() for (a, _), b in zip(spans, ends, strict=True)]
        if row and not cells[0]:  # a cell that goes on in the next line
            row = [f"{above} {below}".strip() for above, below in zip(row, cells, strict=True)]
            continue
        if row:
            yield row
        row = cells
    if row:
        yield row


def _without_borders(block: Sequence[str]) -> list[str]:
    return [line for line in block if not _is_border(line)]


def _is_border(line: str) -> bool:
    return len(line) < _LONGEST and bool(_DIVIDER.match(line) or _BORDER.match(line))


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return re.split(r"(?<!\\)\|", inner)


def _bare(value: str) -> str:
    cell = fold(value.replace("\\|", "|"))
    # Emphasis round a whole cell is layout, not text.
    return cell.strip("*_") if cell[:1] in ("*", "_") and cell[-1:] == cell[:1] else cell
