"""Whole jobs against the simulator: a real Temporal server, a real worker, the API at the wire.

Import the fixtures into a test module to have them. The server is one for all modules of a run.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from temporalio.client import Client, WorkflowHandle

from console.client.jobs import fetch_report
from console.devserver.server import run_dev_server
from console.runtime.connection import connect
from tests.durability.jobs import DOCUMENTS
from tests.simulator.brains import Brain, Turn, text, think
from tests.simulator.records import Record
from tests.simulator.simulator import Simulator
from tests.simulator.transport import SimulatorTransport
from worker import build_context, build_worker
from workflows.config.model_catalog import card
from workflows.config.settings import EMBEDDED, Settings
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.contracts.result import ResearchResult, ResearchSummary
from workflows.coordinator import ResearchWorkflow

JsonObject = dict[str, Any]
Handle = WorkflowHandle[Any, ResearchSummary]

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_corpus"
QUESTION = (
    "What is known about the harbour line: its passengers, its electricity, its fares, its"
    " maintenance and its pirates?"
)
_FOREIGN = ("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_")
_ids = itertools.count()
_started = pytest.StashKey[str]()


@dataclass
class Office:
    """Where jobs are started, and worked on."""

    client: Client
    settings: Settings

    @classmethod
    async def at(cls, address: str, home: Path) -> Office:
        settings = Settings.read({"RESEARCH_HOME": str(home), "RESEARCH_SANDBOX": "0"})
        return cls(await connect(settings, address), settings)

    @asynccontextmanager
    async def working(self, wire: httpx2.AsyncBaseTransport) -> AsyncIterator[None]:
        context = build_context(self.settings, wire)
        async with build_worker(self.client, self.settings, context):
            yield
        await context.close()

    async def start(self, question: str, **request: Any) -> Handle:
        return await self.client.start_workflow(
            ResearchWorkflow.run,
            ResearchRequest(question=question, **{"model": "claude", **request}),
            task_timeout=EMBEDDED.task,
            id=f"wire-{next(_ids)}-{self.settings.state_dir[-12:].replace('/', '-')}",
            task_queue=TASK_QUEUE,
        )

    async def run(
        self, wire: httpx2.AsyncBaseTransport, question: str = QUESTION, **request: Any
    ) -> ResearchResult:
        async with self.working(wire):
            return await fetch_report(await self.start(question, **request))


@pytest.fixture(scope="session")
def temporal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The server's address. Kept with the run: a fixture that is imported is another each time."""
    stash = request.config.stash
    if _started not in stash:
        stack = ExitStack()
        running = stack.enter_context(run_dev_server(tmp_path_factory.mktemp("temporal")))
        request.config.add_cleanup(stack.close)
        stash[_started] = running.address
    return stash[_started]


@pytest.fixture(scope="module")
def credentials() -> Iterator[str]:
    """A key in the environment, and no endpoint but the provider's."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(_FOREIGN):
                patch.delenv(name)
        patch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-of-the-simulator")
        yield os.environ["ANTHROPIC_API_KEY"]


@pytest.fixture
async def office(temporal: str, credentials: str, tmp_path: Path) -> Office:
    return await Office.at(temporal, tmp_path / "home")


@pytest.fixture
def documents(tmp_path: Path) -> str:
    return write_documents(tmp_path / "documents")


def write_documents(folder: Path) -> str:
    """Six short documents on a harbour line; two disagree about its passengers."""
    folder.mkdir(parents=True)
    for name, words in DOCUMENTS.items():
        (folder / name).write_text(words, "utf-8")
    return str(folder)


class Wire(SimulatorTransport):
    """The simulator, with every call noted as it was sent and how it was answered."""

    def __init__(self, simulator: Simulator) -> None:
        super().__init__(simulator)
        self.calls: list[tuple[str, str, int]] = []
        """Method, path and status."""
        self.bodies: list[JsonObject] = []
        """Of the requests for a message, batches not among them."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raw = await request.aread()
        if request.url.path == "/v1/messages":
            self.bodies.append(json.loads(raw))
        response = await super().handle_async_request(request)
        self.calls.append((request.method, request.url.path, response.status_code))
        return response


def refused(records: list[Record]) -> list[str]:
    """Requests the API would not have taken."""
    return [f"{r.status} {r.title}: {r.error}" for r in records if 400 <= (r.status or 200) < 500]


def cost(record: Record, *, batch: bool | None = None) -> float:
    """What the provider charges for one request, from what it counted."""
    usage = record.usage
    if usage is None or record.model is None:
        return 0.0
    hour = usage["cache_creation"]["ephemeral_1h_input_tokens"]
    return card(record.model).cost(
        usage["input_tokens"],
        usage["output_tokens"],
        cache_read=usage["cache_read_input_tokens"],
        cache_write=usage["cache_creation_input_tokens"] - hour,
        cache_write_1h=hour,
        web_searches=(usage["server_tool_use"] or {}).get("web_search_requests", 0),
        batch=record.path == "batch" if batch is None else batch,
    )


def whole_input(record: Record) -> int:
    usage = record.usage or {}
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(int(usage[name]) for name in names)


def brief(body: JsonObject) -> JsonObject:
    words = body["messages"][0]["content"][0]["text"]
    found: JsonObject = json.loads(words.partition("<brief>")[2].partition("</brief>")[0])
    return found


def blocks(body: JsonObject, kind: str) -> list[JsonObject]:
    """Every block of this type in the conversation."""
    return [b for m in body["messages"] for b in m["content"] if b["type"] == kind]


@dataclass(frozen=True)
class Endpoint:
    """The simulator in a process of its own."""

    port: int

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def records(self) -> list[JsonObject]:
        lines = httpx2.get(f"{self.base}/_log").text.splitlines()
        return [json.loads(line) for line in lines]

    def reset(self, *faults: JsonObject) -> None:
        assert httpx2.post(f"{self.base}/_reset").status_code == 200
        if faults:
            assert httpx2.post(f"{self.base}/_faults", json=list(faults)).status_code == 200


@contextmanager
def run_endpoint(*options: str) -> Iterator[Endpoint]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.simulator.server", "--port", "0", *options],
        stdout=subprocess.PIPE, cwd=ROOT, text=True,
    )  # fmt: skip
    assert process.stdout
    with process, process.stdout as said:
        line = said.readline()
        try:
            assert line.startswith("listening on "), f"the simulator did not start: {line!r}"
            yield Endpoint(int(line.split()[-1]))
        finally:
            process.terminate()
            process.wait(60)


def starter(
    home: Path, env: Mapping[str, str], *arguments: str, seconds: float = 110
) -> subprocess.CompletedProcess[str]:
    """`starter.py` as a person runs it, in an environment of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return subprocess.run(
        [sys.executable, str(ROOT / "starter.py"), *arguments],
        cwd=home, env=kept | {"RESEARCH_HOME": "state"} | dict(env), text=True,
        capture_output=True, timeout=seconds, check=False,
    )  # fmt: skip


class Adapting:
    """A brain for requests whose schema is that of an answer tool, or words of the prompt."""

    def __init__(self, inner: Brain) -> None:
        self._inner = inner

    async def __call__(self, body: JsonObject) -> Turn:
        words = "".join(block["text"] for block in body.get("system") or ())
        _, in_prompt, schema = words.partition("follow this JSON schema:\n")
        tools = body.get("tools") or ()
        answer = next((tool for tool in tools if tool["name"] == "answer"), None)
        if answer:
            body = {**body, "tools": [tool for tool in tools if tool is not answer]}
            wanted = {"type": "json_schema", "schema": answer["input_schema"]}
        elif in_prompt:
            wanted = {"type": "json_schema", "schema": json.JSONDecoder().raw_decode(schema)[0]}
        elif "format" in (body.get("output_config") or {}):
            return await think(self._inner, body)
        else:
            return Turn([text("Certainly! There is much to say about this.")])
        config = {**(body.get("output_config") or {}), "format": wanted}
        turn = await think(self._inner, {**body, "output_config": config})
        if not answer or turn.stopped_for != "end_turn":
            return turn
        given = json.loads("".join(b["text"] for b in turn.content if b["type"] == "text"))
        return Turn([{"type": "tool_use", "name": "answer", "input": given}])
