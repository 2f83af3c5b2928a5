"""This project: its embedded server on a SQLite file, and its worker, each a process of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle

from benchmarks.engines import stub, topology
from benchmarks.engines.engine import Traces
from benchmarks.engines.processes import Process, folder_bytes, python, until
from console import embedded, ports
from console.attributes import register
from console.connection import connect
from console.workers import environment
from workflows.contracts import TASK_QUEUE, ResearchRequest
from workflows.coordinator import ResearchWorkflow
from workflows.policies import WORKFLOW_TASK
from workflows.settings import Settings

T = TypeVar("T")
_LIMIT = 300.0
# What Temporal Cloud bills: https://docs.temporal.io/cloud/actions
_ACTIONS = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
    EventType.EVENT_TYPE_TIMER_STARTED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
    EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
    EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
    EventType.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED,
    EventType.EVENT_TYPE_MARKER_RECORDED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
}


class Ours:
    name = "this project"
    # Our plan is reviewed before anybody sets out: a turn the others do not buy.
    in_a_row, in_all = topology.IN_A_ROW + 1, topology.IN_ALL + 1

    def open(self, folder: Path) -> None:
        self._folder, self._home = folder, folder / "home"
        self._home.mkdir(parents=True)
        stub.write_documents(folder / "documents")
        self._settings = Settings.read({"RESEARCH_HOME": str(self._home)})
        port, web = ports.choose(2)
        self._address = f"{ports.HOST}:{port}"
        order = embedded._order(self._home, embedded.binary(), port, web)
        self._server = Process([str(word) for word in order["command"]], folder / "server.log")
        self._loop = asyncio.new_event_loop()
        until(lambda: ports.listens(self._server.pid, port), "the server listens")
        until(lambda: ports.speaks_http2(port), "the server answers")
        self._client = self._do(self._connected())
        self._handles: dict[str, WorkflowHandle[Any, Any]] = {}
        self.start_worker()
        # Two jobs to warm up: imports, the index, the caches of the server.
        self.jobs(["warm-1", "warm-2"], 0.0)

    def close(self) -> None:
        self._worker.stop()
        self._server.stop()
        self._loop.close()

    def start_worker(self) -> None:
        env = environment(self._settings, self._address, {}) | {"ANTHROPIC_API_KEY": "none-needed"}
        self._worker = Process(
            python("-m", "benchmarks.engines.ours_worker", str(self.log)),
            self._folder / "worker.log",
            env,
        )

    def kill_worker(self) -> None:
        self._worker.kill()

    def jobs(self, names: Sequence[str], seconds: float) -> list[float]:
        async def timed(name: str) -> float:
            began = time.perf_counter()
            handle = await self._start(name, seconds)
            async with asyncio.timeout(_LIMIT):
                await handle.result()
            return time.perf_counter() - began

        async def all_of_them() -> list[float]:
            return await asyncio.gather(*(timed(name) for name in names))

        return self._do(all_of_them())

    def begin(self, name: str, seconds: float) -> None:
        self._do(self._start(name, seconds))

    def finish(self, name: str) -> None:
        async def waited() -> None:
            async with asyncio.timeout(_LIMIT):
                await self._handles[name].result()

        self._do(waited())

    @property
    def log(self) -> Path:
        return self._folder / "ours-turns.log"

    def pids(self) -> Mapping[str, int]:
        return {"server": self._server.pid, "worker": self._worker.pid}

    def traces(self, name: str) -> Traces:
        return self._do(self._traces(name))

    def stored(self) -> int:
        return folder_bytes(self._home)

    async def _connected(self) -> Client:
        client = await connect(self._settings, self._address, patience=60)
        await register(client)
        return client

    async def _start(self, name: str, seconds: float) -> WorkflowHandle[Any, Any]:
        request = ResearchRequest(
            question=stub.QUESTION,
            corpus=str(self._folder / "documents"),
            model=f"{stub.MODEL}@{name}@{seconds}",
            max_facets=topology.RESEARCHERS,
            max_passes=1,
        )
        self._handles[name] = await self._client.start_workflow(
            ResearchWorkflow.run,
            request,
            id=name,
            task_queue=TASK_QUEUE,
            task_timeout=WORKFLOW_TASK,
        )
        return self._handles[name]

    async def _traces(self, name: str) -> Traces:
        events = size = actions = tasks = 0
        for run in (name, f"{name}/pass-1"):
            async for event in self._client.get_workflow_handle(run).fetch_history_events():
                events += 1
                size += event.ByteSize()
                actions += event.event_type in _ACTIONS
                tasks += event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
        return Traces(events, size, actions, tasks)

    def _do(self, what: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(what)
