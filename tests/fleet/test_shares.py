"""Limits for all workers together: each takes its share, and hears what others were told."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore

from activities.fleet.limits import Fleet, FleetLimits
from activities.storage.backends import BucketBackend
from activities.storage.store import Store

EVERY = 0.05


def member(
    folder: Path, name: str, subagents: int | None = None, turns: float | None = None, **more: float
) -> Fleet:
    limits = FleetLimits(subagents, turns)
    return Fleet(Store.open(str(folder)), name, limits, interval=more.pop("every", EVERY))


async def until(met: object) -> None:
    async with asyncio.timeout(20):
        while not met():  # type: ignore[operator]  # noqa: ASYNC110
            await asyncio.sleep(EVERY / 2)


@given(st.integers(1, 60), st.integers(1, 12))
def test_shares_add_up_to_the_limit_however_many_workers(limit: int, workers: int) -> None:
    names = tuple(sorted(f"w{n}" for n in range(workers)))
    total = 0
    for name in names:
        fleet = Fleet(Store(BucketBackend(MemoryStore())), name, FleetLimits(limit))
        fleet._members = names
        total += fleet.share
    assert total == limit


async def test_one_worker_has_all_and_two_have_half_each(tmp_path: Path) -> None:
    one, two = member(tmp_path, "one", 5), member(tmp_path, "two", 5)
    async with one.join():
        assert one.share == 5
        async with two.join():
            assert two.share == 0, "the first has not made room yet"
            await until(lambda: (one.share, two.share) == (3, 2))
        await until(lambda: one.share == 5)


async def test_a_worker_that_comes_late_waits_for_subagents_under_way(tmp_path: Path) -> None:
    one, two = member(tmp_path, "one", 4), member(tmp_path, "two", 4)
    async with one.join():
        for _ in range(4):
            await one.reserve()
        async with two.join():
            await until(lambda: one.share == 2)
            await asyncio.sleep(10 * EVERY)
            assert two.share == 0, "four are at work already"
            one.release()
            await until(lambda: two.share == 1)
            one.release()
            await until(lambda: two.share == 2)


async def test_a_worker_that_died_leaves_its_share_to_the_others(tmp_path: Path) -> None:
    dead = member(tmp_path, "dead", 4)
    await dead._exchange()
    alive = member(tmp_path, "alive", 4)
    async with alive.join():
        await until(lambda: alive.share == 2 or alive.share == 4)
        await until(lambda: alive.share == 4)


async def test_a_place_is_waited_for_and_given_back(tmp_path: Path) -> None:
    fleet = member(tmp_path, "one", 1)
    await fleet.reserve()
    assert not fleet.try_reserve()
    waiting = asyncio.create_task(fleet.reserve())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    fleet.release()
    await asyncio.wait_for(waiting, 5)


async def test_turns_keep_the_pace(tmp_path: Path) -> None:
    fleet = member(tmp_path, "one", turns=1200)
    began = time.monotonic()
    await asyncio.gather(*(fleet.wait_for_turn() for _ in range(11)))
    # Twenty a second: ten gaps of a twentieth.
    assert time.monotonic() - began >= 0.5


async def test_what_the_provider_told_one_holds_for_all(tmp_path: Path) -> None:
    one, two = member(tmp_path, "one", turns=6000), member(tmp_path, "two", turns=6000)
    async with one.join(), two.join():
        await until(lambda: len(one._members) == len(two._members) == 2)
        one.slow_down(30)
        await until(lambda: two._wait() > 20)
        assert one._gap() > two._gap(), "who was told goes slower for a while"


async def test_a_store_that_is_away_changes_nothing(tmp_path: Path) -> None:
    fleet = member(tmp_path / "store", "one", 3)
    async with fleet.join():
        sign = next((tmp_path / "store" / "fleet").iterdir())
        assert json.loads(sign.read_text("utf-8")) == {"hold": 0.0, "subagents": 3}
        os.rename(tmp_path / "store", tmp_path / "away")
        (tmp_path / "store").write_text("not a folder", "utf-8")
        await fleet._exchange()
        assert fleet.share == 3
