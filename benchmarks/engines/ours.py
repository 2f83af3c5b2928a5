"""This project: its embedded server on a SQLite file, and its worker, each a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

from benchmarks.engines import stub, topology
from benchmarks.engines.on_temporal import OnTemporal
from benchmarks.engines.processes import Process, python
from console.devserver import server
from console.devserver.worker_process import build_environment
from console.runtime.connection import FRESH_SERVER_SECONDS, connect, register
from workflows.config.settings import EMBEDDED, Settings
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.coordinator import ResearchWorkflow


class Ours(OnTemporal):
    name = "this project"
    # Turns the others do not buy: the plan is reviewed, all five facets are judged, and so are both
    # drafts, the gap that was closed, and how the claims of each round relate.
    in_a_row, in_all = topology.IN_A_ROW + 6, topology.IN_ALL + 7

    def open(self, folder: Path) -> None:
        stub.write_documents(folder / "documents")
        super().open(folder)

    @property
    def _settings(self) -> Settings:
        return Settings.read({"RESEARCH_HOME": str(self._kept)})

    def _serving(self, port: int, web: int) -> list[str]:
        order = server.build_spec(self._kept, server.find_binary(), port, web)
        return [str(word) for word in order["command"]]

    def _working(self) -> Process:
        env = build_environment(self._settings, self._address, {}) | {
            "ANTHROPIC_API_KEY": "none-needed"
        }
        return Process(python("-m", *self._program()), self._folder / "worker.log", env)

    def _program(self) -> Sequence[str]:
        """The module its worker is, and what that is told."""
        return ("benchmarks.engines.ours_worker", str(self.log))

    async def _connected(self) -> Client:
        client = await connect(self._settings, self._address, patience=60)
        await register(client, FRESH_SERVER_SECONDS)
        return client

    async def _started(self, name: str, seconds: float) -> WorkflowHandle[Any, Any]:
        request = ResearchRequest(
            question=stub.QUESTION,
            corpus=str(self._folder / "documents"),
            model=f"{stub.MODEL}@{name}@{seconds}",
            max_facets=topology.RESEARCHERS,
            max_passes=1,
        )
        return await self._client.start_workflow(
            ResearchWorkflow.run,
            request,
            id=name,
            task_queue=TASK_QUEUE,
            task_timeout=EMBEDDED.task,
        )

    def _runs(self, name: str) -> Sequence[str]:
        return (name, f"{name}/pass-1")
