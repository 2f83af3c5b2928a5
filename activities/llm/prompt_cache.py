"""Lets the first of several requests with the same prefix fill the provider's prompt cache.

Parallel subagents share model, tools, system prompt, thinking and effort. Sent at once, each of
their requests would pay for writing the same prefix to the cache; sent after the first event of
the first answer, they read it. A first request that fails or is slow lets the others go.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

JsonObject = dict[str, Any]

WAIT_SECONDS = 20.0
CACHE_SECONDS = 270.0
"""The provider keeps a prefix for five minutes after its last use."""
_PREFIX = ("model", "system", "tools", "thinking", "output_config")


class PromptCache:
    """Which prefixes are in the provider's cache, and which request is filling it."""

    def __init__(self, wait_seconds: float = WAIT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._leaders: dict[str, asyncio.Event] = {}
        self._cached_until: dict[str, float] = {}

    @asynccontextmanager
    async def admit(self, body: JsonObject) -> AsyncIterator[Callable[[], None]]:
        """Enters when the request may be sent. Call what it yields at the answer's first event."""
        prefix = prefix_of(body)
        now = asyncio.get_running_loop().time
        leader = self._leaders.get(prefix)
        if self._cached_until.get(prefix, 0.0) <= now():
            if leader is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._wait_seconds):
                        await leader.wait()
            else:
                leader = self._leaders[prefix] = asyncio.Event()
                try:
                    yield lambda: self._record(prefix)
                finally:
                    # Also where no event came: the next request becomes the leader.
                    self._release(prefix, leader)
                return
        yield lambda: self._record(prefix)

    def _record(self, prefix: str) -> None:
        """The provider has the prefix in its cache."""
        now = asyncio.get_running_loop().time()
        if self._cached_until.get(prefix, 0.0) > now + CACHE_SECONDS - 1:
            return  # called for every event of an answer
        self._cached_until = {key: end for key, end in self._cached_until.items() if end > now}
        self._cached_until[prefix] = now + CACHE_SECONDS
        if leader := self._leaders.get(prefix):
            self._release(prefix, leader)

    def _release(self, prefix: str, leader: asyncio.Event) -> None:
        leader.set()
        if self._leaders.get(prefix) is leader:
            del self._leaders[prefix]


def prefix_of(body: JsonObject) -> str:
    shared = json.dumps({key: body.get(key) for key in _PREFIX}, sort_keys=True)
    return hashlib.sha256(shared.encode()).hexdigest()
