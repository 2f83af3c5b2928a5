"""Completed turns and tool results, kept where a crash cannot reach them.

A turn is stored, create-if-absent, under the job and a fingerprint of the exact request, before
anyone acts on it. A retry, a reset, a restart or a fork that comes to the same request finds the
answer and pays nothing; two attempts that race agree on the first answer.

    {fingerprint}.json              the turn
    {fingerprint}/asked-{n}         one purchase of it: written before asking, gone if not billed
    {fingerprint}.aside.json        what was said before this request was sent, so it was another
    {fingerprint}.errand.json       the batch that was placed for it
    {fingerprint}.{tool use}.json   what a tool returned

All purchases but one of a kept turn were bought again: that is the number a report gives.

Who buys a turn that nobody had asked for before is the first to come this far in the conversation:
what follows it is not looked up either, until somebody else's trace is met.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from temporalio.exceptions import ApplicationError

from activities.storage.store import Store
from workflows.config.store_keys import journal_folder, safe

JsonObject = dict[str, Any]
_Bought = TypeVar("_Bought")

BROKEN_OFF = ("broken_answer", "turn_timeout")
"""Errors after which the provider may have sold the turn all the same."""


@dataclass(frozen=True)
class Turn:
    """A model's message, and how often it was paid for in vain."""

    fingerprint: str
    message: JsonObject
    bought_again: int = 0
    """How many other purchases of it there were whose answer nobody kept."""
    first: bool = field(default=False, compare=False)
    """Bought just now, and nobody had asked for it before: nothing can be kept beyond it."""


class Journal:
    def __init__(self, store: Store, job: str) -> None:
        self._store = store
        self._folder = journal_folder(job)
        self._newest: tuple[JsonObject, str] | None = None

    async def kept(self, request: JsonObject) -> Turn | None:
        """The turn this request was answered with, if it ever was."""
        fingerprint = self._fingerprint(request)
        record = await self._store.get(f"{self._folder}/{fingerprint}.json")
        return None if record is None else await self._read(fingerprint, record)

    async def turn(self, request: JsonObject, ask: Callable[[], Awaitable[JsonObject]]) -> Turn:
        """The stored answer to this request, or a new one, stored before it is returned."""
        return await self.kept(request) or await self.buy(request, ask)

    async def buy(self, request: JsonObject, ask: Callable[[], Awaitable[JsonObject]]) -> Turn:
        """The same for who has just looked: the turn may have been kept since all the same."""
        marker, first = await self._mark(request)
        # Who kept the turn meanwhile has counted the purchases, and this one was not among them.
        if not first and await self._store.get(f"{self._purchases(request)}.json") is not None:
            await self._store.delete(marker)
            return await self.turn(request, ask)
        message = await self._billed(marker, ask)
        return await self.keep(request, message, first)

    async def keep(self, request: JsonObject, message: JsonObject, first: bool = False) -> Turn:
        """The message as this request's turn, unless another was kept before.

        `first`: nobody had put down a purchase of it before the one that brought this.
        """
        fingerprint = self._fingerprint(request)
        key = f"{self._folder}/{fingerprint}.json"
        record = json.dumps({"message": message}).encode()
        if first and await self._store.put_new(key, record):
            # Who puts down a purchase from now on finds the turn and takes it back.
            others = await self._purchased(fingerprint) - 1
            return Turn(fingerprint, message, max(0, others), first=not others)
        return await self._read(fingerprint, await self._store.settle(key, record))

    async def asked(self, request: JsonObject) -> bool:
        """Whether the request was sent before, and may have been paid for."""
        return bool(await self._store.list(self._purchases(request)))

    async def errand(self, request: JsonObject, place: Callable[[], Awaitable[str]]) -> str:
        """The id of the batch placed for this request; one is placed only where there is none."""
        key = self._errand(request)
        kept = await self._store.get(key)
        if kept is None:
            marker, _ = await self._mark(request)
            kept = await self._store.get(key)
            if kept is None:
                placed = {"id": await self._billed(marker, place), "marker": marker}
                kept = await self._store.settle(key, json.dumps(placed).encode())
            else:
                await self._store.delete(marker)
        return str(json.loads(kept)["id"])

    async def drop_errand(self, request: JsonObject) -> None:
        """The batch came to nothing and was not billed: the next try places another."""
        kept = await self._store.get(self._errand(request))
        if kept is not None:
            await self._store.delete(json.loads(kept)["marker"])
            await self._store.delete(self._errand(request))

    async def aside(
        self,
        request: JsonObject,
        decide: Callable[[], Awaitable[JsonObject | None]],
        first: bool = False,
    ) -> JsonObject | None:
        """What is put in before this request is sent; a replay puts in the same at this place.

        Nothing is written where there is nothing to say, or looked up by the `first` to come here.
        """
        key = f"{self._folder}/{self._fingerprint(request)}.aside.json"
        kept = None if first else await self._store.get(key)
        if kept is None:
            said = await decide()
            if said is None:
                return None
            kept = await self._store.settle(key, json.dumps(said).encode())
        found: JsonObject = json.loads(kept)
        return found

    async def began(self, request: JsonObject) -> bool:
        """Whether a conversation that opens with this request has left a trace."""
        key = f"{self._folder}/{self._fingerprint(request)}"
        return (
            await self._store.get(f"{key}.json") is not None
            or await self._store.get(f"{key}.aside.json") is not None
        )

    async def tool_result(
        self, turn: Turn, tool_use_id: str, run: Callable[[], Awaitable[JsonObject]]
    ) -> JsonObject:
        """What a tool returned the first time: the world may have changed since, the run not."""
        key = f"{self._folder}/{turn.fingerprint}.{safe(tool_use_id)}.json"
        kept = None if turn.first else await self._store.get(key)
        if kept is None:
            kept = await self._store.settle(key, json.dumps(await run()).encode())
        found: JsonObject = json.loads(kept)
        return found

    def _fingerprint(self, request: JsonObject) -> str:
        """Worked out once for a request, which is looked up in many ways and never altered."""
        if self._newest is None or self._newest[0] is not request:
            self._newest = request, fingerprint_of(request)
        return self._newest[1]

    def _errand(self, request: JsonObject) -> str:
        return f"{self._folder}/{self._fingerprint(request)}.errand.json"

    def _purchases(self, request: JsonObject) -> str:
        return f"{self._folder}/{self._fingerprint(request)}"

    async def _mark(self, request: JsonObject) -> tuple[str, bool]:
        """Put down that the request is about to be paid for, and whether that is the first time.

        A turn is kept only by who put this down, and it stays where it was: where there is none,
        there is no turn.
        """
        folder, n = self._purchases(request), 1
        while not await self._store.put_new(f"{folder}/asked-{n}", b""):
            n += 1
        return f"{folder}/asked-{n}", n == 1

    async def _billed(self, marker: str, buy: Callable[[], Awaitable[_Bought]]) -> _Bought:
        try:
            return await buy()
        except Exception as error:
            # An error is not billed: the next try is a first purchase again. An answer that broke
            # off may be; so may one nobody waited for, which is a cancellation and passes by here.
            if not (isinstance(error, ApplicationError) and error.type in BROKEN_OFF):
                await self._store.delete(marker)
            raise

    async def _read(self, fingerprint: str, kept: bytes) -> Turn:
        record: JsonObject = json.loads(kept)
        # Counted when it is read: who lost a race may have come after who kept the turn.
        before = int(record.get("bought_again", 0))
        again = max(before, await self._purchased(fingerprint) - 1)
        return Turn(fingerprint, record["message"], again)

    async def _purchased(self, fingerprint: str) -> int:
        return len(await self._store.list(f"{self._folder}/{fingerprint}"))


def fingerprint_of(request: JsonObject) -> str:
    exact = json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(exact.encode("utf-8", "surrogatepass")).hexdigest()[:40]
