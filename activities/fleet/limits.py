"""Limits for all workers together: how many subagents at once, how many turns a minute.

Every worker keeps a small sign of life in the store and looks at the others'. Each takes an equal
share of the limits, so no worker has to ask another before it acts, and a limit holds however many
there are. A worker that comes late waits until the others have made room: a sign also says how many
subagents its worker has, which may be more than its share until they are done. The share of a
worker that is gone falls to the rest when its sign is old.

When the provider says that it is too much, the worker that hears it slows down and says so in its
sign at once; the others wait as long as the provider asked.

Ages are taken from the store's own clock, so the machines' clocks need not agree.
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
"""Of a worker's pace, however often the provider complains."""
RECOVERY_SECONDS = 60.0
"""From the slowest pace back to the full one."""


@dataclass(frozen=True)
class Limits:
    """For the whole fleet; None is no limit."""

    subagents: int | None = None
    turns_per_minute: float | None = None

    @property
    def set(self) -> bool:
        return self.subagents is not None or self.turns_per_minute is not None


class Fleet:
    """One worker's part in the fleet."""

    def __init__(
        self,
        store: Store,
        name: str,
        limits: Limits,
        most: int = 1000,
        every: float = 2.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """This worker runs `most` subagents itself, whatever its share.

        A sign of life is given `every` so many seconds; one thrice as old counts no more.
        """
        self._store = store
        self._name = safe(name)
        self._limits = limits
        self._most = most
        self._every = every
        self._clock = clock
        self._crew: tuple[str, ...] = (self._name,)
        self._taken = 0
        self._welcome = 0.0
        self._in_use = 0
        self._changed = asyncio.Event()
        self._news = asyncio.Event()
        self._next_turn = 0.0
        self._told_until = 0.0
        self._hold_until = 0.0
        self._pace = 1.0
        self._paced_at = clock()

    # --- subagents ------------------------------------------------------------------------------

    @property
    def share(self) -> int:
        """How many subagents this worker may run now."""
        if self._limits.subagents is None:
            return self._most
        if self._clock() < self._welcome:
            return 0
        limit = self._limits.subagents
        each, rest = divmod(limit, len(self._crew))
        equal = each + (self._crew.index(self._name) < rest)
        # Others may still have more than their equal share, from the time when they were fewer.
        return max(0, min(self._most, equal, limit - self._taken))

    def try_take(self) -> bool:
        if self._in_use >= self.share:
            return False
        self._in_use += 1
        return True

    async def take(self) -> None:
        """Wait for a place among the subagents of the fleet."""
        while not self.try_take():
            self._changed.clear()
            # The share may grow without a place being given back.
            try:
                await asyncio.wait_for(self._changed.wait(), self._every)
            except TimeoutError:
                continue

    def give_back(self) -> None:
        self._in_use -= 1
        self._changed.set()

    # --- turns ----------------------------------------------------------------------------------

    async def turn(self) -> None:
        """Wait until another turn may be bought."""
        while (wait := self._wait()) > 0:  # noqa: ASYNC110 - another may have gone first
            await asyncio.sleep(wait)
        if self._limits.turns_per_minute is not None:
            now = self._clock()
            self._next_turn = max(self._next_turn, now) + self._gap()

    def too_much(self, seconds: float) -> None:
        """The provider asked to wait; after that this worker goes at half its pace, for a while."""
        self._recover()
        self._pace = max(SLOWEST, self._pace / 2)
        self._told_until = max(self._told_until, self._clock() + seconds)
        self._hold_until = max(self._hold_until, self._told_until)
        self._news.set()

    def _wait(self) -> float:
        return max(self._hold_until, self._next_turn, self._welcome) - self._clock()

    def _gap(self) -> float:
        """Seconds between two turns of this worker."""
        self._recover()
        rate = (self._limits.turns_per_minute or 0.0) / 60 / len(self._crew)
        return 1 / (rate * self._pace)

    def _recover(self) -> None:
        now = self._clock()
        self._pace = min(1.0, self._pace + (now - self._paced_at) / RECOVERY_SECONDS)
        self._paced_at = now

    # --- the others -----------------------------------------------------------------------------

    @asynccontextmanager
    async def joined(self) -> AsyncIterator[None]:
        """Give signs of life, and look for those of others, while the body runs."""
        await self._look()
        if len(self._crew) > 1:
            # The others still use what will be this worker's share.
            self._welcome = self._clock() + 2 * self._every
        looking = asyncio.create_task(self._look_about())
        try:
            yield
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
            await self._leave()

    async def _look_about(self) -> None:
        while True:
            self._news.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), self._every)
            await self._look()

    async def _look(self) -> None:
        """A store that is away changes nothing: the shares stay as they were."""
        try:
            mine = f"{FOLDER}/{self._name}.json"
            # Only what it was told itself: hearsay that is passed on never ends.
            held = max(0.0, self._told_until - self._clock())
            sign = {"hold": held, "subagents": max(self._in_use, self.share)}
            await self._store.replace(mine, json.dumps(sign).encode())
            ages = await self._store.ages(FOLDER, mine)
            others = {key for key, age in ages.items() if age < 3 * self._every} - {mine}
            taken = [await self._heed(key, ages[key]) for key in others]
            self._crew = tuple(sorted(_name_of(key) for key in {mine, *others}))
            self._taken = sum(taken)
        except Exception:
            log.warning("the fleet's signs of life cannot be read or written", exc_info=True)
        self._changed.set()

    async def _heed(self, key: str, age: float) -> int:
        """How many subagents another has. What the provider told it holds for this one too."""
        kept = await self._store.get(key)
        if kept is None:
            return 0  # it has just left
        sign = json.loads(kept)
        hold = float(sign["hold"]) - age
        if hold > 0:
            self._hold_until = max(self._hold_until, self._clock() + hold)
        return int(sign["subagents"])

    async def _leave(self) -> None:
        try:
            await self._store.delete(f"{FOLDER}/{self._name}.json")
        except Exception:
            log.warning("this worker's sign of life stays until it is old", exc_info=True)


def _name_of(key: str) -> str:
    return key[len(FOLDER) + 1 : -len(".json")]
