"""`ask` and `diff` as a person types them: real processes, the embedded server, no key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.job.conftest import documents

ROOT = Path(__file__).parents[3]
_FOREIGN = ("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_")


def starter(folder: Path, *arguments: str) -> tuple[int, str]:
    kept = {name: v for name, v in os.environ.items() if not name.startswith(_FOREIGN)}
    done = subprocess.run(
        [sys.executable, str(ROOT / "starter.py"), *arguments],
        cwd=folder, env=kept | {"RESEARCH_HOME": "state"}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout or done.stderr


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_report_is_asked_commissioned_and_compared(tmp_path: Path) -> None:
    documents(tmp_path / "docs")
    opera = "# The opera house\n\nThe opera house has 640 seats. The opera house opened in 1911.\n"
    (tmp_path / "docs" / "opera.md").write_text(opera, "utf-8")
    question = "How many passengers did the harbour line carry?"
    corpus = ("--corpus", "docs", "--effort", "quick")
    assert starter(tmp_path, "run", question, *corpus, "--id", "x1")[0] == 0

    asked = "How many people does the operator employ on the harbour line?"
    code, said = starter(tmp_path, "ask", "x1", asked)
    assert code == 0
    assert said.startswith("The operator employs 86 people on the harbour line [1].")
    assert "harbour/annual_report.md" in said

    missing = "How many seats does the opera house have?"
    code, said = starter(tmp_path, "ask", "x1", "Who is the mayor?", "--json")
    assert code == 4
    assert json.loads(said)["status"] == "not_held"
    code, said = starter(tmp_path, "ask", "x1", missing, "--commission")
    assert code == 0
    assert "version 2 of its report" in said

    code, said = starter(tmp_path, "diff", "x1@1", "x1@2", "--json")
    assert code == 0
    assert any("640 seats" in claim["text"] for claim in json.loads(said)["new_claims"])
    assert starter(tmp_path, "result", "x1@1", "--out", "old")[0] == 0
    assert json.loads((tmp_path / "old" / "report.json").read_text("utf-8"))["version"] == 1
    code, said = starter(tmp_path, "diff", "x1@1", "x1@7")
    assert code == 2
    assert "there is x1@1, x1@2" in said
