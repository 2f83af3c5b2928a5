"""Temporal the usual way: an activity for each subagent, and nothing kept of its turns.

The development server on a SQLite file with WAL, nothing else changed; a worker with the SDK's
defaults. Once more with an activity for each turn, which is what keeps a turn from being paid twice
without anything but Temporal. And once with the steps of this project: an activity for each
subagent, verified as each returns, a child workflow for the pass. What Temporal takes for these
alone is the least that keeping to them can cost.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from temporalio.client import Client, WorkflowHandle

from benchmarks.engines import topology
from benchmarks.engines.on_temporal import OnTemporal
from benchmarks.engines.plain_temporal_worker import QUEUE, Job, OurSteps, PerSubagent, PerTurn
from benchmarks.engines.processes import Process, python
from console.devserver import ports, server

_PATIENCE = 60.0
_PRAGMAS = ("journal_mode=wal", "synchronous=normal")


class PlainTemporal(OnTemporal):
    name = "plain Temporal, SQLite (WAL)"
    in_a_row, in_all = topology.IN_A_ROW, topology.IN_ALL
    workflow: ClassVar[type] = PerSubagent

    def _serving(self, port: int, web: int) -> list[str]:
        command = [str(server.find_binary()), "server", "start-dev", "--ip", ports.HOST]
        command += ["--port", str(port), "--ui-port", str(web), "--log-level", "warn"]
        command += ["--db-filename", str(self._kept / "temporal.sqlite")]
        for pragma in _PRAGMAS:
            command += ["--sqlite-pragma", pragma]
        return command

    def _working(self) -> Process:
        module = "benchmarks.engines.plain_temporal_worker"
        return Process(
            python("-m", module, self._address, str(self.log)), self._folder / "worker.log"
        )

    async def _connected(self) -> Client:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return await Client.connect(self._address)
            except RuntimeError:  # it listens before it is healthy
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.1)

    async def _started(self, name: str, seconds: float) -> WorkflowHandle[Any, Any]:
        return await self._client.start_workflow(
            self.workflow.__name__, Job(name, seconds), id=name, task_queue=QUEUE
        )


class TemporalPerTurn(PlainTemporal):
    name = "Temporal, one activity per turn"
    workflow = PerTurn


class EmptySteps(PlainTemporal):
    name = "the steps of this project, empty"
    in_a_row, in_all = topology.IN_A_ROW + 1, topology.IN_ALL + 1
    workflow = OurSteps

    def _runs(self, name: str) -> Sequence[str]:
        return (name, f"{name}/pass-1")
