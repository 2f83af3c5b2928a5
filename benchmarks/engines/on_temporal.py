"""What engines on Temporal share: a server on a SQLite file, a worker, and how jobs are run.

An engine says how its server is started, who works there, and how a job is begun.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle

from benchmarks.engines.engine import Traces
from benchmarks.engines.processes import Process, folder_bytes, until
from console.devserver import ports

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


class OnTemporal(ABC):
    """Keeps to `engine.Engine`."""

    name: str
    in_a_row: int
    in_all: int

    def open(self, folder: Path) -> None:
        self._folder, self._kept = folder, folder / "kept"
        self._kept.mkdir(parents=True)
        port, web = ports.choose(2)
        self._address = f"{ports.HOST}:{port}"
        self._server = Process(self._serving(port, web), folder / "server.log")
        until(lambda: ports.is_listening(self._server.pid, port), "the server listens")
        until(lambda: ports.speaks_http2(port), "the server answers")
        self._loop = asyncio.new_event_loop()
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
        self._worker = self._working()

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
        return self._folder / "turns.log"

    def pids(self) -> Mapping[str, int]:
        return {"server": self._server.pid, "worker": self._worker.pid}

    def traces(self, name: str) -> Traces:
        return self._do(self._traces(name))

    def stored(self) -> int:
        return folder_bytes(self._kept)

    @abstractmethod
    def _serving(self, port: int, web: int) -> list[str]:
        """The command that starts the server."""

    @abstractmethod
    def _working(self) -> Process:
        """Its worker, started."""

    @abstractmethod
    async def _connected(self) -> Client: ...

    @abstractmethod
    async def _started(self, name: str, seconds: float) -> WorkflowHandle[Any, Any]: ...

    def _runs(self, name: str) -> Sequence[str]:
        """The workflows a job consists of."""
        return (name,)

    async def _start(self, name: str, seconds: float) -> WorkflowHandle[Any, Any]:
        self._handles[name] = await self._started(name, seconds)
        return self._handles[name]

    async def _traces(self, name: str) -> Traces:
        events = size = actions = tasks = 0
        for run in self._runs(name):
            async for event in self._client.get_workflow_handle(run).fetch_history_events():
                events += 1
                size += event.ByteSize()
                actions += event.event_type in _ACTIONS
                tasks += event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
        return Traces(events, size, actions, tasks)

    def _do(self, what: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(what)
