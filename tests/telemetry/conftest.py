"""A real server, a receiver, a few documents with words nobody else uses, and real workers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from console.devserver import server

from .collector import Collector, collecting

ROOT = Path(__file__).resolve().parents[2]
HANGING = Path(__file__).with_name("hanging_worker.py")
QUESTION = "How many passengers does the Vexholm ferry carry, and who built its quorvane batteries?"
"""No document says who built them: the offline evaluator names a gap, and a pass follows."""
DOCUMENTS = {
    "passengers.md": """# Passengers of the Vexholm ferry

Date: 2025-03-01

The Vexholm ferry carried 412,000 passengers in 2024. Tickets are counted by Drummelwick gates.
Fares rose by 4 per cent in May 2024.
""",
    "batteries.md": """# Quorvane batteries of the Vexholm ferry

Date: 2025-01-15

The quorvane batteries of the Vexholm ferry store 2.4 megawatt hours. They are replaced after ten
years. Their maintenance cost 1.2 million euros in 2024.
""",
}
CONTENT = (b"vexholm", b"quorvane", b"drummelwick", b"412,000", b"who built")
"""In lower case: what must never be exported."""


def eventually(holds: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"in vain waited for: {what}"
        time.sleep(0.05)


def get(port: int, path: str) -> tuple[int, str]:
    """Status and body; 0 where nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError:
        return 0, ""


class Place:
    """A working directory whose server and receiver run."""

    def __init__(self, folder: Path, address: str, collector: Collector) -> None:
        self.folder = folder
        self.address = address
        self.collector = collector
        self.docs = folder / "docs"
        self.docs.mkdir(parents=True)
        for name, words in DOCUMENTS.items():
            (self.docs / name).write_text(words, "utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    def env(self, **more: str) -> dict[str, str]:
        taken = ("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_")
        kept = {name: v for name, v in os.environ.items() if not name.startswith(taken)}
        return kept | {
            "TEMPORAL_ADDRESS": self.address,
            "RESEARCH_HOME": str(self.folder / "home"),
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.collector.url,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
            "OTEL_METRIC_EXPORT_INTERVAL": "500",
            "PYTHONPATH": str(ROOT),
            **more,
        }

    @contextmanager
    def worker(
        self, script: Path = ROOT / "worker.py", **more: str
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Ready when the body starts; asked to stop when it ends, if it still runs."""
        log = self.folder / "worker.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, str(script)],
                env=self.env(RESEARCH_HEALTH=f"127.0.0.1:{self.port}", **more),
                cwd=self.folder,
                stdout=output,
                stderr=output,
            )
        try:
            eventually(
                lambda: process.poll() is not None or get(self.port, "/readyz")[0] == 200,
                "a worker that is ready",
            )
            assert process.poll() is None, log.read_text()[-3000:]
            yield process
            process.terminate()
            process.wait(60)
        finally:
            process.kill()
            process.wait()

    def starter(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / "starter.py"), *arguments],
            env=self.env(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=100,
        )


@pytest.fixture(scope="module")
def temporal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server.run_dev_server(tmp_path_factory.mktemp("temporal")) as running:
        yield running.address


@pytest.fixture
def place(temporal: str, tmp_path: Path) -> Iterator[Place]:
    with collecting() as collector:
        yield Place(tmp_path / "place", temporal, collector)
