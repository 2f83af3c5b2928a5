"""No key and no password is in anything a job leaves behind, whether it goes well or not.

Real commands, a real worker, an endpoint with a password in its address. What they wrote is read
byte by byte: the store, the server's database and log, the worker's log, the report, what was said
on the terminal, the histories, and the traces and metrics that were sent.
"""

from __future__ import annotations

import asyncio
import base64
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import pytest_asyncio

from console.devserver.server import run_dev_server
from console.runtime.connection import connect
from tests.simulator.jobs import ROOT, Endpoint, JsonObject, run_endpoint, starter, write_documents
from workflows.config.roles import CLAIM_VERIFIER, DRAFT_JUDGE, ROLES
from workflows.config.settings import Settings

KEY = "sk-ant-test-0f3a-the-right-secret"
WRONG = "sk-ant-test-77b1-the-wrong-secret"
PASSWORD = "p4ssw0rd-of-the-gateway"
BASIC = base64.b64encode(f"user:{PASSWORD}".encode()).decode()
SECRETS = {
    "the key": KEY,
    "a key that is not accepted": WRONG,
    "the password in the address": PASSWORD,
    "the password as a header": BASIC,
}
QUESTION = "What is known about the harbour line: its passengers and its fares?"
PAGES = '{"https://ferries.example/fares": {"title": "Fares", "text": "A ticket costs 3 euros."}}'
ECHO = f"busy; you came with {KEY} and x-api-key: {KEY} to http://user:{PASSWORD}@127.0.0.1/"
"""What a careless endpoint says of a request."""
CRASH = """
import os, sys
if any(word.endswith("worker.py") for word in sys.orig_argv):
    from activities.sources.corpus_search import Corpus
    def search(*_, **__):
        given = os.environ["ANTHROPIC_API_KEY"], os.environ["ANTHROPIC_BASE_URL"]
        raise RuntimeError(f"the index broke, the environment is {given}")
    Corpus.search = search
"""
"""A tool that breaks, and says more than it should."""
CRASH_LOG = "state/worker.log (at the end)"

pytestmark = pytest.mark.timeout(400)


@dataclass
class Traces:
    """All that the jobs left behind, by where it was found."""

    left: dict[str, bytes] = field(default_factory=dict)
    runs: dict[str, subprocess.CompletedProcess[str]] = field(default_factory=dict)
    asked: dict[str, list[JsonObject]] = field(default_factory=dict)

    def ran(self, name: str, run: subprocess.CompletedProcess[str], at: Endpoint) -> None:
        self.runs[name] = run
        self.left[f"{name} on the terminal"] = (run.stdout + run.stderr).encode()
        self.asked[name] = at.records()

    def read(self, folder: Path, when: str) -> None:
        for file in folder.rglob("*"):
            if file.is_file():
                self.left[f"{file.relative_to(folder)} ({when})"] = file.read_bytes()

    def holding(self, words: str) -> list[str]:
        return [place for place, content in self.left.items() if words.encode() in content]


@contextmanager
def collector(traces: Traces) -> Iterator[str]:
    """Where telemetry is sent: takes everything, and keeps it as it came."""

    class Sink(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["content-length"]))
            traces.left[f"telemetry {self.path} {len(traces.left)}"] = sent
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """In silence."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Sink) as sink:
        thread = threading.Thread(target=sink.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{sink.server_address[1]}"
        sink.shutdown()
        thread.join()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def traces(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Traces]:
    home = tmp_path_factory.mktemp("secrets")
    found = Traces()
    # Held open here, it is the one server of all the commands.
    with run_dev_server(home / "state") as running:
        await asyncio.to_thread(run_all, home, found)
        settings = Settings.read({"RESEARCH_HOME": str(home / "state")})
        client = await connect(settings, running.address)
        async for job in client.list_workflows():
            handle = client.get_workflow_handle(job.id, run_id=job.run_id)
            events = [event async for event in handle.fetch_history_events()]
            found.left[f"history of {job.id}"] = b"".join(e.SerializeToString() for e in events)
    await asyncio.to_thread(found.read, home, "at the end")
    yield found


def run_all(home: Path, found: Traces) -> None:
    write_documents(home / "documents")
    pages, broken = home / "pages.json", home / "broken"
    pages.write_text(PAGES, "utf-8")
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(CRASH, "utf-8")
    with (
        collector(found) as telemetry,
        # A password in the address takes the place of the key: both go into one header.
        run_endpoint("--key", f"Basic {BASIC}", "--key", KEY, "--pages", str(pages)) as at,
    ):
        env = {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": f"http://user:{PASSWORD}@127.0.0.1:{at.port}",
            "OTEL_EXPORTER_OTLP_ENDPOINT": telemetry,
            "OTEL_BSP_SCHEDULE_DELAY": "200",
            "OTEL_METRIC_EXPORT_INTERVAL": "500",
        }
        refused = {"ANTHROPIC_API_KEY": WRONG, "ANTHROPIC_BASE_URL": at.base}
        crash = {"PYTHONPATH": f"{broken}:{ROOT}"}
        for name, more in {"fine": {}, "refused": refused, "broken": crash}.items():
            at.reset(
                {"kind": "overloaded", "title": "PlanDraft", "message": ECHO},
                {"kind": "stream_error", "title": "ResearchAnswer", "message": ECHO},
            )
            if name == "broken":
                found.read(home, "while the server ran")
            run = starter(
                home, env | more, "run", QUESTION, "--corpus", "documents", "--effort", "quick",
                "--id", name, "--out", f"out-{name}",
            )  # fmt: skip
            found.ran(name, run, at)


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_a_secret_is_nowhere(traces: Traces, secret: str) -> None:
    assert [place for place in traces.holding(secret) if place != CRASH_LOG] == []


def test_a_crash_is_logged_without_the_secrets_it_quotes(traces: Traces) -> None:
    assert not any(CRASH_LOG in traces.holding(secret) for secret in SECRETS.values())


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [("fine", 0, "claims"), ("refused", 1, "is blocked"), ("broken", 4, "Nothing was found")],
)
def test_the_jobs_went_as_they_should(traces: Traces, name: str, code: int, says: str) -> None:
    run = traces.runs[name]
    assert run.returncode == code, run.stdout + run.stderr
    assert says in run.stdout + run.stderr


def test_every_place_was_looked_into(traces: Traces) -> None:
    """The words the jobs are about are found where the secrets are not."""
    subject = " ".join(traces.holding("harbour line"))
    for place in ("state/store/", "temporal.sqlite", "report.json", "report.html", "history of"):
        assert place in subject
    places = " ".join(traces.left)
    for place in ("temporal.sqlite-wal (while", "worker.log", "temporal.log", "on the terminal"):
        assert place in places
    assert "telemetry /v1/traces" in places
    assert "worker.log" in " ".join(traces.holding("the tool search crashed"))


def test_with_a_key_claude_and_the_web_are_used_and_the_limit_is_said_first(traces: Traces) -> None:
    said = traces.runs["fine"].stdout
    assert "Model: Claude, a model per role, because an API key is set" in said
    assert said.index("Spends at most $1.00") < said.index("Job fine starts.")
    asked = traces.asked["fine"]
    # The draft judge is asked only where a sentence is not a claim's own words.
    own = {role.output: role.model for role in (*ROLES.values(), CLAIM_VERIFIER)}
    chosen = {record["title"]: record["model"] for record in asked}
    assert {**own, **chosen} == own
    assert own.keys() - chosen.keys() <= {DRAFT_JUDGE.output}
    used = [(record["usage"] or {}).get("server_tool_use") for record in asked]
    assert any(each and each["web_search_requests"] for each in used)
    assert {record["outcome"] for record in asked} == {
        "answered", "overloaded_error", "stream_error",
    }  # fmt: skip
