"""PDF pages give paragraphs, headings and table rows, and nothing of their furniture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from PIL import Image

from activities.sources.documents import Document, Unreadable
from activities.sources.formats.parsing import parse
from activities.sources.formats.pdf.page_lines import HYPHEN, Hyphenation

Placed = tuple[float, float, float, str]
MakePdf = Callable[[str, Sequence[Sequence[Placed]]], Path]

FULL = "This line of the paragraph is as long as the width of the column of text allows it"


def only(found: list[Document] | Unreadable) -> Document:
    assert isinstance(found, list), found
    assert len(found) == 1
    return found[0]


def test_wrapped_lines_become_paragraphs_under_their_headings(make_pdf: MakePdf) -> None:
    page = [
        (50, 780, 22, "Harbour report 2024"),
        (50, 740, 15, "Summary"),
        (50, 715, 11, f"{FULL} to be, and"),
        (50, 701, 11, f"{FULL} to be. The"),
        (50, 687, 11, "port handled 4.2 million tonnes."),
        (50, 660, 11, "A second paragraph follows."),
    ]
    document = only(parse(make_pdf("report.pdf", [page]), "report.pdf"))
    assert document.title == "Harbour report 2024"
    assert document.text == (
        "# Harbour report 2024\n\n## Summary\n\n"
        f"{FULL} to be, and {FULL} to be. The port handled 4.2 million tonnes.\n\n"
        "A second paragraph follows."
    )


def test_running_heads_and_page_numbers_are_dropped(make_pdf: MakePdf) -> None:
    pages = [
        [
            (50, 815, 9, "Harbour Board, annual report"),
            (50, 700, 11, f"Page text number {word} stands here and is unlike the others."),
            (290, 30, 9, str(number)),
        ]
        for number, word in enumerate(("one", "two", "three"), 1)
    ]
    text = only(parse(make_pdf("r.pdf", pages), "r.pdf")).text
    assert "Harbour Board" not in text
    assert text.split("\n\n") == [
        f"Page text number {word} stands here and is unlike the others."
        for word in ("one", "two", "three")
    ]


def test_a_sentence_goes_on_over_the_page(make_pdf: MakePdf) -> None:
    pages = [
        [(50, 100 + 14 * n, 11, FULL) for n in range(3)] + [(50, 86, 11, f"{FULL} and")],
        [(50, 780, 11, "ends here.")],
    ]
    assert f"{FULL} and ends here." in only(parse(make_pdf("p.pdf", pages), "p.pdf")).text


def test_rows_of_a_table_can_be_quoted_alone(make_pdf: MakePdf) -> None:
    rows = [
        ("Year", "Revenue", "Share"),
        ("2023", "$5 million", "12%"),
        ("2024", "$6 million", "14%"),
    ]
    table = [
        (50 + 130 * column, 700 - 16 * row, 11, cell)
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
    ]
    text = only(parse(make_pdf("t.pdf", [[(50, 760, 18, "Figures"), *table]]), "t.pdf")).text
    assert "Year: 2023; Revenue: $5 million; Share: 12%.\nYear: 2024" in text


def test_columns_that_stand_close_together_are_told_by_their_edges(make_pdf: MakePdf) -> None:
    rows = [
        ("Region", "Units", "Share", "Cost"),
        ("North", "18,467", "88%", "$33.12"),
        ("West", "9,921", "5%", "$1.10"),
        ("Total", "28,388", "93%", "$34.22"),
    ]
    table = [
        (50 + 44 * column, 700 - 16 * row, 11, cell)
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
    ]
    text = only(parse(make_pdf("t.pdf", [table]), "t.pdf")).text
    assert "Region: West; Units: 9,921; Share: 5%; Cost: $1.10." in text


def test_two_columns_of_words_have_no_header(make_pdf: MakePdf) -> None:
    rows = [("-a", "show everything"), ("-v", "say more"), ("-q", "say nothing")]
    table = [
        (50 + 130 * column, 700 - 16 * row, 11, cell)
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
    ]
    text = only(parse(make_pdf("t.pdf", [table]), "t.pdf")).text
    assert text == "-a: show everything.\n-v: say more.\n-q: say nothing."


def test_wrapped_cells_stay_in_their_row(make_pdf: MakePdf) -> None:
    table = [
        (50, 700, 11, "Site"), (150, 700, 11, "Power"), (150, 687, 11, "requested"),
        (260, 700, 11, "Ready"),
        (50, 668, 11, "Northern"), (50, 655, 11, "quay"), (150, 668, 11, "4.4"),
        (260, 668, 11, "May 2027"),
        (50, 636, 11, "Uskay"), (150, 636, 11, "0.6"), (260, 636, 11, "done"),
    ]  # fmt: skip
    text = only(parse(make_pdf("t.pdf", [table]), "t.pdf")).text
    assert "Site: Northern quay; Power requested: 4.4; Ready: May 2027." in text


def test_a_word_broken_at_a_line_end_is_written_as_elsewhere_in_the_text() -> None:
    lines = ["an important and low-carbon thing", f"most impor{HYPHEN}tant", f"a low{HYPHEN}carbon"]
    words = Hyphenation(lines)
    assert words.resolve(lines[1]) == "most important"
    assert words.resolve(lines[2]) == "a low-carbon"


def test_a_program_that_does_not_hyphenate_keeps_its_hyphens() -> None:
    words = Hyphenation(["a cost-free and duty-free and rent-free thing"] * 40)
    assert words.resolve(f"battery{HYPHEN}electric") == "battery-electric"


@pytest.mark.parametrize("name", ["scan.pdf"])
def test_a_scan_is_unreadable_and_says_what_to_do(folder: Path, name: str) -> None:
    Image.new("RGB", (200, 200), "white").save(folder / name)
    found = parse(folder / name, name)
    assert isinstance(found, Unreadable)
    assert "RESEARCH_OCR=1" in found.reason
