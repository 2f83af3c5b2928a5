"""Of several requests that start alike, the first goes alone until the provider has its beginning.

Parallel subagents share model, tools, system prompt, thinking and effort. Sent at once, each would
pay for writing the same beginning to the prompt cache; sent behind the first one's first event,
they read it. Nobody waits long: a first request that fails or dawdles lets the others go.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

JsonObject = dict[str, Any]

WAIT_SECONDS = 20.0
LIFE_SECONDS = 270.0
"""The provider keeps a beginning for five minutes after it was last used."""
_SHARED = ("model", "system", "tools", "thinking", "output_config")


class Warmth:
    def __init__(self, wait_seconds: float = WAIT_SECONDS) -> None:
        self._wait = wait_seconds
        self._leading: dict[str, asyncio.Event] = {}
        self._warm_until: dict[str, float] = {}

    @asynccontextmanager
    async def turn(self, body: JsonObject) -> AsyncIterator[Callable[[], None]]:
        """Enters when the request may be sent. Call what it yields at the answer's first event."""
        beginning = beginning_of(body)
        now = asyncio.get_running_loop().time
        leader = self._leading.get(beginning)
        if self._warm_until.get(beginning, 0.0) <= now():
            if leader is not None:
                await _at_most(self._wait, leader)
            else:
                leader = self._leading[beginning] = asyncio.Event()
                try:
                    yield lambda: self._warmed(beginning)
                finally:
                    # Also without an event: whoever waits is to find out for himself.
                    self._release(beginning, leader)
                return
        yield lambda: self._warmed(beginning)

    def _warmed(self, beginning: str) -> None:
        now = asyncio.get_running_loop().time()
        if self._warm_until.get(beginning, 0.0) > now + LIFE_SECONDS - 1:
            return  # said of every event of an answer, and true since the first
        self._warm_until = {key: end for key, end in self._warm_until.items() if end > now}
        self._warm_until[beginning] = now + LIFE_SECONDS
        if leader := self._leading.get(beginning):
            self._release(beginning, leader)

    def _release(self, beginning: str, leader: asyncio.Event) -> None:
        leader.set()
        if self._leading.get(beginning) is leader:
            del self._leading[beginning]


def beginning_of(body: JsonObject) -> str:
    shared = json.dumps({key: body.get(key) for key in _SHARED}, sort_keys=True)
    return hashlib.sha256(shared.encode()).hexdigest()


async def _at_most(seconds: float, event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
