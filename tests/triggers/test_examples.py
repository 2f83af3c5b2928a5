"""The examples run as their README says: its commands, word for word, with a real worker."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from console.devserver.server import find_binary, run_dev_server

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "deploy" / "examples" / "README.md").read_text("utf-8")
BLOCKS = [block.strip() for block in re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)]

Shell = Callable[[str], str]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Runs a line as a person would, beside a server and `python worker.py`."""
    place = tmp_path_factory.mktemp("examples")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_"))
    }
    tools = f"{Path(sys.executable).parent}{os.pathsep}{find_binary().parent}"
    with run_dev_server(place / "temporal") as running, (place / "worker.log").open("wb") as log:
        env = kept | {
            "PATH": f"{tools}{os.pathsep}{kept.get('PATH', '')}",
            "TEMPORAL_ADDRESS": running.address,
            "RESEARCH_HOME": str(place / "home"),
        }
        worker = subprocess.Popen(
            [sys.executable, "worker.py"], cwd=ROOT, env=env, stdout=log, stderr=log
        )

        def run(line: str) -> str:
            done = subprocess.run(
                ["/bin/sh", "-c", line],
                cwd=ROOT,
                env=env,
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
            )
            # Made by an earlier try on the same server.
            made = "create" in line and "already" in done.stderr.lower()
            assert done.returncode == 0 or made, f"{line}\n{done.stdout}{done.stderr}"
            return done.stdout

        try:
            yield run
        finally:
            worker.terminate()
            worker.wait(60)


def test_the_readme_shows_every_example() -> None:
    shown = "\n".join(BLOCKS)
    for file in (ROOT / "deploy" / "examples").glob("*.py"):
        if file.stem != "asking":
            assert f"deploy.examples.{file.stem} " in shown


@pytest.mark.timeout(300)
def test_child_by_contract_child_by_name_signals_back_and_joining(shell: Shell) -> None:
    child, plain, watched, joined = (shell(line) for line in BLOCKS[0].splitlines())
    assert child.startswith("complete")
    assert plain.startswith("complete")
    heard = [line.partition(":")[0] for line in watched.splitlines()]
    assert heard == ["opened", "planned", "researched", "drafted", "evaluated", "finished"]
    ids = re.findall(r"(?:started|joined) (research-\w+)", joined)
    assert len(ids) == 2
    assert len(set(ids)) == 1
    assert sorted(re.findall(r"\w+ed(?= research-)", joined)) == ["joined", "started"]


@pytest.mark.timeout(300)
def test_over_nexus_from_another_namespace_and_cancelled_from_there(shell: Shell) -> None:
    *_, asked, cancelled = (shell(line) for line in BLOCKS[1].splitlines())
    assert asked.startswith("complete")
    inquiry = re.search(r"(inquiry-\w+) was cancelled, and its research with it", cancelled)
    assert inquiry
    about = json.loads(shell(f"python starter.py status nexus-{inquiry[1]} --json"))
    assert about["state"] == "cancelled"


@pytest.mark.timeout(300)
def test_a_schedule_that_says_what_changed(shell: Shell) -> None:
    changed, created, deleted = (shell(line) for line in BLOCKS[2].splitlines())
    assert "## What changed since" in changed
    assert "late_boats.md" in changed
    found = json.loads(changed[changed.index("\n{") :])["changes"]
    assert found["new_claims"]
    assert [claim["what"] for claim in found["changed_claims"]] == ["figures"]
    assert "first run is at" in created
    assert "is deleted" in deleted
