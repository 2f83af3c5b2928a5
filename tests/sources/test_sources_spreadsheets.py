"""Rows of spreadsheets can be quoted with their headers, and numbers as the sheet shows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest

from activities.sources.chunks import sentences
from activities.sources.formats.office.spreadsheets import number_text
from activities.sources.formats.parsing import parse

Rows = Sequence[Sequence[object]]


def read(path: Path) -> str:
    found = parse(path, path.name)
    assert isinstance(found, list), found
    return found[0].text


def workbook_text(
    folder: Path, rows: Rows, formats: dict[str, str] | None = None, merged: Sequence[str] = ()
) -> str:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Cost_table"
    for row in rows:
        sheet.append(list(row))
    for cell, code in (formats or {}).items():
        sheet[cell].number_format = code
    for area in merged:
        sheet.merge_cells(area)
    book.save(folder / "cost.xlsx")
    return read(folder / "cost.xlsx")


def test_rows_are_sentences_under_the_sheet_and_its_title(folder: Path) -> None:
    rows: Rows = [["Costs of 2024"], ["Part", "EUR_million"], ["Quay", 4.25], ["Ramp", 1]]
    text = workbook_text(folder, rows)
    assert text == (
        "## Cost: Cost table\n\nCosts of 2024\n\nPart: Quay; EUR million: 4.25.\n"
        "Part: Ramp; EUR million: 1."
    )
    assert "Part: Quay; EUR million: 4.25." in [text[s.start : s.end] for s in sentences(text)]


def test_a_number_under_a_format_with_letters_of_a_date_is_no_time(folder: Path) -> None:
    rows: Rows = [
        ["Region", "Sales", "Year", "Day"],
        ["North", 1.25, datetime(2024, 1, 1), datetime(2024, 5, 3)],
        ["South", 98765432.1, datetime(2023, 1, 1), datetime(2024, 5, 4, 10, 30)],
    ]
    codes = {"B2": "$#,##0.00M", "B3": "$#,##0.00M", "C2": "yyyy", "C3": "yyyy"}
    text = workbook_text(folder, rows, {**codes, "D2": "d-mmm-yy", "D3": "d/m/yy h:mm"})
    assert "Region: North; Sales: $1.25M; Year: 2024; Day: 2024-05-03." in text
    assert "Sales: $98,765,432.10M; Year: 2023; Day: 2024-05-04 10:30:00." in text


def test_headers_of_two_lines_and_merged_cells(folder: Path) -> None:
    rows: Rows = [
        ["Region", "2023", None, "2024", None],
        [None, "Q1", "Q2", "Q1", "Q2"],
        ["North", 1, 2, 3, 4],
        [None, 5, 6, 7, 8],
    ]
    text = workbook_text(folder, rows, merged=["A1:A2", "B1:C1", "D1:E1", "A3:A4"])
    assert "Region: North; 2023 Q1: 1; 2023 Q2: 2; 2024 Q1: 3; 2024 Q2: 4.\n" in text
    assert text.endswith("Region: North; 2023 Q1: 5; 2023 Q2: 6; 2024 Q1: 7; 2024 Q2: 8.")


ACCOUNTING = '_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)'


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (0.125, "0.0%", "12.5%"),
        (1234567, "#,##0", "1,234,567"),
        (-1234, "$#,##0", "-$1,234"),
        (1234.5, ACCOUNTING, "$1,234.50"),
        (-1234.5, ACCOUNTING, "$(1,234.50)"),
        (0, ACCOUNTING, "$-"),
        (2500000, '#,##0.0,,"M"', "2.5M"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (1500, '#,##0 "kg"', "1,500 kg"),
        (2500, '[<1000]0;[>=1000]0.0,"K"', "2.5K"),
        (42, "00000", "00042"),
        (3, "0.##", "3"),
        (-5, "0.00;[Red]-0.00", "-5.00"),
        (0.1 + 0.2, "General", "0.3"),
        (12345, "0.00E+00", "12345"),
        (7, "@", "7"),
    ],
)
def test_number_formats(value: float, code: str, text: str) -> None:
    assert number_text(value, code) == text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", 'Route,Trips\n"Telle, north",12\nUskay,7\n'),
        ("t.csv", "Route;Trips\nTelle, north;12\nUskay;7\n"),
        ("t.tsv", "Route\tTrips\nTelle, north\t12\nUskay\t7\n"),
    ],
)
def test_csv_whatever_its_separator(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(content)
    assert read(folder / name) == (
        "## T\n\nRoute: Telle, north; Trips: 12.\nRoute: Uskay; Trips: 7."
    )
