"""The contracts as a package of their own: another repository has them and nothing else of ours.

The commands of the foreign project's README are run word for word, the second team's in an
environment of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import venv
from pathlib import Path

import pytest

from tests.triggers.shell import ROOT, research_team

PROJECT = ROOT / "deploy" / "examples" / "foreign_project"
README = (PROJECT / "README.md").read_text("utf-8")
RESEARCH_TEAM, OTHER_TEAM = (
    block.strip().splitlines() for block in re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)
)
IMPORTS = """
import importlib.util
import newsroom, workflows
assert "site-packages" in workflows.__file__
assert importlib.util.find_spec("activities") is importlib.util.find_spec("console") is None
assert importlib.util.find_spec("workflows.coordinator") is None
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_foreign_project_asks_as_a_child_workflow_and_over_nexus(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    # What pip builds beside the sources stays out of the checkout.
    for name in ("deploy/contracts", "workflows/contracts", "deploy/examples/foreign_project"):
        shutil.copytree(ROOT / name, elsewhere / name)
    venv.create(tmp_path / "venv", with_pip=True)
    theirs = f"{tmp_path / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    with research_team(tmp_path / "research") as shell:
        shell(RESEARCH_TEAM[0], PWD=str(elsewhere))
        for line in RESEARCH_TEAM[1:]:
            shell(line)
        shell(OTHER_TEAM[0], PWD=str(elsewhere), PATH=theirs)
        (tmp_path / "imports.py").write_text(IMPORTS)
        shell(f"python {tmp_path / 'imports.py'}", PWD=str(tmp_path), PATH=theirs)
        for line in OTHER_TEAM[1:]:
            report = shell(line, PWD=str(tmp_path), PATH=theirs)
            assert report.startswith("# "), line
            assert "455,000 passengers" in report
            assert "## Sources" in report
