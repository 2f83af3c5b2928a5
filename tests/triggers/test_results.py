"""A report of normal size is read by those who have neither this project's code nor its store."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from console.client.jobs import fetch_report, get_handle
from console.runtime.connection import connect
from console.runtime.data_converter import THRESHOLD
from deploy.examples.plain_json import Clipping
from tests.job.conftest import Office, Wire
from tests.triggers.conftest import team, unique
from tests.triggers.strangers import Inquiry
from workflows.config.settings import Settings
from workflows.contracts.request import TASK_QUEUE
from workflows.contracts.result import ResearchResult

ROOT = Path(__file__).resolve().parents[2]
TYPESCRIPT = ROOT / "tests" / "typescript"
QUESTION = json.loads((ROOT / "tests" / "sample_truth.json").read_text("utf-8"))["question"]
REQUEST = {"question": QUESTION, "corpus": str(ROOT / "sample_corpus"), "effort": "quick"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample documents are read and indexed once for all tests."""
    return tmp_path_factory.mktemp("results") / "home"


@pytest.fixture
async def office(temporal: str, home: Path) -> Office:
    settings = Settings.read({"RESEARCH_HOME": str(home), "RESEARCH_SANDBOX": "0"})
    return Office(await connect(settings, temporal), settings, ROOT / "sample_corpus")


async def read_pages(handle: Any, pages: int) -> Any:
    parts = [await handle.query("report_page", page) for page in range(pages)]
    return json.loads("".join(part["text"] for part in parts))


def check_size(report: ResearchResult) -> None:
    assert len(report.model_dump_json()) > THRESHOLD, "it would have gone to the store"


async def test_a_plain_client_reads_the_result_and_the_report(
    office: Office, temporal: str
) -> None:
    plain = await Client.connect(temporal)
    async with office.working(Wire()):
        handle = await plain.start_workflow(
            "ResearchWorkflow", REQUEST, id=unique("plain"), task_queue=TASK_QUEUE
        )
        summary = await handle.result()
        pages = await read_pages(handle, summary["report"]["pages"])
        # The console has the store, and needs no worker.
        stored = await fetch_report(get_handle(office.client, handle.id))
    check_size(stored)
    assert ResearchResult.model_validate(pages) == stored
    assert summary["claims"] == len(stored.claims) > 0
    assert summary["summary"] in stored.report_markdown
    assert "## " not in summary["summary"]


async def test_a_parent_workflow_of_another_team_reads_the_result(
    office: Office, temporal: str
) -> None:
    plain = await Client.connect(temporal)
    async with office.working(Wire()), team(plain, Clipping) as queue:
        told = await asyncio.wait_for(
            plain.execute_workflow(
                Clipping.run,
                args=[QUESTION, REQUEST["corpus"]],
                id=unique("parent"),
                task_queue=queue,
            ),
            100,
        )
    assert told.startswith("complete")


async def test_a_caller_over_nexus_reads_the_result_and_the_report(
    office: Office, elsewhere: Client
) -> None:
    async with office.working(Wire()), team(elsewhere, Inquiry) as queue:
        caller = await elsewhere.start_workflow(
            Inquiry.run,
            args=[QUESTION, REQUEST["corpus"]],
            id=unique("nexus"),
            task_queue=queue,
        )
        told = await asyncio.wait_for(caller.result(), 100)
        check_size(await fetch_report(get_handle(office.client, f"nexus-{caller.id}")))
    assert told.startswith("complete")


async def test_the_typescript_client_reads_the_result_and_the_report(
    office: Office, temporal: str
) -> None:
    node = shutil.which("node")
    if node is None or not (TYPESCRIPT / "node_modules").is_dir():
        pytest.skip("node or @temporalio/client is missing: `make test-typescript` installs it")
    script = str(TYPESCRIPT / "read_result.mjs")
    async with office.working(Wire()):
        process = await asyncio.create_subprocess_exec(
            node,
            script,
            temporal,
            unique("typescript"),
            json.dumps(REQUEST),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, err.decode()
    told = json.loads(out)
    report = ResearchResult.model_validate(told["report"])
    check_size(report)
    assert told["summary"]["claims"] == len(report.claims) > 0
