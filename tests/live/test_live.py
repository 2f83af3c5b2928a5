"""`make test-live` says what works, and skips where there is nothing to try."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.simulator.jobs import ROOT, run_endpoint

_FOREIGN = ("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_", "LIVE_")


def try_endpoint(folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return subprocess.run(
        [sys.executable, "-m", "tests.live"],
        cwd=ROOT, env=kept | {"TMPDIR": str(folder)} | env, text=True, capture_output=True,
        timeout=110, check=False,
    )  # fmt: skip


def test_without_a_key_it_says_what_to_set_and_is_skipped(tmp_path: Path) -> None:
    done = try_endpoint(tmp_path)
    assert done.returncode == 0
    assert "Skipped: set ANTHROPIC_API_KEY" in done.stdout


def test_it_prints_what_works_and_what_does_not(tmp_path: Path) -> None:
    with run_endpoint("--brain", "echo") as endpoint:
        done = try_endpoint(tmp_path, ANTHROPIC_BASE_URL=endpoint.base, ANTHROPIC_API_KEY="any")
    said = {line.split("  ")[1].strip(): line for line in done.stdout.splitlines() if "  " in line}
    assert "works: stop reason end_turn" in said["answer"]
    assert "works: thinking block" in said["thinking"]
    assert "read from the cache" in said["caching"]
    # This model repeats what it is told: it calls no tool, and cannot do a job.
    assert "does not work: the model called no tool" in said["tools"]
    assert "does not follow the schema" in said["structured output"]
    assert "does not work" in said["web"]
    assert done.returncode == 1


def test_an_endpoint_that_answers_nothing_is_an_error(tmp_path: Path) -> None:
    done = try_endpoint(tmp_path, ANTHROPIC_BASE_URL="http://127.0.0.1:9", ANTHROPIC_API_KEY="any")
    assert done.returncode == 1
    assert "could not be reached" in done.stdout
