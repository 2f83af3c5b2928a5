"""The examples run as their README says: its commands, word for word, with a real worker."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.triggers.shell import Shell, research_team

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "deploy" / "examples" / "README.md").read_text("utf-8")
BLOCKS = [block.strip() for block in re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with research_team(tmp_path_factory.mktemp("examples")) as run:
        yield run


def test_the_readme_shows_every_example() -> None:
    shown = "\n".join(BLOCKS)
    for file in (ROOT / "deploy" / "examples").glob("*.py"):
        if file.stem != "asking":
            assert f"deploy.examples.{file.stem} " in shown


@pytest.mark.timeout(300)
def test_child_by_name_signals_back_and_joining(shell: Shell) -> None:
    plain, watched, joined = (shell(line) for line in BLOCKS[0].splitlines())
    assert plain.startswith("complete")
    heard = [line.partition(":")[0] for line in watched.splitlines()]
    assert heard == ["opened", "planned", "researched", "drafted", "evaluated", "finished"]
    ids = re.findall(r"(?:started|joined) (research-\w+)", joined)
    assert len(ids) == 2
    assert len(set(ids)) == 1
    assert sorted(re.findall(r"\w+ed(?= research-)", joined)) == ["joined", "started"]


@pytest.mark.timeout(300)
def test_a_schedule_that_says_what_changed(shell: Shell) -> None:
    changed, created, deleted = (shell(line) for line in BLOCKS[1].splitlines())
    assert "## What changed since" in changed
    assert "late_boats.md" in changed
    found = json.loads(changed[changed.index("\n{") :])["changes"]
    assert found["new_claims"]
    assert [claim["what"] for claim in found["changed_claims"]] == ["figures"]
    assert "first run is at" in created
    assert "is deleted" in deleted
