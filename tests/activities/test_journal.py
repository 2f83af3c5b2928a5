"""The journal: a completed turn is kept before anyone acts on it, and is never bought again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities.evidence.quotes import StoredText
from activities.storage.journal import Journal, Turn, fingerprint_of
from activities.storage.store import ObjectNotFound, Store
from workflows.config.settings import Settings
from workflows.config.store_keys import journal_folder

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


class Provider:
    """Counts what is bought."""

    def __init__(self) -> None:
        self.sold = 0

    async def __call__(self) -> dict[str, Any]:
        self.sold += 1
        return {"id": f"msg_{self.sold}", "stop_reason": "end_turn"}


async def test_the_same_request_is_bought_once(store: Store) -> None:
    ask = Provider()
    first = await Journal(store, "job").find_or_call(REQUEST, ask)
    again = await Journal(store, "job").find_or_call(dict(reversed(REQUEST.items())), ask)
    assert ask.sold == 1
    assert again == first
    assert not again.repeated_calls


async def test_another_request_or_another_job_is_another_turn(store: Store) -> None:
    ask = Provider()
    await Journal(store, "job").find_or_call(REQUEST, ask)
    await Journal(store, "job").find_or_call({**REQUEST, "model": "n"}, ask)
    await Journal(store, "other").find_or_call(REQUEST, ask)
    assert ask.sold == 3


async def test_attempts_that_race_agree_on_the_first_answer_and_count_one_in_vain(
    store: Store,
) -> None:
    both_asked = asyncio.Barrier(2)
    first_kept = asyncio.Event()

    async def fast() -> dict[str, Any]:
        await both_asked.wait()
        return {"id": "fast"}

    async def slow() -> dict[str, Any]:
        await both_asked.wait()
        await first_kept.wait()
        return {"id": "slow"}

    async def buy(ask: Any) -> Turn:
        turn = await Journal(store, "job").find_or_call(REQUEST, ask)
        first_kept.set()
        return turn

    turns = await asyncio.gather(buy(fast), buy(slow))
    assert [turn.message for turn in turns] == [{"id": "fast"}] * 2
    assert [turn.repeated_calls for turn in turns] == [1, 1], "whichever of the two is heard"
    replayed = await Journal(store, "job").find_or_call(REQUEST, Provider())
    assert replayed.repeated_calls == 1


async def test_who_is_first_to_come_this_far_looks_nothing_else_up(store: Store) -> None:
    looked: list[str] = []

    class Watched(Store):
        async def get(self, key: str) -> bytes | None:
            looked.append(key)
            return await super().get(key)

        async def list(self, folder: str) -> list[str]:
            looked.append(folder)
            return await super().list(folder)

    async def tool() -> dict[str, Any]:
        return {"content": "found"}

    journal = Journal(Watched(store._backend), "job")
    turn = await journal.call(REQUEST, Provider())
    assert turn.is_first
    assert await journal.tool_result(turn, "use_1", tool) == {"content": "found"}
    assert looked == [f"{journal_folder('job')}/{turn.fingerprint}"], "its calls, to count them"
    again = await Journal(store, "job").find_or_call(REQUEST, Provider())
    assert not again.is_first, "somebody was here before"


async def test_who_comes_too_late_to_be_counted_buys_nothing(store: Store) -> None:
    """Between a look at the journal and the purchase, another attempt may have kept the turn."""

    class Slow(Store):
        async def put_new(self, key: str, data: bytes) -> bool:
            if "/call-" in key:
                await Journal(store, "job").find_or_call(REQUEST, winner)
            return await super().put_new(key, data)

    winner, loser = Provider(), Provider()
    turn = await Journal(Slow(store._backend), "job").find_or_call(REQUEST, loser)
    assert (winner.sold, loser.sold) == (1, 0)
    assert turn.repeated_calls == 0


async def test_every_turn_asked_for_and_lost_counts_as_bought_again(store: Store) -> None:
    async def killed() -> dict[str, Any]:
        raise asyncio.CancelledError

    for _ in range(2):
        with pytest.raises(asyncio.CancelledError):
            await Journal(store, "job").find_or_call(REQUEST, killed)
    turn = await Journal(store, "job").find_or_call(REQUEST, Provider())
    assert turn.repeated_calls == 2
    again = await Journal(store, "job").find_or_call(REQUEST, Provider())
    assert again.repeated_calls == 2


async def test_an_answer_that_broke_off_may_have_been_paid_for(store: Store) -> None:
    async def cut() -> dict[str, Any]:
        raise ApplicationError("the stream ended", type="broken_answer")

    with pytest.raises(ApplicationError):
        await Journal(store, "job").find_or_call(REQUEST, cut)
    assert (await Journal(store, "job").find_or_call(REQUEST, Provider())).repeated_calls == 1


async def test_an_interrupt_stays_what_it_was_the_first_time(store: Store) -> None:
    journal = Journal(store, "job")
    assert await journal.find_interrupt(REQUEST) is None
    assert await journal.store_interrupt(REQUEST, {"texts": ["first"]}) == {"texts": ["first"]}
    assert await journal.store_interrupt(REQUEST, {"texts": ["second"]}) == {"texts": ["first"]}
    assert await Journal(store, "job").find_interrupt(REQUEST) == {"texts": ["first"]}


async def test_a_batch_is_placed_once_and_again_only_where_it_was_lost(store: Store) -> None:
    placed: list[str] = []

    async def place() -> str:
        placed.append(f"batch_{len(placed) + 1}")
        return placed[-1]

    assert await Journal(store, "job").batch_id(REQUEST, place) == "batch_1"
    assert await Journal(store, "job").batch_id(REQUEST, place) == "batch_1"
    await Journal(store, "job").delete_batch(REQUEST)
    assert await Journal(store, "job").batch_id(REQUEST, place) == "batch_2"
    turn = await Journal(store, "job").store(REQUEST, {"id": "m"})
    assert turn.repeated_calls == 0, "a batch that came to nothing is not billed"


async def test_an_error_is_not_billed_so_the_next_try_is_a_first_purchase(store: Store) -> None:
    async def refused() -> dict[str, Any]:
        raise RuntimeError("overloaded")

    with pytest.raises(RuntimeError):
        await Journal(store, "job").find_or_call(REQUEST, refused)
    turn = await Journal(store, "job").find_or_call(REQUEST, Provider())
    assert not turn.repeated_calls


async def test_a_tool_result_stays_what_it_was_the_first_time(store: Store) -> None:
    journal = Journal(store, "job")
    turn = await journal.find_or_call(REQUEST, Provider())
    results = iter([{"content": "as it was"}, {"content": "changed since"}])

    async def run() -> dict[str, Any]:
        return next(results)

    assert await journal.tool_result(turn, "t1", run) == {"content": "as it was"}
    assert await journal.tool_result(turn, "t1", run) == {"content": "as it was"}


def test_a_fingerprint_does_not_depend_on_the_order_of_keys() -> None:
    assert fingerprint_of({"a": 1, "b": 2}) == fingerprint_of({"b": 2, "a": 1})
    assert fingerprint_of({"a": 1}) != fingerprint_of({"a": 2})


async def test_stored_text_comes_back_letter_for_letter(store: Store) -> None:
    await store.keep_text("abc", "Ärger – “quoted”\n")
    assert await store.text("abc") == "Ärger – “quoted”\n"
    assert await store.text("nothing") is None
    assert StoredText((await store.text("abc")) or "").text == "Ärger – “quoted”\n"


async def test_a_missing_record_says_what_to_look_at(store: Store) -> None:
    with pytest.raises(ObjectNotFound, match="RESEARCH_STORE"):
        await store.load("findings/none.json", Settings)
