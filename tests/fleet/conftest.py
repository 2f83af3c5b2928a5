"""A fair Temporal server, a provider that counts, and workers: all real processes on loopback."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from temporalio.client import Client, WorkflowHandle

from console.client.jobs import fetch_report
from console.devserver import ports, server
from console.runtime.connection import connect
from workflows.config.settings import EMBEDDED, Settings
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.contracts.result import ResearchResult, ResearchSummary
from workflows.coordinator import ResearchWorkflow

JsonObject = dict[str, Any]
Handle = WorkflowHandle[ResearchWorkflow, ResearchSummary]

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "How many passengers did the harbour line carry in 2024?"
DOCUMENT = """# Harbour lines: annual report 2024

Date: 2025-03-01

The harbour line carried 412,000 passengers in 2024. Ticket sales are counted at the gates.
"""
FAIR = (
    "matching.useNewMatcher=true",
    "matching.enableFairness=true",
    # A queue in several parts is fair and in order within each part only.
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
)
KEY = "sk-ant-of-the-fleet"
_FOREIGN = ("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_")
_ids = itertools.count()


async def eventually(holds: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"in vain waited for: {what}"
        await asyncio.sleep(0.05)


@dataclass(frozen=True)
class Provider:
    """The simulator in a process of its own; every answer takes a while."""

    base: str

    @property
    def turns(self) -> list[JsonObject]:
        """All requests for a message so far, also those that are being answered."""
        lines = httpx2.get(f"{self.base}/_log", timeout=30).text.splitlines()
        records = [json.loads(line) for line in lines]
        return [record for record in records if record["path"] == "/v1/messages"]

    def strike(self, **fault: Any) -> None:
        assert httpx2.post(f"{self.base}/_faults", json=fault).status_code == 200


@dataclass
class Site:
    """Workers that share a store; each has indexes of its own."""

    client: Client
    address: str
    folder: Path
    logs: list[Path] = field(default_factory=list)

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def signs(self) -> int:
        return len(list((self.store / "fleet" / "members").glob("*.json")))

    def env(self, provider: Provider | None, more: Mapping[str, str]) -> dict[str, str]:
        kept = {name: v for name, v in os.environ.items() if not name.startswith(_FOREIGN)}
        model = {"ANTHROPIC_BASE_URL": provider.base, "ANTHROPIC_API_KEY": KEY} if provider else {}
        return kept | model | {
            "TEMPORAL_ADDRESS": self.address,
            "TEMPORAL_CONFIG_FILE": os.devnull,
            "RESEARCH_HOME": str(self.folder / f"home-{len(self.logs)}"),
            "RESEARCH_STORE": str(self.store),
            "RESEARCH_HEARTBEAT_SECONDS": "3",
            **more,
        }  # fmt: skip

    @contextmanager
    def worker(
        self, provider: Provider | None = None, **env: str
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A worker, killed at the end if it still runs."""
        log = self.folder / f"worker-{len(self.logs)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, str(ROOT / "worker.py")],
                env=self.env(provider, env), cwd=ROOT, stdout=output, stderr=output,
            )  # fmt: skip
        self.logs.append(log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    async def start(self, question: str = QUESTION, **request: Any) -> Handle:
        """A small job: one facet, no refinement."""
        asked = {"corpus": str(self.folder / "documents"), "model": "claude", "effort": "quick",
                 "max_facets": 1, "max_passes": 0, "max_claims": 1, **request}  # fmt: skip
        return await self.client.start_workflow(
            ResearchWorkflow.run,
            args=[ResearchRequest.model_validate({"question": question, **asked}), None],
            task_timeout=EMBEDDED.task,
            id=f"fleet-{next(_ids)}-{os.getpid()}",
            task_queue=TASK_QUEUE,
        )

    async def results(self, jobs: Sequence[Handle], seconds: float) -> list[ResearchResult]:
        """All of them; what the workers said, where they do not come."""
        try:
            async with asyncio.timeout(seconds):
                return list(await asyncio.gather(*(fetch_report(job) for job in jobs)))
        except TimeoutError:
            said = [log.read_text("utf-8", "replace")[-1500:] for log in self.logs]
            raise AssertionError("\n".join(["jobs do not finish", *said])) from None


@contextmanager
def provider(latency: float) -> Iterator[Provider]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.simulator.server", "--port", "0",
         "--latency", str(latency), "--key", KEY],
        stdout=subprocess.PIPE, cwd=ROOT, text=True,
    )  # fmt: skip
    assert process.stdout
    with process, process.stdout as said:
        line = said.readline()
        try:
            assert line.startswith("listening on "), f"the simulator did not start: {line!r}"
            yield Provider(f"http://127.0.0.1:{line.split()[-1]}")
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def temporal() -> Iterator[str]:
    """In memory, fair between tenants."""
    port, *_ = ports.choose(1)
    command = [str(server.find_binary()), "server", "start-dev", "--ip", "127.0.0.1", "--headless",
               "--port", str(port), "--log-level", "error"]  # fmt: skip
    for name in server.SEARCH_ATTRIBUTES:
        command += ["--search-attribute", f"{name}=Keyword"]
    for setting in FAIR:
        command += ["--dynamic-config-value", setting]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()


@pytest.fixture
async def site(temporal: str, tmp_path: Path) -> Site:
    for name in ("documents", "store"):
        (tmp_path / name).mkdir()
    (tmp_path / "documents" / "report.md").write_text(DOCUMENT, "utf-8")
    settings = Settings(store=str(tmp_path / "store"))
    return Site(await connect(settings, temporal, patience=60), temporal, tmp_path)
