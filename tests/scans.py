"""Pictures of pages, and a stand-in for RapidOCR where that is not installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 1654, 2339
_PACKAGE = """
class RapidOCR:
    def __init__(self, params): pass

    def __call__(self, image):
        self.txts = {texts!r}
        tops = range(100, 100 + 50 * len(self.txts), 50)
        self.boxes = [
            [[100, y], [100 + 15 * len(t), y], [100 + 15 * len(t), y + 40], [100, y + 40]]
            for t, y in zip(self.txts, tops)
        ]
        {then}
        return self
"""


def write_scan(path: Path, lines: Sequence[str]) -> None:
    """A page of paper as a picture: PDF without text, PNG or TIFF, by the suffix."""
    page = Image.new("L", (WIDTH, HEIGHT), "white")
    for number, line in enumerate(lines):
        place = (150, 200 + 60 * number)
        ImageDraw.Draw(page).text(place, line, font=ImageFont.load_default(36), fill=0)
    page.save(path, resolution=200)


def write_engine(folder: Path, texts: Sequence[str], then: str = "pass") -> None:
    """Packages in the place of the real ones, which find these texts in every picture."""
    (folder / "onnxruntime.py").write_text("")
    (folder / "rapidocr.py").write_text(_PACKAGE.format(texts=list(texts), then=then))
