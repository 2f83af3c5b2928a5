"""Excel workbooks and CSV files: every sheet a heading, every row a line that can be quoted.

Numbers are written as a sheet shows them: `1.25` under `$#,##0.00M` is `$1.25M`. Only what changes
the reading of a number is followed: sections for sign and size, literals, percent, thousands,
scaling commas, decimals. Fractions and exponents are written plainly.
"""

from __future__ import annotations

import csv
import io
import operator
import re
import warnings
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

import openpyxl  # type: ignore[import-untyped, unused-ignore]
from openpyxl.styles.numbers import BUILTIN_FORMATS_MAX_SIZE
from openpyxl.utils.cell import column_index_from_string

from activities.sources.formats.descriptions import readable_name, saved_date
from activities.sources.formats.extracted_text import Extract, fold, within_limit
from activities.sources.formats.tables import column_name, table_lines

_GENERIC_SHEET = re.compile(r"(?:sheet|tabelle|feuil|hoja|foglio) ?\d*", re.IGNORECASE)
_MERGED = re.compile(rb'<mergeCell ref="([A-Z]+)(\d+):[A-Z]+(\d+)"')
_SNIFFED = 50


def extract_workbook(path: Path, relative: str) -> Extract:
    """All sheets of an Excel file; formulas by their last computed values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and validations, which are not read
        workbook: Any = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        _read_as_numbers(workbook)
        name = readable_name(relative)
        properties = workbook.properties
        lines = within_limit(_sheets(workbook, name))
        return Extract(
            "\n".join(lines),
            title=fold(properties.title or "") or name,
            saved=saved_date(properties.created, properties.modified),
            usual="dataset",
        )
    finally:
        workbook.close()


def extract_csv(text: str, relative: str) -> Extract:
    """A CSV or TSV file, whichever character separates its columns."""
    name = readable_name(relative)
    csv.field_size_limit(2**31 - 1)
    delimiter = "\t" if relative.lower().endswith((".tsv", ".tab")) else _delimiter(text)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    cells = ([fold(value) for value in row] for row in rows)
    lines = within_limit(_headed(name, table_lines(cells)))
    return Extract("\n".join(lines), title=name, usual="dataset")


def _sheets(workbook: Any, name: str) -> Iterator[str]:
    for sheet in workbook.worksheets:
        # A wrong dimension record, which some exporters write, would hide rows.
        sheet.reset_dimensions()
        title = fold(column_name(sheet.title))
        generic = _GENERIC_SHEET.fullmatch(title)
        rows = _rows(workbook, sheet)
        yield from _headed(name if generic else f"{name}: {title}", table_lines(rows))
        yield ""


def _read_as_numbers(workbook: Any) -> None:
    """openpyxl takes the `M` of `$0.0M` for a month; values under such formats are numbers."""
    custom = workbook._number_formats
    for style in list(workbook._date_formats):
        number = workbook._cell_styles[style].numFmtId - BUILTIN_FORMATS_MAX_SIZE
        if number >= 0 and shows_number(custom[number]):
            workbook._date_formats.discard(style)


def _rows(workbook: Any, sheet: Any) -> Iterator[list[str]]:
    """The rows of a sheet; a cell that is merged with those below it stands in each row."""
    merged: dict[tuple[int, int], int] = {}  # the rows that a merged cell covers
    for left, top, bottom in _MERGED.findall(workbook._archive.read(sheet._worksheet_path)):
        merged[column_index_from_string(left.decode()), int(top)] = int(bottom)
    open_cells: dict[int, tuple[int, str]] = {}
    for number, row in enumerate(sheet.iter_rows(), 1):
        cells = [_cell(cell) for cell in row]
        for position, text in enumerate(cells):
            bottom, above = open_cells.get(position, (0, ""))
            if number <= bottom and not text:
                cells[position] = above
            elif (end := merged.get((position + 1, number), 0)) > number:
                open_cells[position] = (end, text)
        yield cells


def _headed(heading: str, lines: Iterator[str]) -> Iterator[str]:
    """The lines under a heading; nothing where there are none."""
    for position, line in enumerate(lines):
        if position == 0:
            yield f"## {heading}"
            yield ""
        yield line


def _cell(cell: Any) -> str:
    """A value as the sheet shows it; dates as ISO dates."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    shown_as = str(cell.number_format or "")
    if isinstance(value, datetime):
        return _date(value, shown_as.lower())
    if isinstance(value, time | timedelta):
        return str(value)
    if isinstance(value, int | float):
        return number_text(value, shown_as)
    return fold(str(value))


def _date(value: datetime, shown_as: str) -> str:
    """A date as ISO; only its month or year where the format shows no more."""
    if value.time() != time(0):
        return value.isoformat(" ")
    shown = 3 if "d" in shown_as else 2 if "m" in shown_as else 1
    return "-".join(value.date().isoformat().split("-")[:shown])


def _delimiter(text: str) -> str:
    """The separator that splits the first lines most evenly into most columns."""
    sample = text[:100_000].split("\n")[:_SNIFFED]

    def evenness(candidate: str) -> tuple[float, int]:
        widths = [len(row) for row in csv.reader(sample, delimiter=candidate) if row]
        usual = max(set(widths), key=widths.count, default=0)
        return (widths.count(usual) / len(widths) if usual > 1 else 0.0), usual

    return max(",;\t|", key=evenness)


# --- numbers as a sheet shows them ---------------------------------------------------------------

_SECTION = re.compile(r'(?:"[^"]*"|\\.|[^;"\\])+')
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)(-?[\d.]+)\]")
_CURRENCY = re.compile(r"\[\$([^\]-]*)[^\]]*\]")
_BRACKETS = re.compile(r"\[[^\]]*\]")
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|[_*].')
_DIGITS = re.compile(r"[#0?][#0?,]*(?:\.[#0?]*)?,*|\.[#0?]+,*")
_SECOND_FRACTION = re.compile(r"s\.0+", re.IGNORECASE)
_PLAIN = re.compile(r"E[+-]0|[#?0] ?[#?]+/|^[@;A-Za-z ]*$", re.IGNORECASE)
_COMPARE = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
    "<>": operator.ne,
}  # fmt: skip


def shows_number(code: str) -> bool:
    """Whether a format has places for digits, whatever letters of a date it also has."""
    bare = _SECOND_FRACTION.sub("", _LITERAL.sub("", _BRACKETS.sub("", code)))
    return any(place in bare for place in "#0?")


def number_text(value: int | float, code: str) -> str:
    """The number as the format `code` shows it."""
    section, value = _section(value, code)
    if _PLAIN.search(_BRACKETS.sub("", section)):
        return f"{value:.15g}"
    before, digits, after = _parts(section)
    if not digits:
        return before.strip()
    value *= 100 ** (before + after).count("%")
    whole, _, fraction = digits.rstrip(",").partition(".")
    value /= 1000 ** (len(digits) - len(digits.rstrip(",")))
    text = f"{abs(value):{',' if ',' in whole else ''}.{len(fraction)}f}"
    optional = len(fraction) - len(fraction.rstrip("#?"))
    if optional:
        kept = len(text) - optional
        text = (text[:kept] + text[kept:].rstrip("0")).rstrip(".")
    if "0" not in whole:
        text = text.removeprefix("0")
    text = text.rjust(whole.count("0") if "," not in whole else 0, "0")
    sign = "-" if value < 0 and any(digit in "123456789" for digit in text) else ""
    return f"{sign}{before.lstrip()}{text}{after.rstrip()}"


def _section(value: int | float, code: str) -> tuple[str, int | float]:
    """The part of a format that is for this value, and the value without a sign it shows itself."""
    sections = _SECTION.findall(code)[:3] or [code]
    conditions = [_CONDITION.search(section) for section in sections]
    if any(conditions):
        for section, condition in zip(sections, conditions, strict=True):
            if condition is None or _COMPARE[condition[1]](value, float(condition[2])):
                return section, value
        return sections[-1], value
    if value < 0 and len(sections) > 1:
        return sections[1], -value
    return sections[2 if value == 0 and len(sections) > 2 else 0], value


def _parts(section: str) -> tuple[str, str, str]:
    """What stands before the digits, their places, and what stands after."""
    section = _BRACKETS.sub("", _CURRENCY.sub(lambda found: f'"{found[1]}"', section))
    pieces = list(_pieces(section))
    places = [n for n, (is_literal, _) in enumerate(pieces) if not is_literal]
    if not places:
        return "".join(text for _, text in pieces), "", ""
    first = places[0]
    before = "".join(text for _, text in pieces[:first])
    return before, pieces[first][1], "".join(text for known, text in pieces[first + 1 :] if known)


def _pieces(section: str) -> Iterator[tuple[bool, str]]:
    """Literals, and places for digits."""
    position = 0
    while position < len(section):
        if literal := _LITERAL.match(section, position):
            yield True, literal[1] or literal[2] or ""
            position = literal.end()
        elif digits := _DIGITS.match(section, position):
            yield False, digits[0]
            position = digits.end()
        else:
            yield True, section[position]
            position += 1
