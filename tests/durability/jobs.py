"""The job that is killed: small, with three facets and one refinement pass, the same every time."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle
from temporalio.service import RPCError

from console.client.jobs import fetch_report
from tests.durability.counter import Account
from tests.durability.waiting import PATIENCE
from workflows.config.store_keys import checkpoints_folder, journal_folder
from workflows.contracts.request import ResearchRequest
from workflows.contracts.result import ResearchResult
from workflows.coordinator import ResearchWorkflow

if TYPE_CHECKING:
    from tests.durability.site import Site

JsonObject = dict[str, Any]
Handle = WorkflowHandle[Any, Any]

MODEL = "claude-sonnet-5-5"
QUESTION = "What is known about the harbour line: its passengers, its electricity and its fares?"
FIRST_RESEARCH = 4
"""The number of the researchers' first turn: after the planner's two and the reviewer's."""
DOCUMENTS = {
    "annual_report.md": """# Harbour lines: annual report 2024

Date: 2025-03-01

The harbour line carried 412,000 passengers in 2024. Ticket sales are counted at the gates.
The line runs every twenty minutes from six in the morning. Fares rose by 4 per cent in May 2024.
The operator employs 86 people on the harbour line. Punctuality reached 93 per cent in 2024.
""",
    "city_statistics.md": """# City statistics: transport 2024

Date: 2025-06-10

The harbour line carried 367,500 passengers in 2024. The figure is an estimate from a survey on
weekdays only. Bus lines in the city carried 9.1 million passengers in 2024.
""",
    "power_supply.md": """# Power supply of the harbour line

Date: 2024-11-20

The harbour line uses 2.4 gigawatt hours of electricity a year. A second feeder from the northern
substation was built in 2023 and gives a reserve of 3 megawatts. Charging takes place at night.
The electricity contract of the harbour line ends in December 2027.
""",
    "maintenance.txt": """Maintenance of the electric fleet

Date: 2025-01-15

Each electric boat is taken out of service for nine days a year. Batteries are replaced after ten
years. Maintenance of the electric fleet cost 1.2 million euros in 2024.
""",
    "fares.md": """# Fares of the harbour line

Date: 2025-02-01

A single ticket of the harbour line costs 3.20 euros. A monthly pass costs 64 euros. Children under
six travel free of charge on the harbour line.
""",
    "council_minutes.md": """# Council minutes, transport committee

Date: 2025-04-22

The committee heard that the harbour line carried 412,000 passengers in 2024. It asked for a report
on fares by autumn. A decision on the electricity contract was put off.
""",
}

# What the server does by itself when a worker is gone; all else is somebody's work.
_NOT_WORK = {
    EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
    EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
}


def write_documents(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, words in DOCUMENTS.items():
        (folder / name).write_text(words, "utf-8")


def request(corpus: Path | str, job: str) -> ResearchRequest:
    """The model's name tells the endpoint whose turn it sells."""
    return ResearchRequest(
        question=QUESTION,
        corpus=str(corpus),
        model=f"{MODEL}@{job}",
        max_facets=3,
        max_passes=1,
        # On a machine that is overrun a facet may take long, and a report without it is another.
        patience=100,
    )


@dataclass(frozen=True)
class Mark:
    """How far a job had come, and when: what happens after it is progress."""

    requests: int
    files: int
    time: float
    """By the clock on the wall, which is what a history is kept by."""


@dataclass
class Job:
    """One job at a site, watched from outside."""

    id: str
    site: Site
    handle: Handle

    @property
    def pass_handle(self) -> Handle:
        return self.site.client.get_workflow_handle(f"{self.id}/pass-1")

    @property
    def journal(self) -> Path:
        return self.site.store / journal_folder(self.id)

    def account(self) -> Account:
        return Account(self.site.endpoint.arrived(self.id), self.journal)

    def checkpoint_files(self) -> list[Path]:
        return sorted((self.site.store / checkpoints_folder(self.id)).glob("*/*.json"))

    def checkpoints(self) -> int:
        return len(self.checkpoint_files())

    async def result(self, seconds: float = PATIENCE) -> ResearchResult:
        """The job's report. A server that is away is waited for."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                async with asyncio.timeout(max(0.1, deadline - time.monotonic())):
                    found: ResearchResult = await fetch_report(self.handle)
                    return found
            except RPCError:
                await asyncio.sleep(0.2)
            except TimeoutError:
                raise AssertionError(await self.complaint(seconds)) from None

    async def complaint(self, seconds: float) -> str:
        try:
            status = (await self.handle.query(ResearchWorkflow.status)).model_dump_json()
        except RPCError as error:
            status = f"no answer ({error})"
        logs = "\n".join(worker.said() for worker in self.site.workers[-2:])
        return f"{self.id} did not end within {seconds:.0f} s; status {status}; {logs}"

    async def ended(self) -> bool:
        try:
            found = await self.handle.describe()
        except RPCError:
            return False
        return found.status is not WorkflowExecutionStatus.RUNNING

    async def events(self, handle: Handle) -> AsyncIterator[HistoryEvent]:
        """A run's events as they happen, once each; while there is no run or server, none."""
        seen = 0
        while True:
            try:
                async for event in handle.fetch_history_events(wait_new_event=True):
                    if event.event_id > seen:
                        seen = event.event_id
                        yield event
                return
            except RPCError:
                await asyncio.sleep(0.02)

    def mark(self) -> Mark:
        return Mark(len(self.site.endpoint.arrived(self.id)), self._files(), time.time())

    async def progress(self, mark: Mark, seconds: float = PATIENCE) -> float:
        """When somebody went on with the job: a request, something kept, work in a history."""
        deadline = time.monotonic() + seconds
        while True:
            arrived = self.site.endpoint.arrived(self.id)[mark.requests :]
            if arrived:
                return float(arrived[0]["at"])
            if self._files() != mark.files:
                return time.monotonic()
            for handle in (self.handle, self.pass_handle):
                if any(_is_work(event, mark.time) for event in await _history(handle)):
                    return time.monotonic()
            if await self.ended():
                return time.monotonic()
            assert time.monotonic() < deadline, await self.complaint(seconds)
            await asyncio.sleep(0.03)

    def _files(self) -> int:
        return sum(1 for _ in self.journal.rglob("*")) + self.checkpoints()


def _is_work(event: HistoryEvent, since: float) -> bool:
    return event.event_type not in _NOT_WORK and event.event_time.ToNanoseconds() / 1e9 > since


async def _history(handle: Handle) -> list[HistoryEvent]:
    try:
        return list((await handle.fetch_history()).events)
    except RPCError:
        return []


def comparable(result: ResearchResult, corpus: Path) -> JsonObject:
    """The report without what differs from run to run: names of the run, clocks, what it cost."""
    found = result.model_dump(
        mode="json", exclude={"telemetry", "timeline", "id", "model", "parent", "started_at"}
    )
    for part in (*found["passes"], *found["coverage"]):
        for clock in ("seconds", "usd"):
            part.pop(clock, None)
    # A folder's name carries a digest of its path, and each site has a folder of its own.
    found["corpus"].pop("name")
    plain: JsonObject = _plain(found, result.id, str(corpus))
    return plain


def _plain(value: Any, job: str, corpus: str) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item, job, corpus) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, job, corpus) for item in value]
    if isinstance(value, str):
        named = value.replace(corpus, "CORPUS").replace(job, "JOB")
        # The day of the run; a night may lie between two of them.
        return re.sub(r"Date: \d{4}-\d\d-\d\d", "Date: TODAY", named)
    return value
