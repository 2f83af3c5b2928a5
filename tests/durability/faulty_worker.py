"""A worker with something wrong in it, for what a test wants to see; else it is `worker.py`.

FAULT=slow_store       every use of the store takes a while, and some writes fail
FAULT=forgetful        the journal never finds a turn it kept
FAULT=miscounting      turns that were bought again are not counted
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from obstore.exceptions import GenericError

import worker
from activities.storage import journal as journals
from activities.storage.backends import Backend
from activities.storage.journal import Journal, Turn
from activities.storage.store import Store

JsonObject = dict[str, Any]
_SLOW = 0.03
_FAILS = 60
"""One write in so many."""


def slow_store() -> None:
    writes = itertools.count(1)
    opened = Store.__init__

    class Slow:
        """What stands behind the store, and fails where a disk or a bucket would."""

        def __init__(self, objects: Backend) -> None:
            self._objects = objects

        async def create(self, place: str, data: bytes) -> bool:
            await self._write()
            return await self._objects.create(place, data)

        async def replace(self, place: str, data: bytes) -> None:
            await self._write()
            await self._objects.replace(place, data)

        async def read(self, place: str) -> bytes | None:
            await asyncio.sleep(_SLOW)
            return await self._objects.read(place)

        async def _write(self) -> None:
            await asyncio.sleep(_SLOW)
            if next(writes) % _FAILS == 0:
                raise GenericError("the disk is not in the mood")

        def __getattr__(self, name: str) -> Any:
            return getattr(self._objects, name)

    def open_slowly(self: Store, objects: Any, *args: Any, **more: Any) -> None:
        behind: Any = Slow(objects)
        opened(self, behind, *args, **more)

    Store.__init__ = open_slowly  # type: ignore[method-assign, assignment]


def forgetful() -> None:
    async def find(self: Journal, request: JsonObject) -> Turn | None:
        return None

    async def call(
        self: Journal, request: JsonObject, ask: Callable[[], Awaitable[JsonObject]]
    ) -> Turn:
        await self._mark_call(request)
        return await self.store(request, await ask())

    Journal.find, Journal.call = find, call  # type: ignore[method-assign]


def miscounting() -> None:
    class Uncounted(Turn):
        def __init__(self, fingerprint: str, message: JsonObject, *_: Any, **__: Any) -> None:
            super().__init__(fingerprint, message)

    journals.Turn = Uncounted  # type: ignore[misc]


if __name__ == "__main__":
    {"slow_store": slow_store, "forgetful": forgetful, "miscounting": miscounting}[
        os.environ["FAULT"]
    ]()
    asyncio.run(worker.main())
