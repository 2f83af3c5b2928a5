"""Model calls that are in flight in this process, shared by the attempts that want their answer.

A call outlives the attempt that made it where Temporal has given that attempt up (its heartbeats
came late, or its answer could not be stored): the next attempt on this worker joins the call and
pays nothing.

1. The call and the storing of its answer run in a task of their own.
2. An attempt waits for the task. Where the answer cannot be stored, the attempt ends with that
   error, so that people see it; the task keeps the answer and tries again.
3. An attempt that was cancelled by a person takes the call with it, unless another one waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar
from weakref import WeakKeyDictionary

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.storage.store import Store
from workflows.config.policies import STORAGE

T = TypeVar("T")
ANSWER_BYTES = 1_000_000
"""The room an answer must find in the store before the model is asked."""
STORE_SECONDS = 3600.0
"""How long an answer that cannot be stored is kept in memory."""
_TROUBLE_SECONDS = 3.0
"""How long an attempt waits for an answer to be stored before it reports the trouble."""
_ORPHAN_SECONDS = 60.0
"""How long a call goes on that no attempt waits for."""
_LONGEST_DELAY = 5.0


@dataclass
class _Call(Generic[T]):
    task: asyncio.Task[T] | None = None
    waiting: int = 0
    trouble: ApplicationError | None = None
    """Why the answer could not be stored at the last try."""

    async def store(self, write: Callable[[], Awaitable[T]]) -> T:
        """Write until it succeeds: the answer is paid for."""
        clock = asyncio.get_running_loop().time
        deadline, delay = clock() + STORE_SECONDS, 0.25
        while True:
            try:
                return await write()
            except ApplicationError as error:
                if error.type != STORAGE or clock() > deadline:
                    raise
                self.trouble = error
            delay = min(2 * delay, _LONGEST_DELAY)
            await asyncio.sleep(delay)


class SharedCalls:
    """The calls of a worker, by what they ask."""

    _by_store: ClassVar[MutableMapping[Store, SharedCalls]] = WeakKeyDictionary()

    def __init__(self) -> None:
        self._calls: dict[str, _Call[object]] = {}

    @classmethod
    def of(cls, store: Store) -> SharedCalls:
        return cls._by_store.setdefault(store, cls())

    async def run(
        self,
        key: str,
        ask: Callable[[], Awaitable[Callable[[], Awaitable[T]]]],
    ) -> T:
        """Join the call under this key, or make it.

        `ask` makes the call and returns a function that stores its answer.
        """
        call: _Call[T] | None = self._calls.get(key)  # type: ignore[assignment]
        if call is None:
            call = self._start(key, ask)
        call.waiting += 1
        try:
            return await self._wait(call)
        except asyncio.CancelledError:
            self._let_go(call)
            raise
        finally:
            call.waiting -= 1

    def _start(
        self, key: str, ask: Callable[[], Awaitable[Callable[[], Awaitable[T]]]]
    ) -> _Call[T]:
        call: _Call[T] = _Call()

        async def ask_and_store() -> T:
            return await call.store(await ask())

        def forget(task: asyncio.Task[T]) -> None:
            self._calls.pop(key, None)
            if not task.cancelled():
                task.exception()  # seen by those who waited, if anybody did

        call.task = asyncio.create_task(ask_and_store())
        call.task.add_done_callback(forget)
        self._calls[key] = call  # type: ignore[assignment]
        return call

    async def _wait(self, call: _Call[T]) -> T:
        assert call.task is not None  # noqa: S101
        clock = asyncio.get_running_loop().time
        since: float | None = None
        # Trouble from before this attempt may be over: the next try to store tells.
        earlier = call.trouble
        while not (await asyncio.wait({call.task}, timeout=0.25))[0]:
            if call.trouble is not None and call.trouble is not earlier:
                since = since or clock()
                if clock() - since > _TROUBLE_SECONDS:
                    raise call.trouble
        return call.task.result()

    def _let_go(self, call: _Call[T]) -> None:
        """An attempt was cancelled: end the call now, or later if no other attempt joins it."""

        def end() -> None:
            if call.task is not None and not call.waiting:
                call.task.cancel()

        # `waiting` is counted down after this.
        loop = asyncio.get_running_loop()
        loop.call_later(_ORPHAN_SECONDS if _was_replaced() else 0.0, end)


def _was_replaced() -> bool:
    """Whether Temporal gave the attempt up, so that another one is to be expected."""
    if not activity.in_activity():
        return False
    details = activity.cancellation_details()
    return details is None or not (
        details.cancel_requested or details.paused or details.worker_shutdown
    )
