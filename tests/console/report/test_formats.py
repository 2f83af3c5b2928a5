"""Every format of a report is read back by a program that reads it, with whatever text is in it."""

from __future__ import annotations

import io
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import docx
import pypdfium2
import pytest
import rispy
from bibtexparser.entrypoint import parse_string
from docx.document import Document

from console.errors import BadInputError, ConsoleError
from console.report.formats import FORMATS, USUAL, check_formats, write_report
from tests.console.charted_result import charted
from tests.console.results import ferry, finished
from workflows.contracts.result import ResearchResult

HOSTILE = (
    '<b>x</b> & "q" </a> <a href="javascript:1">j</a> \x00\x07 {brace \\end{x} }} %5 #$_~^ '
    "{{7*7}} [l](javascript:2)"
)
SCRIPTS = "ümläut – “dash” Жуков Ωμέγα ქართ ไทย"
ASIAN = "中文测试 日本語かな 한국어"


def pdf(result: ResearchResult) -> Any:
    return pypdfium2.PdfDocument(FORMATS["pdf"].render(result))


def text_of(document: Any) -> str:
    return " ".join(" ".join(page.get_textpage().get_text_range().split()) for page in document)


def word(result: ResearchResult) -> Document:
    return docx.Document(io.BytesIO(FORMATS["docx"].render(result)))


@cache
def drawn() -> ResearchResult:
    return charted()


# --- one table ------------------------------------------------------------------------------------


def test_a_format_that_is_not_known_is_named_before_anything_is_written() -> None:
    assert check_formats(()) == USUAL
    assert check_formats(("pdf", "pdf")) == ("pdf",)
    assert check_formats(("pdf", "all")) == tuple(FORMATS)
    with pytest.raises(BadInputError, match="--format odt is not known"):
        check_formats(("pdf", "odt"))


def test_the_files_have_what_the_formats_render_and_replace_old_ones(tmp_path: Path) -> None:
    for _ in range(2):
        files = write_report(ferry(), tmp_path / "new", FORMATS)
    assert [file.name for file in files] == [f"report.{suffix}" for suffix in FORMATS]
    assert sorted((tmp_path / "new").iterdir()) == sorted(files), "no draft is left"
    for file, one in zip(files, FORMATS.values(), strict=True):
        if one.suffix != "docx":  # a zip file has the time in it
            assert file.read_bytes() == one.render(ferry())
    assert ResearchResult.model_validate_json(files[2].read_bytes()) == ferry()


def test_a_folder_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "report.md").mkdir()
    with pytest.raises(ConsoleError, match=r"result job --out DIR"):
        write_report(finished("word"), tmp_path)


# --- PDF ------------------------------------------------------------------------------------------


def test_the_pdf_gives_the_answer_first_and_the_metrics_after_it() -> None:
    text = text_of(pdf(drawn()))
    order = ("Summary", "Where the sources disagree", "What is missing", "How this was researched")
    places = [text.index(heading) for heading in (*order, "1. The business case")]
    assert places == sorted(places)
    assert text.index("Answered") > places[3]


def test_the_pdf_has_an_outline_links_and_page_numbers() -> None:
    document = pdf(drawn())
    titles = [(mark.level, mark.get_title()) for mark in document.get_toc()]
    assert titles[0] == (0, "Summary")
    assert (1, "What the programme costs") in titles
    assert titles[-1] == (0, "Sources")
    for n, page in enumerate(document, 1):
        assert page.get_textpage().get_text_range().split()[0] == str(n)
    raw = FORMATS["pdf"].render(drawn())
    assert b"/GoTo" in raw or b"/Dest" in raw, "a citation leads to its source"
    assert b"(https://example.org/annual)" in raw


def test_the_pdf_shows_every_chart_value_with_its_source() -> None:
    text = text_of(pdf(drawn()))
    for piece in ("2022 410,000 [1]", "2024 455,000 [2]", "EUR 214.6 million [1]", "Tern 84 m [1]"):
        assert piece in text, piece


def test_the_pdf_has_the_letters_of_many_scripts_in_fonts_of_its_own() -> None:
    document = pdf(finished(SCRIPTS, f"# {SCRIPTS}\n\n## Summary\n\n**{SCRIPTS}** *{SCRIPTS}* [1]"))
    text = text_of(document)
    for word_ in SCRIPTS.split():
        assert word_ in text, word_
    assert "�" not in text
    assert "The fonts of this file" not in text


def test_the_pdf_says_what_it_cannot_show_itself() -> None:
    asian = text_of(pdf(finished(ASIAN)))
    for word_ in ASIAN.split():
        assert word_ in asian, word_
    assert "a font of the program that opens this file" in asian
    other = text_of(pdf(finished("🚢 ship")))
    assert "� ship" in other
    assert "The fonts of this file lack 1 character of the report" in other
    assert "Hebrew" in text_of(pdf(finished("עברית")))


def test_hostile_text_stays_text_in_the_pdf() -> None:
    raw = FORMATS["pdf"].render(finished(HOSTILE))
    links = re.findall(rb"/URI \(((?:[^()\\]|\\.)*)\)", raw)
    assert links
    assert all(link.startswith(b"https://example.org/") for link in links)
    assert not re.search(rb"/(?:JavaScript|JS|Launch|OpenAction)\b", raw)
    assert '<a href="javascript:1">j</a>' in text_of(pypdfium2.PdfDocument(raw))


def test_a_table_wider_or_a_cell_longer_than_a_page_is_still_set() -> None:
    wide = "|".join(["", *(f"c{n}" for n in range(40)), ""])
    rule = "|".join(["", *("-" for _ in range(40)), ""])
    cell = "word " * 4000
    markdown = f"# T\n\n## Summary\n\n{wide}\n{rule}\n{wide}\n\n|a|b|\n|-|-|\n|{cell}|end|\n"
    text = text_of(pdf(finished("word", markdown)))
    assert "c39" in text
    assert text.count("word word word") > 1000


# --- Word -----------------------------------------------------------------------------------------


def test_the_word_file_has_headings_tables_links_and_a_page_number() -> None:
    document = word(drawn())
    styles = {p.text: p.style.name for p in document.paragraphs if p.style}
    assert styles["Summary"] == styles["Sources"] == "Heading 1"
    assert styles["What the programme costs"] == "Heading 2"
    headings = [p.text for p in document.paragraphs if p.style and p.style.name == "Heading 1"]
    assert headings.index("Summary") == 0
    assert headings[-2:] == ["How this was researched", "Sources"]
    rows = [[cell.text for cell in row.cells] for table in document.tables for row in table.rows]
    assert ["2024", "█" * 24, "455,000 [2]"] in rows
    assert ["Tern", "Brekkan", "84 m", "[1]"] in rows
    body = document.element.xml
    bookmarks = set(re.findall(r'<w:bookmarkStart[^>]*w:name="([^"]+)"', body))
    anchors = set(re.findall(r'<w:hyperlink w:anchor="([^"]+)"', body))
    assert anchors
    assert anchors <= bookmarks, "every citation leads somewhere"
    targets = [rel.target_ref for rel in document.part.rels.values() if rel.is_external]
    assert targets == ["https://example.org/annual"]
    assert "PAGE" in document.sections[0].footer._element.xml


def test_hostile_text_stays_text_in_the_word_file() -> None:
    document = word(finished(HOSTILE))
    said = "\n".join(paragraph.text for paragraph in document.paragraphs)
    assert '<a href="javascript:1">j</a>' in said
    targets = [rel.target_ref for rel in document.part.rels.values() if rel.is_external]
    assert all(target.startswith("https://example.org/") for target in targets)
    for script in (SCRIPTS, ASIAN, "🚢 עברית"):
        assert word(finished(script)).paragraphs[0].text == script


# --- bibliographies -------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["The plan", HOSTILE, f"{SCRIPTS} {ASIAN}", "a\nER  - \nTY  - X"])
def test_each_cited_source_is_one_entry_in_every_bibliography(text: str) -> None:
    result = finished(text)
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())

    bib = parse_string(FORMATS["bib"].render(result).decode())
    assert not bib.failed_blocks
    first, second = bib.entries
    assert (first.key, second.key) == ("job-1", "job-2")
    address = first.fields_dict["url"].value
    assert address.startswith("https://example.org/1?")
    assert not re.search(r"[\s{}\x00]", address)
    assert "url" not in second.fields_dict, "a file has no address"

    ris = rispy.loads(FORMATS["ris"].render(result).decode())
    assert [(entry["id"], entry["title"]) for entry in ris] == [("job-1", plain), ("job-2", plain)]

    csl = json.loads(FORMATS["csl.json"].render(result))
    assert [(item["id"], item["title"], item["type"]) for item in csl] == [
        ("job-1", plain, "document"),
        ("job-2", plain, "document"),
    ]


def test_kind_and_date_of_a_source_are_those_of_the_reference() -> None:
    entry = parse_string(FORMATS["bib"].render(drawn()).decode()).entries[0]
    fields = {name: found.value for name, found in entry.fields_dict.items()}
    assert (entry.entry_type, fields["year"], fields["month"]) == ("techreport", "2023", "11")
    (record, *_) = rispy.loads(FORMATS["ris"].render(drawn()).decode())
    assert (record["type_of_reference"], record["date"]) == ("RPRT", "2023/11/20/")
    (item, *_) = json.loads(FORMATS["csl.json"].render(drawn()))
    assert (item["type"], item["issued"]) == ("report", {"date-parts": [[2023, 11, 20]]})
