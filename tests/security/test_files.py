"""Documents built to reach other files, to swell, or to be taken for something else."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest

from activities.agent.toolbox import Toolbox
from activities.sources.corpus_search import Corpus
from activities.sources.documents import Unreadable
from activities.sources.formats.parsing import parse
from activities.storage.store import Store
from tests.corpora import index_folder
from workflows.config.roles import RESEARCHER

SECRET = "the vault opens with 7193"
Change = Callable[[bytes], bytes]
LAUGHS = b'<!ENTITY a0 "ha ha ha ha">' + b"".join(
    b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 10)
)


def made(folder: Path, kind: str) -> Path:
    path = folder / f"plain.{kind}"
    if kind == "docx":
        word = docx.Document()
        word.add_paragraph("MARK")
        word.save(str(path))
    elif kind == "pptx":
        show = pptx.Presentation()
        slide = show.slides.add_slide(show.slide_layouts[5])
        slide.shapes.title.text = "MARK"
        show.save(str(path))
    else:
        book = openpyxl.Workbook()
        book.create_sheet(index=0)["A1"] = "MARK"
        book.save(path)
    return path


def rewritten(path: Path, name: str, change: Change) -> Path:
    """The archive with each part that holds the mark changed."""
    out = path.with_name(name)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        found = 0
        for part in old.infolist():
            data = old.read(part)
            if b"MARK" in data:
                data, found = change(data), found + 1
            new.writestr(part.filename, data)
    assert found
    return out


def declaring(entities: bytes, used: bytes) -> Change:
    def change(data: bytes) -> bytes:
        if data.startswith(b"<?xml"):
            data = data.partition(b"?>")[2]
        return b"<!DOCTYPE x [" + entities + b"]>" + data.replace(b"MARK", b"Words " + used)

    return change


def text_of(path: Path) -> str:
    found = parse(path, path.name)
    return "" if isinstance(found, Unreadable) else "".join(each.text for each in found)


@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx"])
def test_an_office_file_cannot_draw_in_other_files(tmp_path: Path, kind: str) -> None:
    (tmp_path / "secret.txt").write_text(SECRET)
    outside = f'<!ENTITY e SYSTEM "file://{tmp_path}/secret.txt">'.encode()
    path = rewritten(made(tmp_path, kind), f"drawing.{kind}", declaring(outside, b"&e;"))
    assert SECRET not in text_of(path)


@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx"])
def test_a_part_changed_by_these_tests_is_still_read(tmp_path: Path, kind: str) -> None:
    """Else the two tests beside this one would pass for nothing."""
    path = rewritten(made(tmp_path, kind), f"same.{kind}", lambda d: d.replace(b"MARK", b"Words"))
    assert "Words" in text_of(path)


@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx"])
def test_entities_within_entities_do_not_swell(tmp_path: Path, kind: str) -> None:
    path = rewritten(made(tmp_path, kind), f"laughing.{kind}", declaring(LAUGHS, b"&a9;"))
    assert len(text_of(path)) < 100_000


def test_an_archive_that_lies_about_its_size_is_not_unpacked_beyond_it(tmp_path: Path) -> None:
    path = rewritten(made(tmp_path, "docx"), "liar.docx", lambda d: d + b" " * 30_000_000)
    with zipfile.ZipFile(path) as archive:
        [size] = [p.file_size for p in archive.infolist() if p.file_size > 30_000_000]
    told = struct.pack("<I", size)
    assert told in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(told, struct.pack("<I", 1000)))
    found = parse(path, path.name)
    assert isinstance(found, Unreadable), "what it says and what it holds differ"


def pdf(content: bytes) -> bytes:
    packed = zlib.compress(content, 9)
    parts = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R"
        b"/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(packed), packed),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (n, part) for n, part in enumerate(parts, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Size 6/Root 1 0 R>>\n%%EOF"


def test_a_pdf_page_that_unpacks_to_a_thousand_times_its_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "swollen.pdf"
    shown = b"BT /F 12 Tf 9 700 Td (Words that are shown.) Tj ET"
    path.write_bytes(pdf(b" " * 40_000_000 + shown))
    assert path.stat().st_size < 100_000
    assert "Words that are shown." in text_of(path)


@pytest.fixture
def beside_a_secret(tmp_path: Path) -> Corpus:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nWords of the folder.\n")
    (tmp_path / "secret.txt").write_text(SECRET)
    return index_folder(folder, tmp_path / "index")


async def test_a_model_cannot_read_a_file_by_its_path(
    beside_a_secret: Corpus, tmp_path: Path
) -> None:
    tools = Toolbox(RESEARCHER, beside_a_secret, Store.open(str(tmp_path / "store")), 3)
    for name in ("../secret.txt", f"{tmp_path}/secret.txt", "a.md/../../secret.txt"):
        said = await tools.run("read", {"source_id": name}, 0)
        assert said.get("is_error"), name
        assert SECRET not in str(said)
