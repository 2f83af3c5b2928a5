"""The documents hold: the files they name exist, their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "deploy").glob("*.md")),
]
TOP = ("workflows", "activities", "console", "tests", "benchmarks", "deploy", "docs")
_NAMED = re.compile(rf"`((?:{'|'.join(TOP)})/[\w./-]*)`")
_SYMBOLS = re.compile(r"`([\w/]+\.py)`\s+\((`\w[\w.]*`(?:, `\w[\w.]*`)*)\)")
_LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([\w-]+))?\)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_is_named_exists(document: Path) -> None:
    named = {path for path in _NAMED.findall(document.read_text("utf-8")) if "NAME" not in path}
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_function_that_is_named_beside_its_file_is_in_it(document: Path) -> None:
    for path, names in _SYMBOLS.findall(document.read_text("utf-8")):
        source = (ROOT / path).read_text("utf-8")
        for name in re.findall(r"`([\w.]+)`", names):
            last = name.rpartition(".")[2]
            assert re.search(rf"^\s*(?:(?:async )?def|class) {last}\b", source, re.M), (path, name)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    for path, anchor in _LINK.findall(document.read_text("utf-8")):
        target = document.parent / path if path else document
        assert target.exists(), path
        if anchor:
            assert anchor in _anchors(target), f"{path}#{anchor}"


def test_the_readme_can_be_read_in_minutes() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


def _anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in headings}
