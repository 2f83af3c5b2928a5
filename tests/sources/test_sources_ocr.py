"""Scanned pages and images: unreadable with advice, or recognised, marked and kept apart."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image
from temporalio.exceptions import ApplicationError

from activities.sources.corpus_indexes import Corpora
from activities.sources.documents import Document, DocumentMeta
from activities.sources.formats import recognition
from activities.sources.formats.parsing import parse_file
from activities.sources.formats.recognition import TextBox
from activities.sources.index_cache import IndexCache
from activities.storage.corpus_publishing import Limits, publish
from activities.storage.store import Store
from tests.scans import write_engine, write_scan
from tests.sources.conftest import MakePdf
from workflows.config.settings import Settings
from workflows.contracts.state import CorpusReady

WORDS = ("The northern quay was opened in May 2021.", "It cost 2.4 million euros.")


def recognise(_: Image.Image) -> list[TextBox]:
    return [
        TextBox(text, 100, 100 + 50 * n, 100 + 15 * len(text), 140 + 50 * n)
        for n, text in enumerate(WORDS)
    ]


def read_only(path: Path, boxes: list[TextBox] | None = None) -> Document:
    found = recognise if boxes is None else lambda _: boxes
    (document,) = parse_file(path, path.name, recognise=found).documents
    return document


async def index(
    store: Store, place: Path, folder: Path, *, ocr: bool
) -> tuple[CorpusReady, list[DocumentMeta]]:
    cache = IndexCache(store, place)
    corpora = Corpora(store, cache, ocr=ocr)
    try:
        head = await publish(store, "c", str(folder), limits=Limits(images=ocr))
        ready = await corpora.make_ready("c", head.version)
        assert ready.ref is not None
        return ready, list((await cache.open(ready.ref)).documents())
    finally:
        await corpora.close()
        cache.close()


def test_recognition_is_off_unless_set() -> None:
    assert not Settings.read({}).ocr
    assert Settings.read({"RESEARCH_OCR": "1"}).ocr


@pytest.mark.parametrize("name", ["a.pdf", "a.png", "a.tif", "a.jpg"])
def test_a_picture_is_unreadable_with_advice_or_recognised_and_marked(
    folder: Path, name: str
) -> None:
    write_scan(folder / name, ())
    (refused,) = parse_file(folder / name, name).unreadable
    assert "RESEARCH_OCR=1" in refused.reason
    document = read_only(folder / name)
    assert document.recognised
    assert document.text.split() == " ".join(WORDS).split()


def test_a_page_with_text_is_not_recognised(make_pdf: MakePdf) -> None:
    document = read_only(make_pdf("t.pdf", [[(72, 700, 11, "The ferry sails at six.")]]))
    assert document.text == "The ferry sails at six."
    assert not document.recognised


def test_a_picture_without_words_is_unreadable(folder: Path) -> None:
    write_scan(folder / "a.png", ())
    (refused,) = parse_file(folder / "a.png", "a.png", recognise=lambda _: []).unreadable
    assert "none is recognised" in refused.reason


def test_every_picture_of_a_file_is_read_up_to_a_limit(folder: Path) -> None:
    pages = [Image.new("1", (40, 60), "white") for _ in range(102)]
    pages[0].save(folder / "a.tif", save_all=True, append_images=pages[1:])
    seen: list[Image.Image] = []

    def count(image: Image.Image) -> list[TextBox]:
        seen.append(image)
        return [TextBox(f"Ship {len(seen)} has a name of its own.", 5, 20, 35, 24)]

    (document,) = parse_file(folder / "a.tif", "a.tif", recognise=count).documents
    assert len(seen) == 100
    assert "Ship 100 has" in document.text
    assert document.text.endswith("first 100 of 102 images.]")


def test_large_and_transparent_pictures_are_made_fit_for_recognition(folder: Path) -> None:
    Image.new("RGBA", (2600, 1300), (0, 0, 0, 0)).save(folder / "a.png")
    seen: list[Image.Image] = []

    def see(image: Image.Image) -> list[TextBox]:
        seen.append(image)
        return []

    parse_file(folder / "a.png", "a.png", recognise=see)
    assert max(seen[0].size) <= 2400
    assert seen[0].getextrema() == (255, 255)


def test_columns_are_read_one_after_the_other_and_rows_of_a_table_together(folder: Path) -> None:
    write_scan(folder / "a.png", ())
    columns = [
        TextBox(f"{side} text of line {n} goes on", left, 100 + 50 * n, left + 600, 140 + 50 * n)
        for n in range(4)
        for side, left in (("Left", 100), ("Right", 900))
    ]
    rows = [("Site", "Power"), ("North quay", "4.4 MW"), ("South quay", "2.1 MW")]
    cells = [
        TextBox(text, 100 + 500 * x, 900 + 60 * y, 300 + 500 * x, 940 + 60 * y)
        for y, row in enumerate([(*row, "open") for row in rows])
        for x, text in enumerate(row)
    ]
    text = read_only(folder / "a.png", [*columns, *cells]).text
    assert text.index("Left text of line 3") < text.index("Right text of line 0")
    assert "Site: North quay; Power: 4.4 MW" in text


async def test_what_was_recognised_is_not_shared_with_workers_that_do_not_recognise(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_engine(tmp_path, WORDS)
    monkeypatch.syspath_prepend(str(tmp_path))
    write_scan(folder / "scan.pdf", ())
    write_scan(folder / "photo.png", ())
    (folder / "note.md").write_text("# Note\n\nThe line has six boats.")
    store = Store.open(str(tmp_path / "store"))
    before, documents = await index(store, tmp_path / "a", folder, ocr=False)
    assert [document.uri for document in documents] == ["note.md"]
    assert [each.uri for each in before.unreadable] == ["scan.pdf"]
    after, documents = await index(store, tmp_path / "a", folder, ocr=True)
    # Two pictures with the same words are one document.
    note, scan = sorted(documents, key=lambda document: document.recognised)
    assert (note.uri, note.recognised, scan.recognised) == ("note.md", False, True)
    assert {scan.uri, *scan.also_at} == {"scan.pdf", "photo.png"}
    assert not after.unreadable
    again, _ = await index(store, tmp_path / "a", folder, ocr=False)
    assert again == before


async def test_without_the_package_the_job_is_told_what_to_install(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "_PACKAGES", ("no_such_package",))
    write_scan(folder / "scan.pdf", ())
    store = Store.open(str(tmp_path / "store"))
    with pytest.raises(ApplicationError, match=r"durable-research\[ocr\]") as raised:
        await index(store, tmp_path / "a", folder, ocr=True)
    assert raised.value.type == "bad_input"
    assert raised.value.non_retryable


async def test_recognition_that_takes_all_memory_makes_one_file_unreadable(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_engine(tmp_path, WORDS, then="bytearray(3 << 30)")
    monkeypatch.syspath_prepend(str(tmp_path))
    write_scan(folder / "scan.pdf", ())
    (folder / "note.md").write_text("# Note\n\nThe line has six boats.")
    ready, documents = await index(Store.open(str(tmp_path / "s")), tmp_path, folder, ocr=True)
    assert [document.uri for document in documents] == ["note.md"]
    assert "MemoryError" in ready.unreadable[0].reason


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("rapidocr"), reason='install "durable-research[ocr]"')
@pytest.mark.parametrize("name", ["a.pdf", "a.png", "a.tif"])
def test_the_real_package_reads_a_page_with_the_models_it_brings(folder: Path, name: str) -> None:
    models = Path(str(importlib.import_module("rapidocr").__file__)).parent / "models"
    before = sorted(models.iterdir())
    write_scan(folder / name, WORDS)
    (document,) = parse_file(folder / name, name, recognise=recognition.recognise).documents
    assert " ".join(document.text.split()) == " ".join(WORDS)
    assert document.recognised
    assert sorted(models.iterdir()) == before
