"""The turn journal: completed model turns and tool results, stored where a crash cannot reach them.

A turn is stored, create-if-absent, under the job and a fingerprint of the exact request, before
anyone acts on it. A retry, a reset, a restart or a fork that sends the same request finds the
answer and pays nothing; two attempts that race agree on the first answer.

    {fingerprint}.json              the turn
    {fingerprint}/call-{n}          one model call for it: written before the call is made, deleted
                                    if the provider did not charge it
    {fingerprint}.waiting/{token}   an attempt that waits for another process's call
    {fingerprint}.interrupt.json    the interrupt that was inserted instead of sending this request
    {fingerprint}.batch.json        the batch that was created for it
    {fingerprint}.{tool use}.json   what a tool returned
    {fingerprint}.attempt-{n}.json  an attempt at an answer to this request that led nowhere

All calls for a stored turn except one were repeated: reports and metrics give their number.

A crash replays the stored turns; a failure must not. An attempt whose turns led to no usable answer
is closed with the reason, and the next one sends another request: it says what went wrong.

The attempt that makes the first call for a request is the first to get this far in the
conversation. Nothing can be stored beyond its turn, so it does not look the next request up.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.storage.calls_in_flight import ANSWER_BYTES, SharedCalls
from activities.storage.store import Store
from workflows.config.store_keys import journal_folder, safe

JsonObject = dict[str, Any]
_Answer = TypeVar("_Answer")

LONGEST_WAIT_SECONDS = 900.0
"""How long another process's call is waited for."""
_POLL_SECONDS = 0.5

MAYBE_CHARGED = ("broken_answer", "turn_timeout")
"""Error types after which the provider may have charged the call."""


@dataclass(frozen=True)
class Turn:
    """A message of the model, and how many calls for it were made in vain."""

    fingerprint: str
    message: JsonObject
    repeated_calls: int = 0
    is_first: bool = field(default=False, compare=False)
    """Its call was the first for this request: nothing can be stored beyond it."""
    task: str = field(default="", compare=False)
    """Whose call it was: another task of the job that sends the same request pays nothing."""


class Journal:
    def __init__(self, store: Store, job: str, task: str = "") -> None:
        self.task = task
        self._store = store
        self._folder = journal_folder(job)
        self._newest: tuple[JsonObject, str] | None = None

    # --- turns ----------------------------------------------------------------------------------

    async def find(self, request: JsonObject) -> Turn | None:
        """The stored turn for this request."""
        record = await self._store.get(f"{self._path(request)}.json", is_replaceable=True)
        return None if record is None else await self._read(request, record)

    async def call(self, request: JsonObject, ask: Callable[[], Awaitable[JsonObject]]) -> Turn:
        """Make the model call and store its answer before returning it.

        An attempt that wants what another one is asking for waits for that call.
        """

        async def ask_once() -> Callable[[], Awaitable[Turn]]:
            # A full disk takes the mark, which is empty, and not the answer.
            await self._store.probe(ANSWER_BYTES)
            claimed = await self._claim_call(request)
            if claimed is None:
                return lambda: self._find_stored(request)
            marker, is_first = claimed
            # Other processes see by its mark that the call is alive.
            async with self._store.keep_fresh(marker, _refresh_seconds()):
                message = await self._charge(marker, ask)
            return lambda: self.store(request, message, is_first)

        return await SharedCalls.of(self._store).run(self._path(request), ask_once)

    async def store(self, request: JsonObject, message: JsonObject, is_first: bool = False) -> Turn:
        """Store the message as this request's turn, unless there is one.

        `is_first` says that the call was the first one that was marked for the request.
        """
        key = f"{self._path(request)}.json"
        record = json.dumps({"message": message, "task": self.task}).encode()
        if is_first and await self._store.put_new(key, record):
            # A call that is marked from now on finds the turn and deletes its mark.
            others = max(0, await self._count_calls(request) - 1)
            fingerprint = self._fingerprint(request)
            return Turn(fingerprint, message, others, is_first=not others, task=self.task)
        return await self._read(request, await self._store.settle(key, record))

    async def was_sent(self, request: JsonObject) -> bool:
        """Whether a call was made for the request, which may have been charged."""
        return await self._count_calls(request) > 0

    async def has_conversation(self, request: JsonObject) -> bool:
        """Whether a conversation that opens with this request left a trace."""
        path = self._path(request)
        return (
            await self._store.get(f"{path}.json") is not None
            or await self._store.get(f"{path}.interrupt.json") is not None
        )

    # --- attempts -------------------------------------------------------------------------------

    async def closed_attempts(self, request: JsonObject) -> list[JsonObject]:
        """The attempts at an answer to this request that led nowhere, as they were closed."""
        closed: list[JsonObject] = []
        while stored := await self._store.get(self._attempt_key(request, len(closed))):
            closed.append(_load(stored))
        return closed

    async def close_attempt(self, request: JsonObject, number: int, record: JsonObject) -> None:
        await self._store.settle(self._attempt_key(request, number), json.dumps(record).encode())

    def _attempt_key(self, request: JsonObject, number: int) -> str:
        return f"{self._path(request)}.attempt-{number}.json"

    # --- interrupts, batches, tools -------------------------------------------------------------

    async def find_interrupt(self, request: JsonObject) -> JsonObject | None:
        """The interrupt that was inserted instead of sending this request."""
        key = f"{self._path(request)}.interrupt.json"
        stored = await self._store.get(key, is_replaceable=True)
        return None if stored is None else _load(stored)

    async def store_interrupt(self, request: JsonObject, interrupt: JsonObject) -> JsonObject:
        """Store the interrupt; returns the one that another attempt stored before, if any."""
        key = f"{self._path(request)}.interrupt.json"
        return _load(await self._store.settle(key, json.dumps(interrupt).encode()))

    async def batch_id(self, request: JsonObject, create: Callable[[], Awaitable[str]]) -> str:
        """The id of the batch for this request, which is created if there is none."""
        key = f"{self._path(request)}.batch.json"
        stored = await self._store.get(key)
        if stored is None:
            marker, _ = await self._mark_call(request)
            stored = await self._store.get(key)
            if stored is None:
                batch = {"id": await self._charge(marker, create), "marker": marker}
                stored = await self._store.settle(key, json.dumps(batch).encode())
            else:
                await self._store.delete(marker)
        return str(_load(stored)["id"])

    async def delete_batch(self, request: JsonObject) -> None:
        """The batch failed and was not charged: the next attempt creates another."""
        key = f"{self._path(request)}.batch.json"
        stored = await self._store.get(key)
        if stored is not None:
            await self._store.delete(_load(stored)["marker"])
            await self._store.delete(key)

    async def tool_result(
        self, turn: Turn, tool_use_id: str, run: Callable[[], Awaitable[JsonObject]]
    ) -> JsonObject:
        """What the tool returned the first time: a replay must not see a world that changed."""
        key = f"{self._folder}/{turn.fingerprint}.{safe(tool_use_id)}.json"
        stored = None if turn.is_first else await self._store.get(key, is_replaceable=True)
        if stored is None:
            stored = await self._store.settle(key, json.dumps(await run()).encode())
        return _load(stored)

    # --- calls ----------------------------------------------------------------------------------

    async def _mark_call(self, request: JsonObject) -> tuple[str, bool]:
        """Write down that a call is about to be made; also returns whether it is the first.

        A turn is stored only by an attempt that marked its call, so where there is no mark there
        is no turn.
        """
        path, n = self._path(request), 1
        while not await self._store.put_new(f"{path}/call-{n}", b""):
            n += 1
        return f"{path}/call-{n}", n == 1

    async def _claim_call(self, request: JsonObject) -> tuple[str, bool] | None:
        """The mark of a call that is to be made now, and whether it is the first; None where the
        call of another process has brought the turn."""
        path = self._path(request)
        if await self._store.put_new(f"{path}/call-1", b""):
            return f"{path}/call-1", True
        clock = asyncio.get_running_loop().time
        deadline = clock() + LONGEST_WAIT_SECONDS
        while await self._store.get(f"{path}.json") is None:
            if clock() > deadline or not await self._calls_in_flight(request):
                marker, is_first = await self._mark_call(request)
                others = await self._calls_in_flight(request) - 1
                # Looked up last: a process that was frozen may wake and store its answer now.
                is_stored = await self._store.get(f"{path}.json") is not None
                if not is_stored and (clock() > deadline or others <= 0):
                    return marker, is_first
                await self._store.delete(marker)
            # Not all at the same time: those who wait must not take each other for callers.
            await asyncio.sleep(_POLL_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311
        return None

    async def _calls_in_flight(self, request: JsonObject) -> int:
        """How many calls for the request are being made, in any process.

        A call in flight makes its mark new again and again; one whose mark has become old is dead.
        Ages are counted by the store's clock, from an object that is written for it. It is not
        among the marks, which are counted as calls.
        """
        path = self._path(request)
        now = f"{path}.waiting/{secrets.token_hex(8)}"
        await self._store.put_new(now, b"")
        ages = await self._store.ages(path, now)
        await self._store.delete(now)
        return sum(age < 3 * _refresh_seconds() for age in ages.values())

    async def _find_stored(self, request: JsonObject) -> Turn:
        if (turn := await self.find(request)) is None:
            gone = f"the turn {self._path(request)} was stored and is gone: it is asked for again"
            raise ApplicationError(gone, type="broken_answer")
        return turn

    async def _charge(self, marker: str, call: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Make a call; delete its mark where the provider did not charge it.

        An error is not charged. An answer that broke off may be; so may one that was cancelled,
        which is no `Exception` and keeps its mark.
        """
        try:
            return await call()
        except Exception as error:
            if not (isinstance(error, ApplicationError) and error.type in MAYBE_CHARGED):
                await self._store.delete(marker)
            raise

    async def _count_calls(self, request: JsonObject) -> int:
        return len(await self._store.list(self._path(request)))

    async def _read(self, request: JsonObject, record: bytes) -> Turn:
        # Counted when it is read: an attempt that lost a race may have marked its call later.
        repeated = max(0, await self._count_calls(request) - 1)
        stored = _load(record)
        return Turn(self._fingerprint(request), stored["message"], repeated, task=stored["task"])

    def _path(self, request: JsonObject) -> str:
        return f"{self._folder}/{self._fingerprint(request)}"

    def _fingerprint(self, request: JsonObject) -> str:
        """Computed once for a request, which is looked up several times and never changed."""
        if self._newest is None or self._newest[0] is not request:
            self._newest = request, fingerprint_of(request)
        return self._newest[1]


def _refresh_seconds() -> float:
    """How often a call in flight makes its mark new. A worker that died is noticed no sooner than
    its heartbeats are missed."""
    timeout = activity.info().heartbeat_timeout if activity.in_activity() else None
    return timeout.total_seconds() / 3 if timeout else 1.0


def fingerprint_of(request: JsonObject) -> str:
    exact = json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(exact.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _load(record: bytes) -> JsonObject:
    loaded: JsonObject = json.loads(record)
    return loaded
