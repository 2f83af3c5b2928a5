"""The `corpus` commands: added where the documents are, read where they are not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from console.errors import ExitCode
from tests.job.conftest import documents

ROOT = Path(__file__).parents[3]
_FOREIGN = ("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_")

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs a command in a folder of its own; returns its code and what it printed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}

    def run(*arguments: str, **more: str) -> tuple[int, str, str]:
        ended = subprocess.run(
            [sys.executable, str(ROOT / "starter.py"), *arguments],
            cwd=tmp_path,
            env=env | {"RESEARCH_HOME": str(tmp_path / "home")} | more,
            capture_output=True,
            text=True,
            check=False,
            timeout=110,
        )
        return ended.returncode, ended.stdout, ended.stderr

    return run


def fields(printed: str) -> Any:
    return json.loads(printed.strip().splitlines()[-1] if "\n{" in printed else printed)


@pytest.mark.timeout(300)
def test_a_corpus_is_added_read_by_a_job_refreshed_and_removed(
    command: Command, tmp_path: Path
) -> None:
    folder = documents(tmp_path / "docs")
    label = "energy/power*=power"
    code, printed, _ = command("corpus", "add", "harbour", "docs", "--label", label, "--json")
    added = fields(printed)
    assert (code, added["documents"], added["files"]) == (0, 4, 4)

    (folder / "energy/maintenance.txt").unlink()
    code, printed, _ = command("corpus", "refresh", "harbour", "--json")
    refreshed = fields(printed)
    assert (code, refreshed["documents"]) == (0, 3)
    assert refreshed["version"] != added["version"]
    assert refreshed["rules"] == {"energy/power*": ["power"]}

    shutil.rmtree(folder)
    question = "How many passengers did the harbour line carry?"
    code, printed, said = command("run", question, "--corpus", "harbour", "--effort", "quick")
    assert code == 0, said
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["corpus"]["name"] == "harbour"
    assert report["documents"] == 2

    assert command("corpus", "list")[1].startswith("harbour  version ")
    shown = command("corpus", "show", "harbour")[1]
    assert "energy/power_supply.md  [power]" in shown
    assert [f["path"] for f in fields(command("corpus", "show", "harbour", "--json")[1])["listing"]]
    assert command("corpus", "remove", "harbour")[0] == 0
    assert "No corpora" in command("corpus", "list")[1]


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
def test_what_cannot_be_is_refused_with_a_remedy(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    documents(tmp_path / "docs")
    code, _, printed = command("corpus", *arguments)
    assert code == ExitCode.BAD_INPUT
    assert said in printed
    assert "Traceback" not in printed


def test_too_many_files_are_refused_before_they_are_read(command: Command, tmp_path: Path) -> None:
    documents(tmp_path / "docs")
    code, _, printed = command("run", "q?", "--corpus", "docs", RESEARCH_CORPUS_FILES="2")
    assert code == ExitCode.BAD_INPUT
    assert "RESEARCH_CORPUS_FILES" in printed
