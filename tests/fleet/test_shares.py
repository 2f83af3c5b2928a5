"""Limits for all workers together: one worker divides them, and all of them keep to it."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore

from activities.fleet.limits import Fleet, FleetLimits, Presence, divide
from activities.storage.backends import BucketBackend
from activities.storage.store import Store

EVERY = 0.05


def member(
    folder: Path, name: str, subagents: int | None = None, turns: float | None = None
) -> Fleet:
    return Fleet(Store.open(str(folder)), name, FleetLimits(subagents, turns), interval=EVERY)


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not met():  # noqa: ASYNC110
            await asyncio.sleep(EVERY / 2)


def idle(n: int, capacity: int = 1000) -> dict[str, Presence]:
    return {
        f"w{i:03}": Presence(sequence=1, capacity=capacity, share=0, reserved=0, running=0)
        for i in range(n)
    }


# --- dividing -------------------------------------------------------------------------------------


@given(st.integers(1, 60), st.integers(1, 12))
def test_shares_add_up_to_the_limit_however_many_workers(limit: int, workers: int) -> None:
    shares = divide(limit, idle(workers), {})
    assert sum(shares.values()) == limit
    assert max(shares.values()) - min(shares.values()) <= 1


PRESENCES = st.dictionaries(
    st.sampled_from([f"w{n}" for n in range(8)]),
    st.builds(
        lambda capacity, share, reserved, running: Presence(
            sequence=1,
            capacity=capacity,
            share=share,
            reserved=reserved,
            running=min(running, reserved),
        ),
        st.integers(1, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 20),
    ),
    min_size=1,
)  # fmt: skip


@given(st.integers(1, 60), PRESENCES, st.data())
def test_what_workers_obey_and_run_never_grows_beyond_the_limit(
    limit: int, members: dict[str, Presence], data: st.DataObject
) -> None:
    granted = {name: data.draw(st.integers(0, 20)) for name in members}

    def committed(shares: dict[str, int]) -> int:
        used = (max(m.reserved, m.share, shares[name]) for name, m in members.items())
        return sum(used)

    before = committed(granted)
    shares = divide(limit, members, granted)
    held = {name: max(shares[name], granted[name]) for name in members}
    assert committed(held) <= max(limit, before)


def test_idle_shares_are_lent_to_a_busy_worker() -> None:
    members = idle(4)
    members["w000"] = Presence(sequence=1, capacity=1000, share=5, reserved=5, running=5)
    shares = divide(20, members, dict.fromkeys(members, 5))
    # The others must give theirs back before the busy one gets more.
    assert shares == {"w000": 5, "w001": 1, "w002": 1, "w003": 1}
    for name in ("w001", "w002", "w003"):
        members[name] = members[name].model_copy(update={"share": shares[name]})
    assert divide(20, members, shares)["w000"] == 17


# --- workers over one store -----------------------------------------------------------------------


async def test_one_worker_has_all_and_two_have_half_each(tmp_path: Path) -> None:
    one, two = member(tmp_path, "one", 5), member(tmp_path, "two", 5)
    async with one.join():
        assert one.share == 5
        async with two.join():
            assert two.share == 0, "the first has not made room yet"
            await until(lambda: {one.share, two.share} == {3, 2})
        await until(lambda: one.share == 5)


async def test_a_worker_that_comes_late_waits_for_subagents_under_way(tmp_path: Path) -> None:
    one, two = member(tmp_path, "one", 4), member(tmp_path, "two", 4)
    async with one.join():
        for _ in range(4):
            await one.reserve()
        async with two.join():
            await until(lambda: one.share == 2)
            await asyncio.sleep(10 * EVERY)
            assert two.share == 0, "four are running already"
            one.release(was_running=False)
            await until(lambda: two.share == 1)
            one.release(was_running=False)
            await until(lambda: two.share == 2)


async def test_a_worker_that_died_leaves_its_share_to_the_others(tmp_path: Path) -> None:
    dead, alive = member(tmp_path, "dead", 4), member(tmp_path, "alive", 4)
    async with alive.join():
        await dead.exchange()
        await until(lambda: alive.share == 2)
        await until(lambda: alive.share == 4)


async def test_a_leader_that_died_is_replaced(tmp_path: Path) -> None:
    leader, other = member(tmp_path, "leader", 4), member(tmp_path, "other", 4)
    await leader.exchange()
    assert leader.share == 4
    async with other.join():
        await until(lambda: other.share == 4)


async def test_a_leader_that_wakes_up_late_gives_way(tmp_path: Path) -> None:
    frozen, other = member(tmp_path, "frozen", 4), member(tmp_path, "other", 4)
    await frozen.exchange()
    async with other.join():
        await until(lambda: other.share == 4)
        async with frozen.join():
            await until(lambda: (frozen.share, other.share) == (2, 2))


async def test_a_slot_is_waited_for_and_given_back(tmp_path: Path) -> None:
    fleet = member(tmp_path, "one", 1)
    async with fleet.join():
        await fleet.reserve()
        assert not fleet.try_reserve()
        waiting = asyncio.create_task(fleet.reserve())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        fleet.release(was_running=False)
        await asyncio.wait_for(waiting, 5)


async def test_turns_keep_the_pace(tmp_path: Path) -> None:
    fleet = member(tmp_path, "one", turns=1200)
    async with fleet.join():
        began = time.monotonic()
        await asyncio.gather(*(fleet.wait_for_turn() for _ in range(11)))
    # Twenty a second: ten gaps of a twentieth.
    assert time.monotonic() - began >= 0.5


async def test_what_the_provider_told_one_holds_for_all(tmp_path: Path) -> None:
    one, two = member(tmp_path, "one", turns=6000), member(tmp_path, "two", turns=6000)
    async with one.join(), two.join():
        await until(lambda: "two" in one._published.turns and "two" in two._published.turns)
        two.slow_down(30)
        await until(lambda: one._wait() > 20)
        assert two._gap() > one._gap(), "who was told goes slower for a while"


async def test_a_store_that_is_away_changes_nothing(tmp_path: Path) -> None:
    fleet = member(tmp_path / "store", "one", 3)
    async with fleet.join():
        assert fleet.share == 3
        os.rename(tmp_path / "store", tmp_path / "away")
        (tmp_path / "store").write_text("not a folder", "utf-8")
        await fleet.exchange()
        assert fleet.share == 3


class Counted(BucketBackend):
    """Counts the calls that a bucket would bill."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.calls = Counter[str]()

    def __getattribute__(self, name: str) -> Any:
        if name in ("create", "replace", "read", "list", "delete"):
            self.calls[name] += 1
        return super().__getattribute__(name)


@pytest.mark.slow
async def test_five_hundred_workers_cost_calls_in_proportion_and_stay_within_the_limit() -> None:
    backend, now, workers, limit = Counted(), [0.0], 500, 750
    fleets = [
        Fleet(Store(backend), f"w{n:03}", FleetLimits(limit), 40, clock=lambda: now[0])
        for n in range(workers)
    ]
    rounds = 8
    for n in range(rounds):
        now[0] += 2.0
        for fleet in fleets:
            await fleet.exchange()
        assert sum(fleet.share for fleet in fleets) <= limit, f"round {n}"
    # One write and one read each, and one read of each by the leader.
    assert sum(backend.calls.values()) <= rounds * (3 * workers + 10)
    assert sum(fleet.share for fleet in fleets) == limit
    # Ten become busy: they are lent what the others do not use.
    for fleet in fleets[:10]:
        while fleet.try_reserve():
            fleet.mark_running()
    for _ in range(16):
        now[0] += 2.0
        for fleet in fleets:
            await fleet.exchange()
            while fleet in fleets[:10] and fleet.try_reserve():
                fleet.mark_running()
        assert sum(fleet.share for fleet in fleets) <= limit
    assert min(fleet.share for fleet in fleets[:10]) >= 20
