"""The journal: a completed turn is kept before anyone acts on it, and is never bought again."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities.evidence.quotes import StoredText
from activities.storage import calls_in_flight
from activities.storage.backends import FolderBackend
from activities.storage.journal import Journal, Turn, fingerprint_of
from activities.storage.store import ObjectNotFound, Store
from workflows.config.settings import Settings
from workflows.config.store_keys import journal_folder

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


async def find_or_call(
    journal: Journal, request: dict[str, Any], ask: Callable[[], Awaitable[dict[str, Any]]]
) -> Turn:
    """As the turn loop does: the stored turn, else the model's."""
    return await journal.find(request) or await journal.call(request, ask)


class Provider:
    """Counts what is bought."""

    def __init__(self) -> None:
        self.sold = 0

    async def __call__(self) -> dict[str, Any]:
        self.sold += 1
        return {"id": f"msg_{self.sold}", "stop_reason": "end_turn"}


async def test_the_same_request_is_bought_once(store: Store) -> None:
    ask = Provider()
    first = await find_or_call(Journal(store, "job"), REQUEST, ask)
    again = await find_or_call(Journal(store, "job"), dict(reversed(REQUEST.items())), ask)
    assert ask.sold == 1
    assert again == first
    assert not again.repeated_calls


async def test_another_request_or_another_job_is_another_turn(store: Store) -> None:
    ask = Provider()
    await find_or_call(Journal(store, "job"), REQUEST, ask)
    await find_or_call(Journal(store, "job"), {**REQUEST, "model": "n"}, ask)
    await find_or_call(Journal(store, "other"), REQUEST, ask)
    assert ask.sold == 3


def another_process(store: Store) -> Store:
    """The same objects, and nothing that is in this process's memory."""
    return Store(store._backend)


@dataclass
class Thinking:
    """A model that answers when it is told to."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    told: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self) -> dict[str, Any]:
        self.asked.set()
        await self.told.wait()
        return {"id": "first"}


@pytest.mark.parametrize("elsewhere", [False, True], ids=["one process", "two processes"])
async def test_an_attempt_waits_for_the_call_that_another_one_is_making(
    store: Store, elsewhere: bool
) -> None:
    first, second = Thinking(), Provider()
    other = another_process(store) if elsewhere else store
    one = asyncio.create_task(find_or_call(Journal(store, "job"), REQUEST, first))
    await first.asked.wait()
    two = asyncio.create_task(find_or_call(Journal(other, "job"), REQUEST, second))
    for _ in range(200):
        await asyncio.sleep(0.005)
        assert await Journal(store, "job")._count_calls(REQUEST) == 1, "an attempt that waits"
    first.told.set()
    turns = await asyncio.gather(one, two)
    assert [turn.message for turn in turns] == [{"id": "first"}] * 2
    assert [turn.repeated_calls for turn in turns] == [0, 0]
    assert second.sold == 0


async def test_a_call_whose_process_died_is_made_again_and_counted(
    store: Store, tmp_path: Path
) -> None:
    mark, _ = await Journal(another_process(store), "job")._mark_call(REQUEST)
    file, old = tmp_path / "store" / mark, time.time() - 60
    os.utime(file, (old, old))
    turn = await find_or_call(Journal(store, "job"), REQUEST, Provider())
    assert turn.repeated_calls == 1


async def test_a_call_goes_on_for_the_next_attempt_when_its_own_was_given_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls_in_flight, "_was_replaced", lambda: True)
    thinking, other = Thinking(), Provider()
    one = asyncio.create_task(find_or_call(Journal(store, "job"), REQUEST, thinking))
    await thinking.asked.wait()
    one.cancel()
    with pytest.raises(asyncio.CancelledError):
        await one
    two = asyncio.create_task(find_or_call(Journal(store, "job"), REQUEST, other))
    await asyncio.sleep(0.05)
    thinking.told.set()
    assert (await two).message == {"id": "first"}
    assert other.sold == 0


async def test_a_call_ends_with_the_attempt_that_a_person_cancelled(store: Store) -> None:
    ended = asyncio.Event()

    async def ask() -> dict[str, Any]:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return {}

    one = asyncio.create_task(find_or_call(Journal(store, "job"), REQUEST, ask))
    await asyncio.sleep(0.2)
    one.cancel()
    await asyncio.wait_for(ended.wait(), 5)


class FullDisk(FolderBackend):
    """Takes empty files and no answers."""

    is_full = False

    async def create(self, path: str, data: bytes) -> bool:
        if self.is_full and path.endswith(".json"):
            raise OSError(errno.ENOSPC, "No space left on device", path)
        return await super().create(path, data)

    async def probe(self, size: int) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")


async def test_an_answer_that_cannot_be_stored_is_kept_and_not_bought_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls_in_flight, "_TROUBLE_SECONDS", 0.1)
    disk = FullDisk(tmp_path / "store")
    store, model = Store(disk, str(tmp_path / "store")), Provider()

    async def ask() -> dict[str, Any]:
        disk.is_full = True
        return await model()

    for _ in range(3):
        with pytest.raises(ApplicationError, match="disk is full: make room there") as raised:
            await find_or_call(Journal(store, "job"), REQUEST, ask)
        assert str(tmp_path / "store") in raised.value.message
        assert raised.value.type == "storage"
    disk.is_full = False
    turn = await find_or_call(Journal(store, "job"), REQUEST, ask)
    assert (model.sold, turn.repeated_calls) == (1, 0)


async def test_a_full_store_is_noticed_before_the_model_is_asked(tmp_path: Path) -> None:
    disk, model = FullDisk(tmp_path / "store"), Provider()
    disk.is_full = True
    with pytest.raises(ApplicationError, match="make room"):
        await find_or_call(Journal(Store(disk), "job"), REQUEST, model)
    assert model.sold == 0


async def test_a_damaged_turn_is_bought_again_and_that_is_said(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await find_or_call(Journal(store, "job"), REQUEST, Provider())
    file = tmp_path / "store" / f"{journal_folder('job')}/{fingerprint_of(REQUEST)}.json"
    file.write_bytes(file.read_bytes().replace(b"msg_1", b"msg_2"))
    model = Provider()
    turn = await find_or_call(Journal(another_process(store), "job"), REQUEST, model)
    assert (model.sold, turn.repeated_calls) == (1, 1)
    assert turn.message["id"] == "msg_1"
    assert file.name in caplog.text


async def test_who_is_first_to_come_this_far_looks_nothing_else_up(store: Store) -> None:
    looked: list[str] = []

    class Watched(Store):
        async def get(self, key: str, *, is_replaceable: bool = False) -> bytes | None:
            looked.append(key)
            return await super().get(key, is_replaceable=is_replaceable)

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
    again = await find_or_call(Journal(store, "job"), REQUEST, Provider())
    assert not again.is_first, "somebody was here before"


async def test_who_comes_too_late_to_be_counted_buys_nothing(store: Store) -> None:
    """Between a look at the journal and the purchase, another attempt may have kept the turn."""

    class Slow(Store):
        async def put_new(self, key: str, data: bytes) -> bool:
            if "/call-" in key:
                await find_or_call(Journal(store, "job"), REQUEST, winner)
            return await super().put_new(key, data)

    winner, loser = Provider(), Provider()
    turn = await find_or_call(Journal(Slow(store._backend), "job"), REQUEST, loser)
    assert (winner.sold, loser.sold) == (1, 0)
    assert turn.repeated_calls == 0


async def test_every_turn_asked_for_and_lost_counts_as_bought_again(store: Store) -> None:
    async def killed() -> dict[str, Any]:
        raise asyncio.CancelledError

    for _ in range(2):
        with pytest.raises(asyncio.CancelledError):
            await find_or_call(Journal(store, "job"), REQUEST, killed)
    turn = await find_or_call(Journal(store, "job"), REQUEST, Provider())
    assert turn.repeated_calls == 2
    again = await find_or_call(Journal(store, "job"), REQUEST, Provider())
    assert again.repeated_calls == 2


async def test_an_answer_that_broke_off_may_have_been_paid_for(store: Store) -> None:
    async def cut() -> dict[str, Any]:
        raise ApplicationError("the stream ended", type="broken_answer")

    with pytest.raises(ApplicationError):
        await find_or_call(Journal(store, "job"), REQUEST, cut)
    assert (await find_or_call(Journal(store, "job"), REQUEST, Provider())).repeated_calls == 1


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
        await find_or_call(Journal(store, "job"), REQUEST, refused)
    turn = await find_or_call(Journal(store, "job"), REQUEST, Provider())
    assert not turn.repeated_calls


async def test_a_tool_result_stays_what_it_was_the_first_time(store: Store) -> None:
    journal = Journal(store, "job")
    turn = await find_or_call(journal, REQUEST, Provider())
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
