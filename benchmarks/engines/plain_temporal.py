"""Temporal the usual way: an activity for each subagent, and nothing kept of its turns.

The development server on a SQLite file with WAL, nothing else changed; a worker with the SDK's
defaults. Once more with an activity for each turn, which is what keeps a turn from being paid twice
without anything but Temporal.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle

from benchmarks.engines import topology
from benchmarks.engines.engine import Traces
from benchmarks.engines.ours import _ACTIONS
from benchmarks.engines.plain_temporal_worker import QUEUE, Job, PerSubagent, PerTurn
from benchmarks.engines.processes import Process, folder_bytes, python, until
from console import embedded, ports

T = TypeVar("T")
_LIMIT = 300.0
_PRAGMAS = ("journal_mode=wal", "synchronous=normal")


class PlainTemporal:
    name = "plain Temporal, SQLite (WAL)"
    in_a_row, in_all = topology.IN_A_ROW, topology.IN_ALL
    workflow: ClassVar[type] = PerSubagent

    def open(self, folder: Path) -> None:
        self._folder, self._kept = folder, folder / "kept"
        self._kept.mkdir()
        port, web = ports.choose(2)
        self._address = f"{ports.HOST}:{port}"
        command = [str(embedded.binary()), "server", "start-dev", "--ip", ports.HOST]
        command += ["--port", str(port), "--ui-port", str(web), "--log-level", "warn"]
        command += ["--db-filename", str(self._kept / "temporal.sqlite")]
        for pragma in _PRAGMAS:
            command += ["--sqlite-pragma", pragma]
        self._server = Process(command, folder / "server.log")
        until(lambda: ports.listens(self._server.pid, port), "the server listens")
        until(lambda: ports.speaks_http2(port), "the server answers")
        self._loop = asyncio.new_event_loop()
        self._client = self._do(Client.connect(self._address))
        self._handles: dict[str, WorkflowHandle[Any, Any]] = {}
        self.start_worker()
        self.jobs(["warm-1", "warm-2"], 0.0)

    def close(self) -> None:
        self._worker.stop()
        self._server.stop()
        self._loop.close()

    def start_worker(self) -> None:
        module = "benchmarks.engines.plain_temporal_worker"
        self._worker = Process(
            python("-m", module, self._address, str(self.log)), self._folder / "worker.log"
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
        return self._folder / "turns.log"

    def pids(self) -> Mapping[str, int]:
        return {"server": self._server.pid, "worker": self._worker.pid}

    def traces(self, name: str) -> Traces:
        return self._do(self._traces(name))

    def stored(self) -> int:
        return folder_bytes(self._kept)

    async def _start(self, name: str, seconds: float) -> WorkflowHandle[Any, Any]:
        self._handles[name] = await self._client.start_workflow(
            self.workflow.__name__, Job(name, seconds), id=name, task_queue=QUEUE
        )
        return self._handles[name]

    async def _traces(self, name: str) -> Traces:
        events = size = actions = tasks = 0
        async for event in self._handles[name].fetch_history_events():
            events += 1
            size += event.ByteSize()
            actions += event.event_type in _ACTIONS
            tasks += event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
        return Traces(events, size, actions, tasks)

    def _do(self, what: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(what)


class TemporalPerTurn(PlainTemporal):
    name = "Temporal, one activity per turn"
    workflow = PerTurn
