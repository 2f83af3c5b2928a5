"""The store: whole objects or none, keys nobody can escape with, faults that name their remedy."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from temporalio.exceptions import ApplicationError

from activities.store import Store
from workflows import keys


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


async def test_the_first_to_settle_decides(store: Store) -> None:
    assert await store.settle("a/b.json", b"first") == b"first"
    assert await store.settle("a/b.json", b"second") == b"first"
    await store.replace("a/b.json", b"third")
    assert await store.get("a/b.json") == b"third"


async def test_of_many_who_create_at_once_one_wins(store: Store) -> None:
    won = await asyncio.gather(*(store.put_new("key", b"%d" % i) for i in range(40)))
    assert sum(won) == 1
    assert await store.get("key") == b"%d" % won.index(True)


async def test_a_folder_lists_what_lies_in_it_and_nothing_beside_it(store: Store) -> None:
    for key in ("jobs/a/2", "jobs/a/1", "jobs/ab/1", "jobs/a.json"):
        await store.put_new(key, b"")
    assert await store.list("jobs/a") == ["jobs/a/1", "jobs/a/2"]
    assert await store.list("jobs/none") == []


async def test_what_is_not_there_can_be_deleted(store: Store) -> None:
    await store.delete("nothing")


WRITER = """
import asyncio, sys
from activities.store import Store
async def main():
    store = Store.open(sys.argv[1])
    print("ready", flush=True)
    for n in range(10_000):
        await store.put_new(f"big/{n}", b"x" * 2_000_000)
asyncio.run(main())
"""


async def test_a_writer_that_is_killed_leaves_whole_objects_only(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    for delay in (0.03, 0.07):
        writer = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(folder), stdout=asyncio.subprocess.PIPE
        )
        assert writer.stdout is not None
        await writer.stdout.readline()
        await asyncio.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        await writer.communicate()
    store = Store.open(str(folder))
    kept = await store.list("big")
    sizes = {len(await store.get(key) or b"") for key in kept}
    assert sizes <= {2_000_000}
    for n in range(3):
        await store.put_new(f"big/{n}", b"x" * 2_000_000)
        assert len(await store.get(f"big/{n}") or b"") == 2_000_000


async def test_a_store_that_is_gone_is_a_fault_with_a_remedy(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = Store.open(str(folder))
    folder.rmdir()
    folder.write_bytes(b"")
    for use in (store.get("a/b"), store.put_new("a/b", b""), store.replace("a/b", b""),
                store.list("a"), store.delete("a/b")):  # fmt: skip
        with pytest.raises(ApplicationError) as raised:
            await use
        assert raised.value.type == "storage"
        assert not raised.value.non_retryable, "Temporal tries again before an operator is asked"
        assert str(folder) in raised.value.message
        assert "RESEARCH_STORE" in raised.value.message
        assert "Debug" not in raised.value.message


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (OSError(28, "No space left on device"), "make room"),
        (PermissionError(13, "Permission denied"), "credentials"),
        (OSError(30, "Read-only file system"), "write"),
        (FileNotFoundError(2, "no such bucket"), "bucket"),
        (OSError(5, "Input/output error"), "can be reached"),
    ],
)
async def test_each_fault_names_what_mends_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: OSError, remedy: str
) -> None:
    class Broken:
        async def put_async(self, *_: object, **__: object) -> None:
            raise error

    monkeypatch.setattr(store, "_objects", Broken())
    with pytest.raises(ApplicationError, match=remedy) as raised:
        await store.put_new("key", b"")
    assert raised.value.type == "storage"


ODD = ("..", ".", "../../etc/passwd", "a/../b", "/abs", "a//b", "a\x00b", "a\nb", "x#1", "",
       "é" * 500)  # fmt: skip


@pytest.mark.parametrize("job", ODD)
async def test_no_job_id_leaves_its_folder(tmp_path: Path, job: str) -> None:
    store = Store.open(str(tmp_path / "store"))
    for key in (
        f"{keys.journal_folder(job)}/1.json",
        f"{keys.frames_folder(job)}/1.json",
        keys.checkpoint_key(job, job, 3, job),
        keys.orders_key(job),
    ):
        assert await store.put_new(key, b"mine")
        assert await store.get(key) == b"mine"
    beside = await asyncio.to_thread(lambda: [p.name for p in tmp_path.iterdir()])
    assert beside == ["store"]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.text(max_size=300))
def test_two_jobs_never_share_a_folder(one: str, other: str) -> None:
    assert (keys.safe(one) == keys.safe(other)) == (one == other)
    assert "/" not in keys.safe(one)
    assert 0 < len(keys.safe(one)) <= 160


def test_an_ordinary_id_stays_readable() -> None:
    assert keys.safe("ferry-2026.01_a") == "ferry-2026.01_a"
    assert keys.safe("team/ferry") == "team%2Fferry"
    assert keys.checkpoint_key("j", "r", 7, "pass-1") == "checkpoints/j/r/007-pass-1.json"
