"""The API on loopback, with a real Temporal server and a real worker with its offline engine."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from console.api.application import build_api
from console.client.session import Session
from console.runtime.connection import connect
from console.web.people import People, Person, Role
from console.web.routes import build_app
from console.web.state import AppState
from tests.job.conftest import DOCUMENTS, temporal
from worker import build_context, build_worker
from workflows.config.settings import Settings

__all__ = ["temporal"]

TOKEN = "the-token-of-this-api"
SECRET = "a secret that signs webhooks"
CORPUS = "harbour"
QUESTION = "How many passengers did the harbour line carry?"
ENVIRONMENT = {
    "RESEARCH_WEBHOOK_SECRET": SECRET,
    "RESEARCH_WEBHOOK_NETWORKS": "127.0.0.0/8",
    "RESEARCH_SANDBOX": "0",
}


@dataclass
class Api:
    url: str
    web: httpx2.Client
    stranger: httpx2.Client
    """Has no token."""
    state: AppState

    def sign_in(self, name: str, role: Role, **more: Any) -> httpx2.Client:
        """A client with the token of a new person."""
        token = People.of(self.state.settings, TOKEN).add(Person(name, role, **more))
        bearer = {"Authorization": f"Bearer {token}"}
        return httpx2.Client(base_url=self.url, headers=bearer, timeout=60)

    def wait(self, job_id: str, *states: str) -> dict[str, Any]:
        """The job when it is in one of these states; follows its events meanwhile."""
        with self.web.stream("GET", f"/jobs/{job_id}/events") as stream:
            for line in stream.iter_lines():
                if line.startswith("data: ") and f'"state":"{states[0]}"' in line:
                    break
        found: dict[str, Any] = self.web.get(f"/jobs/{job_id}").json()
        assert found["state"] in states, found
        return found


class _Running:
    """Runs the worker and the server in a loop of their own."""

    def __init__(self, temporal: str, home: Path) -> None:
        read = Settings.read({"RESEARCH_HOME": str(home), **ENVIRONMENT})
        # As with a configured server: jobs are on the queue of all workers.
        self._settings = read.model_copy(update={"has_server": True})
        self._temporal = temporal
        self._ready = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()
        assert self._ready.wait(60)

    async def _run(self) -> None:
        client = await connect(self._settings, self._temporal)
        self.state = AppState(Session(self._settings, client))
        app = build_app(self.state, TOKEN, self.port, loopback=True, more=[build_api(self.state)])
        self._server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        context = build_context(self._settings)
        self.state.is_closing = lambda: self._server.should_exit
        async with build_worker(client, self._settings, context):
            self._ready.set()
            await self._server.serve(sockets=[self._listener])
        await context.close()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()


@pytest.fixture(scope="package")
def api(temporal: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        running = _Running(temporal, tmp_path_factory.mktemp("api") / "home")
        url = f"http://127.0.0.1:{running.port}/api/v1"
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        with (
            httpx2.Client(base_url=url, headers=bearer, timeout=60) as web,
            httpx2.Client(base_url=url, timeout=60) as stranger,
        ):
            files = [("files", (path, text.encode())) for path, text in DOCUMENTS.items()]
            answer = web.post(f"/corpora/{CORPUS}/files", files=files)
            assert answer.status_code == 200, answer.text
            yield Api(url, web, stranger, running.state)
        running.close()


@pytest.fixture(scope="package")
def finished(api: Api) -> str:
    """The id of a job that has a report."""
    answer = api.web.post("/jobs", json={"question": QUESTION, "corpus": CORPUS, "effort": "quick"})
    assert answer.status_code == 201, answer.text
    job_id: str = answer.json()["id"]
    api.wait(job_id, "completed")
    return job_id
