"""Completed turns and tool results, kept where a crash cannot reach them.

A turn is stored, create-if-absent, under the job and a fingerprint of the exact request, before
anyone acts on it. A retry, a reset, a restart or a fork that comes to the same request finds the
answer and pays nothing; two attempts that race agree on the first answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from activities.store import Store

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Turn:
    """A model's message, and how it was come by."""

    fingerprint: str
    message: JsonObject
    bought_again: bool
    """This attempt asked for a turn that had been asked for before and not kept, or lost a race."""


class Journal:
    def __init__(self, store: Store, job: str) -> None:
        self._store = store
        self._folder = f"journal/{job}"

    async def turn(self, request: JsonObject, ask: Callable[[], Awaitable[JsonObject]]) -> Turn:
        """The stored answer to this request, or a new one, stored before it is returned."""
        fingerprint = fingerprint_of(request)
        key = f"{self._folder}/{fingerprint}"
        kept = await self._store.get(f"{key}.json")
        if kept is not None:
            return _read(fingerprint, kept)
        first = await self._store.put_new(f"{key}.asked", b"")
        try:
            message = await ask()
        except Exception:
            # An error is not billed: the next try is a first purchase again.
            await self._store.delete(f"{key}.asked")
            raise
        record = json.dumps({"message": message, "bought_again": not first}).encode()
        if await self._store.put_new(f"{key}.json", record):
            return Turn(fingerprint, message, bought_again=not first)
        winner = await self._store.get(f"{key}.json")
        turn = _read(fingerprint, winner or record)
        return Turn(fingerprint, turn.message, bought_again=True)

    async def tool_result(
        self, turn: Turn, tool_use_id: str, run: Callable[[], Awaitable[JsonObject]]
    ) -> JsonObject:
        """What a tool returned the first time: the world may have changed since, the run not."""
        key = f"{self._folder}/{turn.fingerprint}.{tool_use_id}.json"
        kept = await self._store.get(key)
        if kept is None:
            result = await run()
            if await self._store.put_new(key, json.dumps(result).encode()):
                return result
            kept = await self._store.get(key)
        found: JsonObject = json.loads(kept or b"{}")
        return found


def fingerprint_of(request: JsonObject) -> str:
    exact = json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(exact.encode()).hexdigest()[:40]


def _read(fingerprint: str, kept: bytes) -> Turn:
    record: JsonObject = json.loads(kept)
    return Turn(fingerprint, record["message"], record["bought_again"])
