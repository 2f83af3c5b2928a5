"""Tables as text: every row is a line that can be quoted alone, `Column: value; Column: value.`

Titles above a table, header rows (one or two) and a row that explains the columns are recognised.
A blank row ends a table. Rows without a header are written `value; value.`, two columns without one
`name: value.`
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice, zip_longest

from activities.sources.formats.extracted_text import fold

Row = Sequence[str]

_NUMBER = re.compile(r"[-+(]?[$€£¥]? ?[\d.,' ]*\d[\d.,']* ?(?:%|\)|[A-Za-z]{1,3})?\)?$")
# So many rows are looked at to tell titles, header and data apart.
_SAMPLE = 50
_LONGEST_NUMBER = 40
_LONGEST_NAME = 60
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}")


def table_lines(rows: Iterable[Row], *, headed: bool = True) -> Iterator[str]:
    """The lines of one sheet, as they are read; an empty line stands between its tables.

    Unless `headed`, two columns have a header only where numbers stand under its words.
    """
    above: list[str] | None = None
    for filled, group in groupby(rows, key=any):
        if not filled:
            continue
        if above is not None:
            yield ""
        titles, header, notes, body = _split(list(islice(group, _SAMPLE)), headed)
        # Totals set apart by an empty row still stand under the header above.
        if not header and not titles and above and len(body[0]) == len(above):
            header = above
        above = header
        yield from titles
        if titles and (header or body):
            yield ""
        if notes is not None:
            yield "About the columns: " + row_line(header, notes)
        if (
            not header
            and body
            and all(len(row) == 2 and len(row[0]) < _LONGEST_NAME for row in body)
        ):
            yield from (row_line(row[:1] if row[1] else [], row[-1:]) for row in chain(body, group))
            continue
        yield from (row_line(header, row) for row in chain(body, group))


def row_line(header: Row, row: Row) -> str:
    """One row as a sentence; empty cells are left out."""
    parts = [
        f"{name}: {value}" if name and name != value else value
        for name, value in zip_longest(header, row, fillvalue="")
        if value
    ]
    # A sentence inside a row ends the row for whoever splits sentences, so its full stop goes.
    closed = [part.rstrip(" ;.") if len(part.split()) > 4 else part for part in parts[:-1]]
    line = "; ".join([*closed, *parts[-1:]])
    return line if line.endswith((".", "!", "?")) else line + "."


def column_name(value: str) -> str:
    """A header as people read it: `total_cost` is `total cost`."""
    return fold(value.replace("_", " ")).rstrip(": ")


def is_number(value: str) -> bool:
    return len(value) < _LONGEST_NUMBER and bool(_NUMBER.match(value) or _DATE.match(value))


def _split(block: list[Row], headed: bool) -> tuple[list[str], list[str], Row | None, list[Row]]:
    """Titles, header, explanation of the columns, and body of a table."""
    titles: list[str] = []
    rest = list(block)
    widest = max(sum(map(bool, row)) for row in rest)
    while rest and sum(map(bool, rest[0])) == 1:
        titles.append(next(value for value in rest.pop(0) if value))
    if len(rest) < 2 or widest < 2 or not _is_header(rest[0]):
        return titles, [], None, rest
    if not headed and widest == 2 and not _stands_over_numbers(rest):
        return titles, [], None, rest
    header = [column_name(value) for value in rest.pop(0)]
    if len(rest) > 1 and _is_second_header(header, rest):
        header = _joined(header, rest.pop(0))
    notes = rest.pop(0) if len(rest) > 1 and _explains(rest) else None
    return titles, header, notes, rest


def _is_header(row: Row) -> bool:
    filled = [value for value in row if value]
    years = sum(1 for value in filled if re.fullmatch(r"(?:19|20)\d\d", value))
    words = sum(1 for value in filled if not is_number(value) and len(value) <= 80)
    # Years head the columns of many tables, but a row of nothing else is data, unless the
    # column of the row names has no name itself.
    unnamed = bool(row) and not row[0] and years > 1
    return len(filled) >= 2 and words + years == len(filled) and (words > 0 or unnamed)


def _stands_over_numbers(rows: list[Row]) -> bool:
    below = [
        [value for value in column if value] for column in zip_longest(*rows[1:], fillvalue="")
    ]
    return any(column and 2 * sum(map(is_number, column)) > len(column) for column in below)


def _is_second_header(header: Row, rest: list[Row]) -> bool:
    """Names under the groups of a header: they fill its gaps, and numbers follow."""
    gaps = [n for n, name in enumerate(header) if not name and any(row[n:] for row in rest)]
    below = rest[0]
    return bool(
        gaps
        and all(n < len(below) and below[n] for n in gaps)
        and _is_header(below)
        and any(map(is_number, rest[1]))
    )


def _explains(rest: list[Row]) -> bool:
    """A row of descriptions under the header: prose in every cell, above shorter data."""
    first = [value for value in rest[0] if value]
    return (
        len(first) > 1
        and all(len(value.split()) >= 4 and not is_number(value) for value in first)
        and any(is_number(value) or len(value.split()) < 4 for value in rest[1] if value)
    )


def _joined(groups: Row, names: Row) -> list[str]:
    joined: list[str] = []
    group = ""
    for position, name in enumerate(names):
        group = (groups[position] if position < len(groups) else "") or group
        parts = dict.fromkeys((group, column_name(name)))  # a merged cell names both
        joined.append(" ".join(filter(None, parts)))
    return joined
