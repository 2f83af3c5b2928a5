"""A job through LiteLLM's proxy, a gateway many have in front of their models.

LITELLM=/path/to/bin/litellm pytest -m slow tests/simulator/test_litellm.py
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from console.devserver import ports
from tests.simulator.jobs import Endpoint, run_endpoint, starter, write_documents
from workflows.config.model_catalog import LARGE, MEDIUM, SMALL

PROGRAM = os.environ.get("LITELLM", "")
PATIENCE = 120.0
QUESTION = "What is known about the harbour line: its passengers and its fares?"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not PROGRAM, reason="set LITELLM to the litellm program to run this"),
]


@contextmanager
def gateway(folder: Path, behind: Endpoint, key: str) -> Iterator[str]:
    """The proxy with every model of ours routed to the simulator; `key` opens it."""
    port = ports.choose(1)[0]
    log = folder / "litellm.log"
    routes = [
        {
            "model_name": name,
            "litellm_params": {
                "model": f"anthropic/{name}",
                "api_base": behind.base,
                "api_key": "sk-ant-test-behind-the-gateway",
            },
        }
        for name in (LARGE, MEDIUM, SMALL)
    ]
    config = folder / "litellm.yaml"
    # JSON is YAML, too.
    config.write_text(json.dumps({"model_list": routes, "litellm_settings": {"telemetry": False}}))
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "DO_NOT_TRACK": "1", "NO_DOCS": "True"}
    own = {"LITELLM_MASTER_KEY": key}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [PROGRAM, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)],
            stdout=output, stderr=subprocess.STDOUT, cwd=folder, env=os.environ | quiet | own,
        )  # fmt: skip
    with process:
        try:
            yield _ready(f"http://127.0.0.1:{port}", process, log)
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def _ready(base: str, process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx2.get(f"{base}/health/liveliness").status_code == 200:
                return base
        except httpx2.TransportError:
            time.sleep(0.2)
    raise AssertionError(f"LiteLLM did not start: {log.read_text('utf-8', 'replace')[-2000:]}")


def test_a_job_through_the_proxy_ends_with_a_cited_report(tmp_path: Path) -> None:
    write_documents(tmp_path / "documents")
    key = f"sk-{secrets.token_hex(32)}"
    with run_endpoint() as behind, gateway(tmp_path, behind, key) as base:
        run = starter(
            tmp_path,
            {"ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": key},
            "run", QUESTION, "--corpus", "documents", "--effort", "quick",
            seconds=240,
        )  # fmt: skip
        records = behind.records()
    assert run.returncode == 0, run.stdout + run.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert report["claims"]
    assert "[1]" in report["report_markdown"]
    answered = [record for record in records if record["answered"]]
    assert report["telemetry"]["turns"] == len(answered)
    assert {record["model"] for record in answered} == {LARGE, MEDIUM}
