"""What the deployment files promise, as far as it can be checked without a container engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DEPLOY = Path(__file__).parent.parent / "deploy"
TOOLS = Path(sys.executable).parent


def test_the_compose_file_follows_the_compose_specification() -> None:
    command = [TOOLS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec",
               DEPLOY / "compose.yaml"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dockerfile_passes_its_linter() -> None:
    command = [TOOLS / "hadolint", DEPLOY / "Dockerfile"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_holds_every_module_the_doors_need_and_runs_without_rights() -> None:
    lines = (DEPLOY / "Dockerfile").read_text("utf-8")
    for module in ("workflows", "activities", "console", "worker.py", "starter.py"):
        assert module in lines
    last_user = [line for line in lines.splitlines() if line.startswith("USER")][-1]
    assert last_user != "USER root"


def test_nothing_in_the_compose_file_listens_beyond_this_machine() -> None:
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    ports = [line for line in text.splitlines() if "ports:" in line]
    assert ports
    assert all("127.0.0.1:" in line for line in ports)
