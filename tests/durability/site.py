"""One server on its file, one counting endpoint, one store, and whoever works there.

Real processes on loopback, in a folder of a test's own, all of them ended with the test.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.client import Client
from temporalio.service import RPCError

from console.devserver import ports
from console.runtime.connection import connect
from tests.durability.counter import Endpoint
from tests.durability.jobs import Job, request, write_documents
from tests.durability.processes import (
    ROOT,
    Process,
    end_all,
    server_command,
    serves,
    worker_environment,
)
from tests.durability.waiting import until
from workflows.config.settings import EMBEDDED, Settings
from workflows.contracts.request import TASK_QUEUE
from workflows.coordinator import ResearchWorkflow

_numbers = itertools.count(1)


class Site:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.corpus, self.home, self.store = (
            folder / "documents", folder / "home", folder / "store",
        )  # fmt: skip
        write_documents(self.corpus)
        self.home.mkdir()
        self.store.mkdir()
        self.port, self._web_port = ports.choose(2)
        self.endpoint = Endpoint(folder, self.store)
        self.workers: list[Process] = []
        self.server = self._server()
        self.url = ""
        self._client: Client | None = None

    @property
    def address(self) -> str:
        return f"{ports.HOST}:{self.port}"

    @property
    def client(self) -> Client:
        assert self._client is not None, "the site is not open yet"
        return self._client

    async def open(self) -> None:
        await self.served()
        self.url = await self.endpoint.listening()
        settings = Settings(state_dir=str(self.home), store=str(self.store))
        self._client = await connect(settings, self.address, patience=60)

    def start_server(self) -> None:
        """The same server again, on the file the last one left behind."""
        assert not self.server.alive, "one server at a time"
        self.server = self._server()

    async def served(self) -> None:
        await until(lambda: serves(self.server, self.port), "the server answers")

    def start_worker(self, script: Path = ROOT / "worker.py", **env: str) -> Process:
        told = worker_environment(self.home, self.store, self.address, self.url)
        log = self.folder / f"worker-{len(self.workers)}.log"
        worker = Process("a worker", [sys.executable, str(script)], log, told | env)
        self.workers.append(worker)
        return worker

    @property
    def worker(self) -> Process:
        """The one that was started last."""
        return self.workers[-1]

    async def start_job(self) -> Job:
        """A job like every other; only its name differs."""
        name = f"job-{os.getpid()}-{next(_numbers)}"
        while True:
            try:
                handle = await self.client.start_workflow(
                    ResearchWorkflow.run,
                    request(self.corpus, name),
                    id=name,
                    task_queue=TASK_QUEUE,
                    task_timeout=EMBEDDED.task,
                )
            except RPCError:
                await self.served()
                continue
            return Job(name, self, handle)

    def close(self) -> None:
        end_all([*self.workers, self.server, self.endpoint.process])

    def _server(self) -> Process:
        command = server_command(self.folder, self.port, self._web_port)
        return Process("the server", command, self.folder / "server.log")


@asynccontextmanager
async def a_site(folder: Path, workers: int = 1) -> AsyncIterator[Site]:
    """A site with so many workers, closed on the way out whatever happens."""
    site = Site(folder)
    try:
        await site.open()
        for _ in range(workers):
            site.start_worker()
        yield site
    finally:
        site.close()
