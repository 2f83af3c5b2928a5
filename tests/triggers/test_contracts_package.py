"""The contracts as a package of their own: other repositories install it without the rest."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CALLER = """
import sys
from durable_research_contracts.nexus import ResearchService, StartResearch
from durable_research_contracts.request import ResearchRequest, TASK_QUEUE
from durable_research_contracts.result import ResearchSummary

request = ResearchRequest(question="What does it cost?", corpus="reports")
print(StartResearch(request=request).model_dump_json(exclude_defaults=True), TASK_QUEUE)
assert "summary" in ResearchSummary.model_fields
assert not any(name.split(".")[0] in ("workflows", "activities", "console") for name in sys.modules)
"""


@pytest.mark.slow
def test_a_project_that_has_only_the_contracts_can_name_its_request(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path),
         str(ROOT / "deploy" / "contracts")],
        check=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("durable_research_contracts-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "installed")
    paths = f"{tmp_path / 'installed'}:{sysconfig.get_path('purelib')}"
    told = subprocess.run(
        [sys.executable, "-S", "-c", CALLER],
        env={"PYTHONPATH": paths}, cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert '"question":"What does it cost?"' in told.stdout
