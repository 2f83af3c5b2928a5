"""Files made with the real libraries, in a folder of their own for each test."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as raw
import pytest

from tests.corpora import FolderCorpus

Placed = tuple[float, float, float, str]  # x, y, size, text
MakePdf = Callable[[str, Sequence[Sequence[Placed]]], Path]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "documents"
    place.mkdir()
    return place


@pytest.fixture
def corpus(folder: Path, tmp_path: Path) -> FolderCorpus:
    return FolderCorpus(folder, tmp_path / "index")


@pytest.fixture
def make_pdf(folder: Path) -> MakePdf:
    """Writes a PDF with each text at its place on its page."""

    def make(name: str, pages: Sequence[Sequence[Placed]]) -> Path:
        document = pdfium.PdfDocument.new()
        font = raw.FPDFText_LoadStandardFont(document, b"Helvetica")
        for texts in pages:
            page = document.new_page(595, 842)
            for x, y, size, text in texts:
                placed = raw.FPDFPageObj_CreateTextObj(document, font, ctypes.c_float(size))
                encoded = (text + "\0").encode("utf-16-le")
                units = (ctypes.c_ushort * (len(encoded) // 2)).from_buffer_copy(encoded)
                raw.FPDFText_SetText(placed, units)
                raw.FPDFPageObj_Transform(placed, 1, 0, 0, 1, x, y)
                raw.FPDFPage_InsertObject(page, placed)
            page.gen_content()
        path = folder / name
        document.save(path)
        document.close()
        return path

    return make
