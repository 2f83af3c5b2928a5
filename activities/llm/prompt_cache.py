"""Lets the first of several requests with the same prefix fill the provider's prompt cache.

Parallel subagents share model, tools, system prompt, thinking and effort. Sent at once, each of
their requests would pay for writing the same prefix to the cache; sent after the first event of
the first answer, they read it. A first request that fails or is slow lets the others go.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from cachetools import TTLCache

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
        self._cached: TTLCache[str, None] = TTLCache(1000, CACHE_SECONDS)

    @asynccontextmanager
    async def admit(self, body: JsonObject) -> AsyncIterator[None]:
        """Enters when the request may be sent."""
        prefix = prefix_of(body)
        leader = self._leaders.get(prefix)
        if prefix in self._cached:
            yield
        elif leader is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(leader.wait(), self._wait_seconds)
            yield
        else:
            leader = self._leaders[prefix] = asyncio.Event()
            try:
                yield
            finally:
                # Also where no event came: the next request becomes the leader.
                leader.set()
                if self._leaders.get(prefix) is leader:
                    del self._leaders[prefix]

    def record(self, prefix: str) -> None:
        """An answer goes on, so the provider has the prefix in its cache."""
        self._cached[prefix] = None
        if leader := self._leaders.pop(prefix, None):
            leader.set()


def prefix_of(body: JsonObject) -> str:
    shared = json.dumps({key: body.get(key) for key in _PREFIX}, sort_keys=True)
    return hashlib.sha256(shared.encode()).hexdigest()
