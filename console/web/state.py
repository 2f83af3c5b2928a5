"""What the pages, the API and the MCP server share: jobs and their control, caches and notices."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from cachetools import LRUCache
from temporalio.service import RPCError

from console.client import corpora, deletion, jobs, runs
from console.client.checkpoints import CheckpointStore
from console.client.jobs import Job, StartState, UpdateRejectedError
from console.client.session import Session
from console.errors import BadInputError, ConflictError
from console.runtime.data_converter import explain_store_errors, store_of
from workflows.contracts.evidence import Message
from workflows.contracts.messages import Finish, Pause, Resume
from workflows.contracts.request import ResearchRequest
from workflows.contracts.result import ResearchResult
from workflows.contracts.state import Phase

Value = TypeVar("Value")
MAX_SEARCHED = 200
"""How many of the newest reports a search reads."""
_TICK_SECONDS = 0.2
_CLOSING_SECONDS = 10.0

Tone = Literal["good", "warn", "bad", "busy"]
Control = Literal["pause", "resume", "finish", "cancel"]


@dataclass(frozen=True)
class Notice:
    """A message at the top of a page."""

    text: str
    tone: Tone = "good"


class Cache(LRUCache[Hashable, Any]):
    """Only for what cannot change, such as a closed run."""

    async def get_or_load(self, key: Hashable, load: Callable[[], Awaitable[Value]]) -> Value:
        if key not in self:
            self[key] = await load()
        value: Value = self[key]
        return value


class AppState:
    def __init__(self, session: Session) -> None:
        self.client = session.client
        self.session = session
        self.settings = session.settings
        self.checkpoints = CheckpointStore(session.settings)
        self.small_cache = Cache(4000)
        """Requests, rows of closed jobs and of checkpoints, contradictions."""
        self.result_cache = Cache(6)
        """Whole results, which may be large."""
        self.text_cache = Cache(MAX_SEARCHED)
        """The texts of reports, which a search reads."""
        self.checkpoint_cache = Cache(40)
        """The checkpoints of a job, with its last state."""
        self.worker_errors: dict[str, str] = {}
        """Why the worker process of a job does not run, by job id."""
        self.open_streams = 0
        self.is_local = True
        """Whether only this machine can reach the console."""
        self.is_closing: Callable[[], bool] = lambda: False
        self._notices: LRUCache[str, Notice] = LRUCache(200)

    @property
    def temporal_ui(self) -> str:
        server = self.session.server
        return server.web if server else ""

    def start_worker(self, job_id: str) -> bool:
        """Have the job worked on, if that is for this process to do."""
        self.worker_errors.pop(job_id, None)
        return self.session.start_worker(job_id)

    def check_folders_allowed(self) -> None:
        """Raises `BadInputError` where who asks for a folder may be on another machine."""
        if not self.is_local and not self.settings.corpora:
            raise BadInputError(
                "This console can be reached from other machines and reads no folder it was not"
                " told of: name a corpus, or set RESEARCH_CORPORA where it is started."
            )

    async def start(self, job_id: str, request: ResearchRequest) -> Job:
        """Publish the documents, start the job or find it, and have it worked on."""
        request = await corpora.publish_for(request, self.settings)
        job, _ = await runs.begin(self.client, self.checkpoints, job_id, request)
        if job.found is not StartState.FINISHED:
            self.start_worker(job_id)
        return job

    async def wait_for_worker(self, job_id: str, call: Awaitable[Value]) -> Value:
        """The result of a call that a worker of the job must answer."""
        return (await self.session.wait_for_worker(call, job_id))[0]

    async def send_update(self, job_id: str, name: str, message: Message) -> str:
        job = await jobs.find_running(self.client, job_id)
        return await self.wait_for_worker(job_id, jobs.send_update(job, name, message))

    async def control(self, job_id: str, control: Control) -> str:
        """Pause, resume, finish or cancel a job; returns its answer."""
        if control == "pause":
            return await self.send_update(job_id, "pause", Pause())
        if control == "finish":
            return await self.send_update(job_id, "finish", Finish())
        if control == "cancel":
            job = await jobs.find_running(self.client, job_id)
            if await self.wait_for_worker(job_id, jobs.cancel(job)):
                return "cancelled"
            raise ConflictError(f"The job {job_id} finished first: read its report.")
        job = await jobs.find_running(self.client, job_id)
        started = self.start_worker(job_id)
        try:
            return await self.wait_for_worker(job_id, jobs.send_update(job, "resume", Resume()))
        except UpdateRejectedError:
            # It was only stopped: with a worker it continues by itself.
            if not started:
                raise
            return "continued"

    async def restart(self, job_id: str, name: str | None, facet: str | None = None) -> str:
        """Start a new run from a checkpoint, by default the last one; returns its name."""
        _, origin = await runs.restart(self.client, self.checkpoints, job_id, name, facet)
        self.start_worker(job_id)
        return origin.checkpoint

    async def fetch_outcome(self, job: Job, run_id: str) -> ResearchResult | str:
        """The result of a closed run, or the reason why there is none."""
        try:
            return await self.result_cache.get_or_load(run_id, lambda: jobs.fetch_outcome(job))
        except RPCError as error:
            raise jobs.no_answer(error) from error

    async def fetch_report(self, job_id: str) -> ResearchResult:
        """The newest report of a job. Raises `ConflictError` if it has none."""
        job, description = await jobs.find(self.client, job_id)
        if job.found is StartState.RUNNING:
            status = await jobs.query_status(job)
            if status is None or status.phase is not Phase.FINISHED:
                raise ConflictError(f"The job {job_id} has no report yet: see how far it is.")
            # A webhook may be told that the report is there before the workflow is closed.
            return await asyncio.wait_for(jobs.wait_for_result(job), _CLOSING_SECONDS)
        outcome = await self.fetch_outcome(job, description.run_id)
        if isinstance(outcome, str):
            raise ConflictError(f"The job {job_id} ended without a report: {outcome}.")
        return outcome

    async def delete(self, job_id: str) -> deletion.Receipt:
        """Delete a job that the current actor sees, also from memory."""
        await jobs.find(self.client, job_id)
        store = store_of(self.client)
        try:
            with explain_store_errors("Nothing was deleted"):
                return await deletion.delete_jobs(self.client, self.settings, store, [job_id])
        finally:
            caches = (self.small_cache, self.result_cache, self.text_cache, self.checkpoint_cache)
            for cache in caches:
                cache.clear()

    async def sleep(self, seconds: float) -> None:
        """Sleep, but not beyond the end of the server."""
        for _ in range(max(1, round(seconds / _TICK_SECONDS))):
            if self.is_closing():
                return
            await asyncio.sleep(_TICK_SECONDS)

    def put_notice(self, notice: Notice) -> str:
        """Keep a notice for the next page; the returned name goes into its URL."""
        name = secrets.token_urlsafe(6)
        self._notices[name] = notice
        return name

    def pop_notice(self, name: str | None) -> Notice | None:
        return self._notices.pop(name, None) if name else None
