"""Limits for all workers together: how many subagents at once, how many model calls a minute.

One worker, the leader, divides the limits; nobody asks another worker before it acts.

1. Every worker writes a presence record: how many subagents it runs, and the share it obeys.
2. The leader reads all records and publishes one object with everybody's share.
3. Every worker reads that object. So an interval costs each worker one write and one read, and the
   leader one read per worker: the number of calls grows with the workers, not with their square.
4. A share shrinks at once and grows only by what the others no longer use: what workers obey and
   run together never exceeds the limit.
5. Where the published object does not change for three intervals, the leader is gone. Whoever
   creates the object of the next term first is the next leader.

Idle shares are lent: an idle worker keeps a slot to poll with, the busy ones divide the rest. A
worker that gets a rate limit slows down; the leader publishes how long the others must wait. Ages
are measured by the changes a worker sees, so the clocks of the machines need not agree.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from time import monotonic

from pydantic import BaseModel
from temporalio.worker import (
    CustomSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
)

from activities.storage.background_tasks import run_beside
from activities.storage.store import Store
from workflows.config.store_keys import safe

log = logging.getLogger(__name__)

MEMBERS = "fleet/members"
PUBLISHED = "fleet/shares.json"
TERMS = "fleet/terms"
STALE_INTERVALS = 3
WORKERS_PER_SECOND = 25
"""A larger fleet exchanges less often, so that the store sees at most so many workers a second."""
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


class Presence(BaseModel):
    """What a worker tells the leader."""

    sequence: int
    capacity: int
    share: int
    """The share it obeys."""
    reserved: int
    """Subagent slots it holds, also those that wait for a task."""
    running: int
    hold: float = 0.0
    """Seconds that the provider asked this worker to wait."""

    @property
    def wanted(self) -> int:
        """A busy worker may double what it runs; an idle one needs a slot to poll with."""
        return min(self.capacity, 2 * self.running + 1)


class Shares(BaseModel):
    """What the leader tells all workers."""

    term: int = 0
    leader: str = ""
    sequence: int = 0
    interval: float = 0.0
    subagents: dict[str, int] = {}
    turns: dict[str, float] = {}
    """Each worker's part of the model calls; together 1."""
    hold: float = 0.0


@dataclass
class _Watch:
    """When something with a sequence number changed last, by this worker's clock."""

    sequence: int = -1
    since: float = 0.0

    def age(self, sequence: int, now: float) -> float:
        if sequence != self.sequence:
            self.sequence, self.since = sequence, now
        return now - self.since


def divide(
    limit: int, members: Mapping[str, Presence], granted: Mapping[str, int]
) -> dict[str, int]:
    """The next shares: towards what each worker wants, within what is free now."""
    targets = _fill({name: m.wanted for name, m in members.items()}, limit)
    busy = {name: m for name, m in members.items() if m.running} or members
    room = {name: m.capacity - targets[name] for name, m in busy.items()}
    for name, more in _fill(room, limit - sum(targets.values())).items():
        targets[name] += more
    committed = sum(max(m.reserved, m.share, granted.get(name, 0)) for name, m in members.items())
    free = max(0, limit - committed)
    shares = {name: min(target, granted.get(name, 0)) for name, target in targets.items()}
    for name in sorted(targets, key=lambda name: (shares[name] - targets[name], name)):
        grown = min(targets[name] - shares[name], free)
        shares[name] += grown
        free -= grown
    return shares


def _fill(wanted: Mapping[str, int], amount: int) -> dict[str, int]:
    """Divide equally, to nobody more than it wants."""
    given = dict.fromkeys(wanted, 0)
    left = sorted(wanted, key=lambda name: (wanted[name], name))
    while left:
        name = left.pop(0)
        given[name] = min(wanted[name], -(-amount // (len(left) + 1)))
        amount -= given[name]
    return given


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
        """`capacity` is how many subagents this worker runs at most, whatever its share."""
        self._store = store
        self._name = safe(name)
        self._key = f"{MEMBERS}/{self._name}.json"
        self._limits = limits
        self._capacity = capacity
        self._shortest_interval = self._interval = interval
        self._clock = clock
        self._term = 0
        """The term in which this worker leads; 0 where another one does."""
        self._watches: dict[str, _Watch] = {}
        self._published = Shares()
        self._published_watch = _Watch()
        self._sequence = 0
        self._reserved = 0
        self._running = 0
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
        return min(self._capacity, self._published.subagents.get(self._name, 0))

    def try_reserve(self) -> bool:
        if self._reserved >= self.share:
            return False
        self._reserved += 1
        return True

    async def reserve(self) -> None:
        """Wait for a slot among the subagents of the fleet."""
        while not self.try_reserve():
            self._changed.clear()
            await self._changed.wait()

    def mark_running(self) -> None:
        """A reserved slot has got a subagent."""
        self._running += 1

    def release(self, *, was_running: bool) -> None:
        self._reserved -= 1
        self._running -= was_running
        self._changed.set()

    # --- model calls ----------------------------------------------------------------------------

    async def wait_for_turn(self) -> None:
        """Wait until another model call may be made."""
        while (wait := self._wait()) > 0:  # noqa: ASYNC110 - another may have gone first
            await asyncio.sleep(wait)
        if self._limits.turns_per_minute is not None:
            self._next_turn = max(self._next_turn, self._clock()) + self._gap()

    def slow_down(self, seconds: float) -> None:
        """Wait as long as the provider asked, then go on at half the pace for a while."""
        self._recover()
        self._pace = max(SLOWEST, self._pace / 2)
        self._own_hold_until = max(self._own_hold_until, self._clock() + seconds)
        self._hold_until = max(self._hold_until, self._own_hold_until)
        self._hold_changed.set()

    def _wait(self) -> float:
        if self._limits.turns_per_minute is not None and self._name not in self._published.turns:
            return self._interval  # the leader has not seen this worker yet
        return max(self._hold_until, self._next_turn) - self._clock()

    def _gap(self) -> float:
        """Seconds between two turns of this worker."""
        self._recover()
        rate = (self._limits.turns_per_minute or 0.0) / 60 * self._published.turns[self._name]
        return 1 / (rate * self._pace)

    def _recover(self) -> None:
        now = self._clock()
        self._pace = min(1.0, self._pace + (now - self._paced_at) / RECOVERY_SECONDS)
        self._paced_at = now

    # --- the other workers ----------------------------------------------------------------------

    @asynccontextmanager
    async def join(self) -> AsyncIterator[None]:
        """Take part while the body runs."""
        await self.exchange()
        try:
            async with run_beside(self._exchange_regularly()):
                yield
        finally:
            await self._leave()

    async def _exchange_regularly(self) -> None:
        while True:
            self._hold_changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hold_changed.wait(), self._interval)
            await self.exchange()

    async def exchange(self) -> None:
        """Tell what this worker runs, and learn its share; lead, where nobody else does.

        Where the store fails, the shares stay as they were.
        """
        try:
            await self._write_presence()
            kept = await self._store.get(PUBLISHED)
            published = Shares.model_validate_json(kept) if kept else Shares()
            if await self._leads(published):
                published = await self._publish(published)
            self._obey(published)
        except Exception:
            log.warning("the shares of the fleet cannot be read or written", exc_info=True)
        self._changed.set()

    async def _write_presence(self) -> None:
        self._sequence += 1
        presence = Presence(
            sequence=self._sequence,
            capacity=self._capacity,
            share=self.share,
            reserved=self._reserved,
            running=self._running,
            # Only what the provider told this worker: a hold that is passed on would never end.
            hold=max(0.0, self._own_hold_until - self._clock()),
        )
        await self._store.replace(self._key, presence.model_dump_json().encode())

    async def _leads(self, published: Shares) -> bool:
        """Whether this worker is the leader; it becomes one where there is none."""
        if published.leader == self._name and self._term:
            return True
        self._term = 0
        interval = max(published.interval, self._interval)
        age = self._published_watch.age(published.sequence, self._clock())
        known = max(published.term, self._published.term)
        is_led = published.leader and published.term == known
        if is_led and age < STALE_INTERVALS * interval:
            return False
        if not await self._store.put_new(f"{TERMS}/{known + 1}", self._name.encode()):
            return False
        await self._store.delete(f"{TERMS}/{known}")
        self._term, self._watches = known + 1, {}
        return True

    async def _publish(self, before: Shares) -> Shares:
        interval = max(self._shortest_interval, len(before.turns) / WORKERS_PER_SECOND)
        members = self._select_alive(await self._read_presences(), STALE_INTERVALS * interval)
        total = sum(1 + member.running for member in members.values())
        shares = Shares(
            term=self._term,
            leader=self._name,
            sequence=before.sequence + 1,
            interval=interval,
            subagents=divide(self._limits.subagents, members, before.subagents)
            if self._limits.subagents is not None
            else {},
            turns={name: (1 + member.running) / total for name, member in members.items()},
            hold=max((member.hold for member in members.values()), default=0.0),
        )
        await self._store.replace(PUBLISHED, shares.model_dump_json().encode())
        return shares

    def _select_alive(self, records: Mapping[str, Presence], limit: float) -> dict[str, Presence]:
        now = self._clock()
        self._watches = {name: self._watches.get(name, _Watch()) for name in records}
        return {
            name: record
            for name, record in records.items()
            if self._watches[name].age(record.sequence, now) < limit
        }

    async def _read_presences(self) -> dict[str, Presence]:
        keys = await self._store.list(MEMBERS)
        found = await asyncio.gather(*(self._store.get(key) for key in keys))
        return {
            key.rpartition("/")[2].removesuffix(".json"): Presence.model_validate_json(kept)
            for key, kept in zip(keys, found, strict=True)
            if kept is not None
        }

    def _obey(self, published: Shares) -> None:
        if published.term < self._published.term:
            return  # an earlier leader that woke up late
        is_news = published.sequence != self._published.sequence
        self._published = published
        self._interval = max(self._shortest_interval, published.interval)
        if is_news and published.hold > 0:
            self._hold_until = max(self._hold_until, self._clock() + published.hold)

    async def _leave(self) -> None:
        try:
            await self._store.delete(self._key)
            if self._term:
                left = self._published.model_copy(update={"leader": ""})
                await self._store.replace(PUBLISHED, left.model_dump_json().encode())
        except Exception:
            log.warning("the presence record of this worker stays until it is old", exc_info=True)


class FleetSlotSupplier(CustomSlotSupplier):
    """Polls for a subagent only where the fleet has a slot for it."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        await self._fleet.reserve()
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        return SlotPermit() if self._fleet.try_reserve() else None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        self._fleet.mark_running()

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        self._fleet.release(was_running=ctx.slot_info is not None)
