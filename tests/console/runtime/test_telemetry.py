"""With a collector configured, traces and metrics reach it; without one nothing is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from console.devserver.server import DevServer
from console.runtime.telemetry import metrics_url
from tests.console.conftest import ROOT, Place
from workflows.config.settings import Settings

# The core sends its metrics once a second.
TRACED = """
import asyncio, os
from console.runtime.connection import connect
from console.errors import exit_process
from workflows.config.settings import Settings

async def main():
    client = await connect(Settings.read(os.environ))
    await client.start_workflow("ResearchWorkflow", "x", id="traced", task_queue="nobody")
    await asyncio.sleep(1.3)

asyncio.run(main())
exit_process(0)
"""


class Collector(ThreadingHTTPServer):
    """Takes whatever is exported over HTTP and remembers it by path."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: dict[str, bytes] = {}


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received[self.path] = self.server.received.get(self.path, b"") + body
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_started_job_is_traced_and_measured(
    running: tuple[Place, DevServer], collector: Collector
) -> None:
    place, server = running
    env = place.env() | {
        "TEMPORAL_ADDRESS": server.address,
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
    }
    ended = subprocess.run(
        [sys.executable, "-c", TRACED], env=env, cwd=place.folder, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr

    assert b"StartWorkflow" in collector.received["/v1/traces"]
    assert b"durable-research" in collector.received["/v1/traces"]
    assert b"temporal_request" in collector.received["/v1/metrics"]


@pytest.mark.parametrize(
    ("env", "url"),
    [
        ({}, None),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t"}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318/"}, "http://c:4318/v1/metrics"),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m/x"}, "http://m/x"),
    ],
)
def test_metrics_go_where_the_environment_says(env: dict[str, str], url: str | None) -> None:
    assert metrics_url(env) == url


def test_without_a_collector_nothing_is_loaded(tmp_path: Path) -> None:
    assert not Settings.read({}).telemetry
    told = subprocess.run(
        [sys.executable, "-c", "import sys, console.runtime.connection; print(*sys.modules)"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert "opentelemetry.sdk" not in told.stdout
