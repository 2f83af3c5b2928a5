"""The journal: a completed turn is kept before anyone acts on it, and is never bought again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from activities.journal import Journal, fingerprint_of
from activities.store import Missing, Store
from workflows.quotes import StoredText
from workflows.settings import Settings

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
    first = await Journal(store, "job").turn(REQUEST, ask)
    again = await Journal(store, "job").turn(dict(reversed(REQUEST.items())), ask)
    assert ask.sold == 1
    assert again == first
    assert not again.bought_again


async def test_another_request_or_another_job_is_another_turn(store: Store) -> None:
    ask = Provider()
    await Journal(store, "job").turn(REQUEST, ask)
    await Journal(store, "job").turn({**REQUEST, "model": "n"}, ask)
    await Journal(store, "other").turn(REQUEST, ask)
    assert ask.sold == 3


async def test_attempts_that_race_agree_on_the_first_answer(store: Store) -> None:
    both_asked = asyncio.Barrier(2)
    sold: list[str] = []

    def ask(name: str, delay: float) -> Any:
        async def answer() -> dict[str, Any]:
            await both_asked.wait()
            await asyncio.sleep(delay)
            sold.append(name)
            return {"id": name}

        return answer

    fast, slow = await asyncio.gather(
        Journal(store, "job").turn(REQUEST, ask("fast", 0)),
        Journal(store, "job").turn(REQUEST, ask("slow", 0.05)),
    )
    assert sold == ["fast", "slow"]
    assert fast.message == slow.message == {"id": "fast"}
    assert slow.bought_again


async def test_a_turn_asked_for_and_lost_counts_as_bought_again(store: Store) -> None:
    async def killed() -> dict[str, Any]:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await Journal(store, "job").turn(REQUEST, killed)
    turn = await Journal(store, "job").turn(REQUEST, Provider())
    assert turn.bought_again


async def test_an_error_is_not_billed_so_the_next_try_is_a_first_purchase(store: Store) -> None:
    async def refused() -> dict[str, Any]:
        raise RuntimeError("overloaded")

    with pytest.raises(RuntimeError):
        await Journal(store, "job").turn(REQUEST, refused)
    turn = await Journal(store, "job").turn(REQUEST, Provider())
    assert not turn.bought_again


async def test_a_tool_result_stays_what_it_was_the_first_time(store: Store) -> None:
    journal = Journal(store, "job")
    turn = await journal.turn(REQUEST, Provider())
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
    with pytest.raises(Missing, match="RESEARCH_STORE"):
        await store.load("findings/none.json", Settings)
