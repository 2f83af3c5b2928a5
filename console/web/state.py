"""What all pages share: the client, the checkpoint store, caches and notices."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from console.client.checkpoints import CheckpointStore
from console.client.session import Session

Value = TypeVar("Value")
_TICK_SECONDS = 0.2

Tone = Literal["good", "warn", "bad", "busy"]


@dataclass(frozen=True)
class Notice:
    """A message at the top of a page."""

    text: str
    tone: Tone = "good"


class Cache:
    """The most recently used values; only for what cannot change, such as a closed run."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, Any] = OrderedDict()

    async def get(self, key: Hashable, load: Callable[[], Awaitable[Value]]) -> Value:
        if key not in self._values:
            self.put(key, await load())
        self._values.move_to_end(key)
        value: Value = self._values[key]
        return value

    def put(self, key: Hashable, value: object) -> None:
        self._values[key] = value
        while len(self._values) > self._size:
            self._values.popitem(last=False)

    def pop(self, key: Hashable) -> Any:
        return self._values.pop(key, None)


class AppState:
    def __init__(self, session: Session) -> None:
        self.client = session.client
        self.session = session
        self.settings = session.settings
        self.checkpoints = CheckpointStore.open(session.settings)
        self.small_cache = Cache(4000)
        """Requests, rows of closed jobs and of checkpoints, contradictions."""
        self.result_cache = Cache(6)
        """Whole results, which may be large."""
        self.checkpoint_cache = Cache(40)
        """The checkpoints of a job, with its last state."""
        self.worker_error = ""
        """Why the worker process does not run."""
        self.is_closing: Callable[[], bool] = lambda: False
        self._notices = Cache(200)

    @property
    def temporal_ui(self) -> str:
        server = self.session.server
        return server.web if server else ""

    async def sleep(self, seconds: float) -> None:
        """Sleep, but not beyond the end of the server."""
        for _ in range(max(1, round(seconds / _TICK_SECONDS))):
            if self.is_closing():
                return
            await asyncio.sleep(_TICK_SECONDS)

    def put_notice(self, notice: Notice) -> str:
        """Keep a notice for the next page; the returned name goes into its URL."""
        name = secrets.token_urlsafe(6)
        self._notices.put(name, notice)
        return name

    def pop_notice(self, name: str | None) -> Notice | None:
        found: Notice | None = self._notices.pop(name) if name else None
        return found
