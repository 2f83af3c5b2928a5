"""Limits for all workers together: how many subagents at once, how many model calls a minute.

Every worker keeps a presence record in the store and reads those of the others. Each takes an equal
share of the limits, so that no worker has to ask another before it acts, and a limit holds for any
number of workers. A worker that joins later waits until the others have made room: a record also
says how many subagents its worker runs, which may be more than its share until they end. The share
of a worker that is gone falls to the others when its record is old.

A worker that gets a rate limit slows down and says so in its record at once; the others wait as
long as the provider asked.

Ages are measured by the store's clock, so the clocks of the machines need not agree.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from time import monotonic

from activities.storage.store import Store
from workflows.config.store_keys import safe

log = logging.getLogger(__name__)

FOLDER = "fleet"
SLOWEST = 0.1
"""The lowest share of its pace that a worker slows down to."""
RECOVERY_SECONDS = 60.0
"""The time from the slowest pace back to the full one."""


@dataclass(frozen=True)
class FleetLimits:
    """Limits of the whole fleet; None is no limit."""

    subagents: int | None = None
    turns_per_minute: float | None = None

    @property
    def is_set(self) -> bool:
        return self.subagents is not None or self.turns_per_minute is not None


class Fleet:
    """One worker's part in the fleet."""

    def __init__(
        self,
        store: Store,
        name: str,
        limits: FleetLimits,
        capacity: int = 1000,
        interval: float = 2.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`capacity` is how many subagents this worker runs at most, whatever its share.

        The presence record is written every `interval` seconds; one three times as old is ignored.
        """
        self._store = store
        self._name = safe(name)
        self._limits = limits
        self._capacity = capacity
        self._interval = interval
        self._clock = clock
        self._members: tuple[str, ...] = (self._name,)
        self._used_by_others = 0
        self._wait_until = 0.0
        self._in_use = 0
        self._changed = asyncio.Event()
        self._hold_changed = asyncio.Event()
        self._next_turn = 0.0
        self._own_hold_until = 0.0
        self._hold_until = 0.0
        self._pace = 1.0
        self._paced_at = clock()

    # --- subagents ------------------------------------------------------------------------------

    @property
    def share(self) -> int:
        """How many subagents this worker may run now."""
        if self._limits.subagents is None:
            return self._capacity
        if self._clock() < self._wait_until:
            return 0
        limit = self._limits.subagents
        each, rest = divmod(limit, len(self._members))
        equal = each + (self._members.index(self._name) < rest)
        # Others may still have more than their equal share, from the time when they were fewer.
        return max(0, min(self._capacity, equal, limit - self._used_by_others))

    def try_reserve(self) -> bool:
        if self._in_use >= self.share:
            return False
        self._in_use += 1
        return True

    async def reserve(self) -> None:
        """Wait for a slot among the subagents of the fleet."""
        while not self.try_reserve():
            self._changed.clear()
            # The share may grow without a slot being released here.
            try:
                await asyncio.wait_for(self._changed.wait(), self._interval)
            except TimeoutError:
                continue

    def release(self) -> None:
        self._in_use -= 1
        self._changed.set()

    # --- model calls ----------------------------------------------------------------------------

    async def wait_for_turn(self) -> None:
        """Wait until another model call may be made."""
        while (wait := self._wait()) > 0:  # noqa: ASYNC110 - another may have gone first
            await asyncio.sleep(wait)
        if self._limits.turns_per_minute is not None:
            now = self._clock()
            self._next_turn = max(self._next_turn, now) + self._gap()

    def slow_down(self, seconds: float) -> None:
        """Wait as long as the provider asked, then go on at half the pace for a while."""
        self._recover()
        self._pace = max(SLOWEST, self._pace / 2)
        self._own_hold_until = max(self._own_hold_until, self._clock() + seconds)
        self._hold_until = max(self._hold_until, self._own_hold_until)
        self._hold_changed.set()

    def _wait(self) -> float:
        return max(self._hold_until, self._next_turn, self._wait_until) - self._clock()

    def _gap(self) -> float:
        """Seconds between two turns of this worker."""
        self._recover()
        rate = (self._limits.turns_per_minute or 0.0) / 60 / len(self._members)
        return 1 / (rate * self._pace)

    def _recover(self) -> None:
        now = self._clock()
        self._pace = min(1.0, self._pace + (now - self._paced_at) / RECOVERY_SECONDS)
        self._paced_at = now

    # --- the other workers ----------------------------------------------------------------------

    @asynccontextmanager
    async def join(self) -> AsyncIterator[None]:
        """Write the presence record, and read those of the others, while the body runs."""
        await self._exchange()
        if len(self._members) > 1:
            # The others still use what will be the share of this worker.
            self._wait_until = self._clock() + 2 * self._interval
        exchanging = asyncio.create_task(self._exchange_regularly())
        try:
            yield
        finally:
            exchanging.cancel()
            with suppress(asyncio.CancelledError):
                await exchanging
            await self._leave()

    async def _exchange_regularly(self) -> None:
        while True:
            self._hold_changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hold_changed.wait(), self._interval)
            await self._exchange()

    async def _exchange(self) -> None:
        """Write and read presence records. Where the store fails, the shares stay as they were."""
        try:
            mine = f"{FOLDER}/{self._name}.json"
            # Only what the provider told this worker: a hold that is passed on would never end.
            hold = max(0.0, self._own_hold_until - self._clock())
            record = {"hold": hold, "subagents": max(self._in_use, self.share)}
            await self._store.replace(mine, json.dumps(record).encode())
            ages = await self._store.ages(FOLDER, mine)
            others = {key for key, age in ages.items() if age < 3 * self._interval} - {mine}
            used = [await self._read_record(key, ages[key]) for key in others]
            self._members = tuple(sorted(_name_of(key) for key in {mine, *others}))
            self._used_by_others = sum(used)
        except Exception:
            log.warning(
                "the presence records of the fleet cannot be read or written", exc_info=True
            )
        self._changed.set()

    async def _read_record(self, key: str, age: float) -> int:
        """How many subagents another worker runs. Its hold is respected here, too."""
        kept = await self._store.get(key)
        if kept is None:
            return 0  # it has just left
        record = json.loads(kept)
        hold = float(record["hold"]) - age
        if hold > 0:
            self._hold_until = max(self._hold_until, self._clock() + hold)
        return int(record["subagents"])

    async def _leave(self) -> None:
        try:
            await self._store.delete(f"{FOLDER}/{self._name}.json")
        except Exception:
            log.warning("the presence record of this worker stays until it is old", exc_info=True)


def _name_of(key: str) -> str:
    return key[len(FOLDER) + 1 : -len(".json")]
