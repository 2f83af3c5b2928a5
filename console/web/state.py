"""What all pages share: the client, the checkpoint store, caches and notices."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from cachetools import LRUCache
from temporalio.exceptions import ApplicationError

from console.client import deletion, jobs
from console.client.checkpoints import CheckpointStore
from console.client.jobs import Job, UpdateRejectedError
from console.client.session import Session
from console.errors import ConsoleError
from console.runtime.data_converter import store_of
from workflows.contracts.messages import Resume

Value = TypeVar("Value")
MAX_SEARCHED = 200
"""How many of the newest reports a search reads."""
_TICK_SECONDS = 0.2

Tone = Literal["good", "warn", "bad", "busy"]


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

    async def resume(self, job: Job) -> str:
        """Continue a job that is blocked, paused or stopped."""
        started = self.start_worker(job.id)
        update = jobs.send_update(job, "resume", Resume())
        try:
            return (await self.session.wait_for_worker(update, job.id))[0]
        except UpdateRejectedError:
            # It was only stopped: with a worker it continues by itself.
            if not started:
                raise
            return "continued"

    async def delete(self, job_id: str) -> deletion.Receipt:
        """Delete a job that the current actor sees, also from memory."""
        await jobs.find(self.client, job_id)
        try:
            return await deletion.delete_jobs(
                self.client, self.settings, store_of(self.client), [job_id]
            )
        except ApplicationError as error:
            raise ConsoleError(f"Nothing was deleted: {error.message}.") from error
        finally:
            for cache in (self.small_cache, self.result_cache, self.text_cache):
                cache.clear()
            self.checkpoint_cache.clear()

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
