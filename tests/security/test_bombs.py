"""A file that would take all memory costs itself, and neither the worker nor its neighbours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpora import FolderCorpus

DEPTH, WIDTH = 9, 10
"""A thousand million words, in two kilobytes."""


def nested_forms() -> bytes:
    draw = b"/X Do " * WIDTH
    form = b"<</Type/XObject/Subtype/Form/BBox[0 0 595 842]/Resources<<%s>>/Length %d>>"
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R"
        b"/Resources<</XObject<</X 6 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(draw), draw),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for level in range(DEPTH):
        last = level == DEPTH - 1
        does = b"BT /F 12 Tf 9 9 Td (word) Tj ET" if last else draw
        uses = b"/Font<</F 5 0 R>>" if last else b"/XObject<</X %d 0 R>>" % (7 + level)
        parts.append(form % (uses, len(does)) + b"stream\n%s\nendstream" % does)
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (n, part) for n, part in enumerate(parts, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Size %d/Root 1 0 R>>\n%%%%EOF" % (len(parts) + 1)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_pdf_of_forms_within_forms_costs_itself_only(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "bomb.pdf").write_bytes(nested_forms())
    (folder / "good.md").write_text("# Good\n\nThe ferry carried twelve cars.\n")
    report = FolderCorpus(folder, tmp_path / "index").refresh()
    assert report.documents == 1
    assert [each.uri for each in report.unreadable] == ["bomb.pdf"]
    assert "memory" in report.unreadable[0].reason
