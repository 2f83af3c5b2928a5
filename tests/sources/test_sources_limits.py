"""Broken, hostile and oversized files are reported, never opened blindly and never fatal."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.sources.documents import Unreadable
from activities.sources.formats import extracted_text
from activities.sources.formats import parsing as parsing_module
from activities.sources.formats.parsing import parse
from activities.storage.document_sources import SUFFIXES
from tests.corpora import FolderCorpus


def refused(path: Path) -> str:
    found = parse(path, path.name)
    assert isinstance(found, Unreadable), found
    return found.reason


def test_a_zip_bomb_is_not_opened(folder: Path) -> None:
    for name in ("bomb.docx", "bomb.xlsx", "bomb.pptx"):
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("word/document.xml", b"0" * 30_000_000)
        assert "zip bomb" in refused(folder / name)


def test_a_file_over_the_limit_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing_module, "MAX_FILE_BYTES", 1000)
    (folder / "big.txt").write_text("words " * 1000)
    found = parse(folder / "big.txt", "big.txt")
    assert isinstance(found, Unreadable)
    assert "split" in found.reason


def test_a_long_text_is_cut_and_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing_module, "MOST_CHARACTERS", 1000)
    (folder / "long.txt").write_text("A sentence of words.\n\n" * 200)
    found = parse(folder / "long.txt", "long.txt")
    assert isinstance(found, list)
    assert len(found[0].text) < 1300
    assert "Cut here" in found[0].text


def test_a_long_sheet_is_cut_while_it_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extracted_text, "MOST_CHARACTERS", 500)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Data")
    for number in range(200):
        sheet.append([f"name {number}", number])
    book.save(folder / "s.xlsx")
    found = parse(folder / "s.xlsx", "s.xlsx")
    assert isinstance(found, list)
    assert found[0].text.count("\n") < 60
    assert found[0].text.endswith("characters were kept.]")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.txt", b"\x00\x01\x02\x03binary\x00" * 50, "binary"),
        ("a.md", bytes(range(128, 256)) * 20, "UTF-8"),
        ("a.docx", b"not a zip", "damaged"),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "password"),
        ("a.pdf", b"%PDF-1.4 broken", "save it again"),
        ("a.json", b"{broken", "save it again"),
        ("a.jsonl", b"{broken\n", "line"),
        ("a.xyz", b"text", "format"),
    ],
)
def test_broken_files_say_what_to_do(folder: Path, name: str, content: bytes, says: str) -> None:
    (folder / name).write_bytes(content)
    assert says in refused(folder / name)


def test_a_missing_file_is_a_value(folder: Path) -> None:
    assert "cannot be opened" in refused(folder / "gone.txt")


def test_bad_lines_of_a_good_file_are_reported(folder: Path, corpus: FolderCorpus) -> None:
    (folder / "wire.jsonl").write_text('{"text": "Good."}\n{bad\n')
    report = corpus.refresh()
    assert report.documents == 1
    assert [each.uri for each in report.unreadable] == ["wire.jsonl#line-2"]


def test_text_that_cannot_be_stored_is_mended(folder: Path, corpus: FolderCorpus) -> None:
    (folder / "a.jsonl").write_text(json.dumps({"title": "T\ud800", "text": "Lone \ud800 half."}))
    assert corpus.refresh().documents == 1
    assert corpus.search("lone half")[0].passage.text == "Lone  half."


def test_deep_nesting_does_not_end_the_process(folder: Path) -> None:
    (folder / "deep.html").write_text("<div>" * 20_000 + "inner words" + "</div>" * 20_000)
    (folder / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    found = parse(folder / "deep.html", "deep.html")
    assert isinstance(found, list)
    assert "inner words" in found[0].text
    assert isinstance(parse(folder / "deep.json", "deep.json"), Unreadable)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
@given(
    content=st.binary(max_size=400),
    suffix=st.sampled_from(sorted(SUFFIXES)),
)
def test_no_bytes_whatever_raise(folder: Path, content: bytes, suffix: str) -> None:
    path = folder / f"any{suffix}"
    path.write_bytes(content)
    found = parse(path, path.name)
    assert isinstance(found, Unreadable) or found


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_rights_is_tried_again(folder: Path, corpus: FolderCorpus) -> None:
    path = folder / "secret.txt"
    path.write_text("Words.")
    path.chmod(0)
    assert "rights" in corpus.refresh().unreadable[0].reason
    path.chmod(0o600)
    assert corpus.refresh().documents == 1
