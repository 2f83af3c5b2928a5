"""The store: whole objects or none, keys nobody can escape with, faults that name their remedy."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.store import LocalStore
from temporalio.exceptions import ApplicationError

from activities.storage import store as store_module
from activities.storage.encryption import Keyring, key_id_of
from activities.storage.journal import Journal
from activities.storage.store import DamagedObject, ObjectNotFound, Store
from tests.activities.test_journal import find_or_call
from workflows.config import store_keys as keys
from workflows.contracts.messages import ControlMessages

OLD, NEW, NAMES = b"o" * 32, b"n" * 32, b"x" * 32
RING = Keyring("old", {"old": OLD}, NAMES)
ROTATED = Keyring("new", {"old": OLD, "new": NEW}, NAMES)


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


async def test_what_a_killed_writer_left_behind_is_not_there(store: Store, tmp_path: Path) -> None:
    assert await store.put_new("marks/1", b"")
    assert not await store.put_new("marks/1", b"again")
    assert await store.get("marks/1") == b""
    assert await store.put_new("marks/2", b"two")
    (tmp_path / "store" / "marks" / "3#812").write_bytes(b"half")
    assert await store.list("marks") == ["marks/1", "marks/2"]
    assert not [f for f in (tmp_path / "store").rglob("*#*") if f.name != "3#812"]
    assert {item["path"] for item in LocalStore(tmp_path / "store").list().collect()} == {
        "marks/1", "marks/2",
    }, "the console reads the same folder through obstore"  # fmt: skip


async def test_what_is_not_there_can_be_deleted(store: Store) -> None:
    await store.delete("nothing")


SHA = hashlib.sha256(b"words").hexdigest()
WRITER = """
import asyncio, sys
from activities.storage.store import Store
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
async def test_each_fault_names_what_mends_it(error: OSError, remedy: str) -> None:
    class Broken:
        async def create(self, *_: object, **__: object) -> None:
            raise error

    with pytest.raises(ApplicationError, match=remedy) as raised:
        await Store(Broken()).put_new("key", b"")  # type: ignore[arg-type]
    assert raised.value.type == "storage"


async def test_what_never_changes_is_fetched_once(store: Store, tmp_path: Path) -> None:
    key = await store.save("findings", ControlMessages(paused=True))
    other = Store.open(str(tmp_path / "store"))
    assert await other.load(key, ControlMessages) == await store.load(key, ControlMessages)
    await store.keep_text(SHA, "words")
    assert await other.text(SHA) == "words"
    await store.delete(key)
    await store.delete(f"texts/{SHA}")
    for known in (store, other):
        assert (await known.load(key, ControlMessages)).paused
        assert await known.text(SHA) == "words"
    with pytest.raises(ObjectNotFound):
        await Store.open(str(tmp_path / "store")).load(key, ControlMessages)


async def test_what_is_too_large_for_the_cache_is_still_stored(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "CACHE_BYTES", 3)
    await store.keep_text(SHA, "words")
    assert await store.text(SHA) == "words"


ODD = ("..", ".", "../../etc/passwd", "a/../b", "/abs", "a//b", "a\x00b", "a\nb", "x#1", "",
       "é" * 500)  # fmt: skip


@pytest.mark.parametrize("job", ODD)
async def test_no_job_id_leaves_its_folder(tmp_path: Path, job: str) -> None:
    store = Store.open(str(tmp_path / "store"))
    for key in (
        f"{keys.journal_folder(job)}/1.json",
        f"{keys.templates_folder(job)}/1.json",
        keys.checkpoint_key(job, job, 3, job),
        keys.control_key(job),
    ):
        assert await store.put_new(key, b"mine")
        assert await store.get(key) == b"mine"
    beside = await asyncio.to_thread(lambda: [p.name for p in tmp_path.iterdir()])
    assert beside == ["store"]


@settings(max_examples=60)
@given(st.text(max_size=300), st.text(max_size=300))
def test_two_jobs_never_share_a_folder(one: str, other: str) -> None:
    assert (keys.safe(one) == keys.safe(other)) == (one == other)
    assert "/" not in keys.safe(one)
    assert 0 < len(keys.safe(one)) <= 160


def test_an_ordinary_id_stays_readable() -> None:
    assert keys.safe("ferry-2026.01_a") == "ferry-2026.01_a"
    assert keys.safe("team/ferry") == "team%2Fferry"
    assert keys.checkpoint_key("j", "r", 7, "pass-1") == "checkpoints/j/r/007-pass-1.json"


# --- sealed ---------------------------------------------------------------------------------------

KEYS = ("journal/job/abc.json", "texts/0123", "findings/4567.json", "transcripts/job/ferry-89.json",
        "checkpoints/job/run/001-opened.json", "control/job.json")  # fmt: skip


def on_disk(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


async def test_a_sealed_store_behaves_like_an_open_one(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path), RING)
    for key in KEYS:
        assert await store.get(key) is None
        assert await store.put_new(key, b"a secret")
        assert not await store.put_new(key, b"another")
        assert await store.settle(key, b"another") == b"a secret"
        await store.replace(key, b"a later secret")
        assert await store.get(key) == b"a later secret"
        assert len(await store.list(key.rpartition("/")[0])) == 1
        await store.delete(key)
        assert await store.get(key) is None
    won = await asyncio.gather(*(store.put_new("journal/j/k", b"%d" % i) for i in range(40)))
    assert sum(won) == 1
    assert await store.get("journal/j/k") == b"%d" % won.index(True)


async def test_a_sealed_store_shows_neither_contents_nor_telling_names(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path), RING)
    for key in KEYS:
        await store.put_new(key, b"a secret")
    await store.keep_text("f00d", "a secret")
    files = await asyncio.to_thread(on_disk, tmp_path)
    assert len(files) == len(KEYS) + 1
    assert all(key_id_of(data) and b"secret" not in data for data in files.values())
    names = " ".join(sorted(files))
    assert [word for word in ("abc", "0123", "4567", "ferry", "f00d") if word in names] == []
    assert {"checkpoints/job/run/001-opened.json", "control/job.json"} <= set(files)
    assert sum(name.startswith("journal/job/") for name in files) == 1, "a job's things by its id"


async def test_what_was_kept_before_there_were_keys_is_still_found(tmp_path: Path) -> None:
    before, store = Store.open(str(tmp_path)), Store.open(str(tmp_path), RING)
    for key in KEYS:
        await before.put_new(key, b"kept")
        assert await store.get(key) == b"kept"
        assert not await store.put_new(key, b"again")
        assert await store.settle(key, b"again") == b"kept"
        assert len(await store.list(key.rpartition("/")[0])) == 1
        await store.replace(key, b"later")
        assert await store.get(key) == b"later"
        await store.delete(key)
        assert await store.get(key) is None


async def test_no_turn_is_bought_again_when_keys_come_or_change(tmp_path: Path) -> None:
    bought: list[int] = []

    async def ask() -> dict[str, object]:
        bought.append(1)
        return {"content": "an answer"}

    for ring in (None, RING, ROTATED):
        journal = Journal(Store.open(str(tmp_path), ring), "job")
        turn = await find_or_call(journal, {"model": "a", "messages": ["one"]}, ask)
        assert (turn.message, turn.repeated_calls) == ({"content": "an answer"}, 0)
    assert len(bought) == 1
    for ring in (RING, ROTATED):
        await find_or_call(
            Journal(Store.open(str(tmp_path), ring), "job"), {"messages": ["two"]}, ask
        )
    assert len(bought) == 2


async def test_after_a_rotation_the_old_is_read_and_the_new_sealed_anew(tmp_path: Path) -> None:
    old, new = Store.open(str(tmp_path), RING), Store.open(str(tmp_path), ROTATED)
    await old.put_new("texts/1", b"old")
    await new.put_new("texts/2", b"new")
    assert [await new.get(f"texts/{n}") for n in (1, 2)] == [b"old", b"new"]
    with pytest.raises(
        ApplicationError, match=r"'texts/2'.*the key 'new'.*which has old"
    ) as raised:
        await old.get("texts/2")
    assert raised.value.type == "storage"
    with pytest.raises(ApplicationError, match=r"the key 'new'.*RESEARCH_KEYS"):
        await Store.open(str(tmp_path)).get(f"texts/{RING.hash_name('texts/2')}")


async def test_an_object_put_in_anothers_place_does_not_open(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path), RING)
    await store.put_new("control/a.json", b"for a")
    await asyncio.to_thread(
        lambda: (tmp_path / "control/a.json").rename(tmp_path / "control/b.json")
    )
    with pytest.raises(ApplicationError, match="is damaged"):
        await store.get("control/b.json")


# --- damage -------------------------------------------------------------------------------------


def files_in(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("ring", [None, RING], ids=["plain", "encrypted"])
async def test_a_changed_object_is_named_and_not_read(tmp_path: Path, ring: Keyring | None) -> None:
    store = Store.open(str(tmp_path), ring)
    await store.keep_text(SHA, "words")
    await store.put_new("control/a.json", b"paused")
    for file in files_in(tmp_path):
        damage(file)
    reader = Store.open(str(tmp_path), ring)
    for read, name in ((reader.text(SHA), SHA), (reader.get("control/a.json"), "control/a.json")):
        with pytest.raises(DamagedObject, match=name) as raised:
            await read
        assert raised.value.type == "damaged"
        assert raised.value.non_retryable, "waiting mends nothing"


async def test_a_text_that_was_rewritten_with_its_checksum_is_still_found_out(
    tmp_path: Path,
) -> None:
    store = Store.open(str(tmp_path))
    await store.replace(f"texts/{SHA}", b"other words")
    with pytest.raises(DamagedObject, match=SHA):
        await store.text(SHA)


async def test_what_can_be_had_again_is_set_aside_and_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store.open(str(tmp_path))
    await store.put_new("journal/j/turn.json", b"first")
    damage(tmp_path / "journal/j/turn.json")
    assert await store.settle("journal/j/turn.json", b"second") == b"second"
    assert await store.get("journal/j/turn.json") == b"second"
    assert "journal/j/turn.json" in caplog.text
    assert (tmp_path / "damaged/journal/j/turn.json").exists()


async def test_files_and_folders_are_private_to_their_user(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path / "new" / "store"))
    await store.put_new("a/b/c", b"x")
    places = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    modes = {oct(place.stat().st_mode & 0o777) for place in places if place.is_dir()}
    files = {oct(place.stat().st_mode & 0o777) for place in places if place.is_file()}
    assert (modes, files) == ({"0o700"}, {"0o600"})


async def test_an_object_and_its_folders_are_on_the_disk_before_a_write_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synchronised: list[str] = []
    real = os.fsync

    def fsync(file: int) -> None:
        synchronised.append(os.readlink(f"/proc/self/fd/{file}").split("#")[0])
        real(file)

    store = Store.open(str(tmp_path / "store"))
    monkeypatch.setattr(os, "fsync", fsync)
    await store.put_new("a/b", b"x")
    root = str(tmp_path / "store")
    assert synchronised == [root, f"{root}/a/b", f"{root}/a"]


@pytest.mark.parametrize("ring", [None, RING], ids=["plain", "encrypted"])
async def test_a_whole_store_is_checked(tmp_path: Path, ring: Keyring | None) -> None:
    store = Store.open(str(tmp_path), ring)
    await store.keep_text(SHA, "words")
    await store.put_new("journal/j/turn.json", b"turn")
    assert [fault for _, fault in [found async for found in store.find_damage()]] == ["", ""]
    damage(next(f for f in (tmp_path / "journal").rglob("*") if f.is_file()))
    faults = [(path, fault) async for path, fault in store.find_damage() if fault]
    assert len(faults) == 1
    assert faults[0][0].startswith("journal/j/")
