"""Excel workbooks and CSV files: every sheet a heading, every row a line that can be quoted."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import openpyxl  # type: ignore[import-untyped, unused-ignore]

from activities.sources.formats.encoding import fold
from activities.sources.formats.extracts import Extract, readable_name, saved_date, within_limit
from activities.sources.formats.tables import column_name, table_lines

_CURRENCY = re.compile(r"[$€£¥]")
_DECIMALS = re.compile(r"0\.(0+)")
_LITERALS = re.compile(r'"[^"]*"|\\.|\[[^\]$]*\]')
_GENERIC_SHEET = re.compile(r"(?:sheet|tabelle|feuil|hoja|foglio) ?\d*", re.IGNORECASE)
_SNIFFED = 50


def extract_workbook(path: Path, relative: str) -> Extract:
    """All sheets of an Excel file; formulas by their last computed values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and validations, which are not read
        workbook: Any = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
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
        rows = ([_cell(cell) for cell in row] for row in sheet.iter_rows())
        yield from _headed(name if generic else f"{name}: {title}", table_lines(rows))
        yield ""


def _headed(heading: str, lines: Iterator[str]) -> Iterator[str]:
    """The lines under a heading; nothing where there are none."""
    for position, line in enumerate(lines):
        if position == 0:
            yield f"## {heading}"
            yield ""
        yield line


def _cell(cell: Any) -> str:
    """A value as the sheet shows it, as far as that changes its meaning: %, currency, dates."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time(0) else value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, int | float):
        return _number(value, str(cell.number_format or ""))
    return fold(str(value))


def _number(value: int | float, shown_as: str) -> str:
    bare = _LITERALS.sub("", shown_as)
    if "%" in bare:
        return f"{float(f'{value * 100:.10g}'):.15g}%"
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    if "e" in text or "n" in text:
        return text
    symbol = _CURRENCY.search(shown_as)
    if symbol is None and "," not in bare:
        return text
    decimals = _DECIMALS.search(bare)
    if decimals is not None and "." in text:
        text = f"{value:,.{len(decimals[1])}f}"
    elif symbol is not None or "," in bare:
        text = f"{value:,}" if "." not in text else f"{float(text):,}"
    if symbol is None:
        return text
    return f"-{symbol[0]}{text[1:]}" if text.startswith("-") else f"{symbol[0]}{text}"


def _delimiter(text: str) -> str:
    """The separator that splits the first lines most evenly into most columns."""
    sample = text[:100_000].split("\n")[:_SNIFFED]

    def evenness(candidate: str) -> tuple[float, int]:
        widths = [len(row) for row in csv.reader(sample, delimiter=candidate) if row]
        usual = max(set(widths), key=widths.count, default=0)
        return (widths.count(usual) / len(widths) if usual > 1 else 0.0), usual

    return max(",;\t|", key=evenness)
