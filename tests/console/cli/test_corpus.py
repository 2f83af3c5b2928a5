"""The `corpus` commands: added where the documents are, read where they are not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from console.errors import ExitCode
from tests.console.conftest import Place, call, forget_settings
from tests.job.conftest import documents


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with documents, and no server: what is tested here ends before one is needed."""
    forget_settings(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return documents(tmp_path / "docs")


def fields(printed: str) -> Any:
    return json.loads(printed.strip().splitlines()[-1] if "\n{" in printed else printed)


def test_a_corpus_is_added_read_by_a_job_refreshed_and_removed(researching: Place) -> None:
    folder = documents(researching.folder / "harbour documents")
    label = "energy/power*=power"
    code, printed, _ = call("corpus", "add", "harbour", folder.name, "--label", label, "--json")
    added = fields(printed)
    assert (code, added["documents"], added["files"]) == (0, 4, 4)

    (folder / "energy/maintenance.txt").unlink()
    code, printed, _ = call("corpus", "refresh", "harbour", "--json")
    refreshed = fields(printed)
    assert (code, refreshed["documents"]) == (0, 3)
    assert refreshed["version"] != added["version"]
    assert refreshed["rules"] == {"energy/power*": ["power"]}

    shutil.rmtree(folder)
    question = "How many passengers did the harbour line carry?"
    code, printed, said = call("run", question, "--corpus", "harbour", "--effort", "quick")
    assert code == 0, said
    report = json.loads((researching.out / "report.json").read_text())
    assert report["corpus"]["name"] == "harbour"
    assert report["documents"] == 2

    assert "harbour  version " in call("corpus", "list")[1]
    shown = call("corpus", "show", "harbour")[1]
    assert "energy/power_supply.md  [power]" in shown
    assert [f["path"] for f in fields(call("corpus", "show", "harbour", "--json")[1])["listing"]]
    assert call("corpus", "remove", "harbour")[0] == 0
    assert "harbour  version " not in call("corpus", "list")[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "a/b", "docs"), "letters, digits"),
        (("add", "a", "nowhere"), "no folder"),
        (("add", "a", "docs", "--label", "x"), "PATTERN=LABEL"),
        (("refresh", "a"), "corpus add"),
        (("show", "a"), "corpus add"),
        (("remove", "a"), "corpus add"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_is_refused_with_a_remedy(arguments: tuple[str, ...], said: str) -> None:
    code, _, printed = call("corpus", *arguments)
    assert code == ExitCode.BAD_INPUT
    assert said in printed


@pytest.mark.usefixtures("folder")
def test_too_many_files_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESEARCH_CORPUS_FILES", "2")
    code, _, printed = call("run", "q?", "--corpus", "docs")
    assert code == ExitCode.BAD_INPUT
    assert "RESEARCH_CORPUS_FILES" in printed
