"""Indexes of a corpus: the same for every worker, mended where damaged, within their bounds."""

from __future__ import annotations

import asyncio
import os
import resource
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from activities.sources import corpus_indexes as corpora_module
from activities.sources.corpus_indexes import Corpora
from activities.storage import corpus_publishing
from activities.storage.backends import FolderBackend
from activities.storage.corpus_publishing import publish, upload
from activities.storage.corpus_versions import PackedFile, PackRef
from activities.storage.encryption import Keyring
from activities.storage.store import DamagedObject, Store
from tests.sources.test_sources_corpora import Worker, parsed, store, worker

__all__ = ["parsed", "store", "worker"]

SECRET = b"k" * 32


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


async def test_a_worker_that_never_saw_the_folder_reads_the_same(
    folder: Path, worker: Worker, tmp_path: Path, store: Store
) -> None:
    for number in range(30):
        (folder / f"{number}.txt").write_text(f"Ferry number {number} sails.")
    ready = await worker.refresh(folder)
    empty(folder)
    elsewhere = Worker.beside(Store.open(str(tmp_path / "store")), tmp_path / "elsewhere")
    here, there = await worker.open(ready), await elsewhere.open(ready)
    assert here.search("ferry 7") == there.search("ferry 7")
    assert list(here.documents()) == list(there.documents())
    await elsewhere.close()


async def test_workers_that_index_one_version_at_once_publish_one_index(
    folder: Path, store: Store, tmp_path: Path
) -> None:
    for number in range(60):
        (folder / f"{number}.txt").write_text(f"Ferry number {number // 2} sails.")
    head = await publish(store, "c", str(folder))
    workers = [Worker.beside(store, tmp_path / f"{n}") for n in range(3)]
    made = await asyncio.gather(*(w.corpora.make_ready("c", head.version) for w in workers))
    assert made[0] == made[1] == made[2]
    found = [list((await w.open(made[0])).documents()) for w in workers]
    assert found[0] == found[1] == found[2]
    for one in workers:
        await one.close()


async def test_a_damaged_local_index_is_fetched_again(
    folder: Path, worker: Worker, tmp_path: Path
) -> None:
    (folder / "a.txt").write_text("The ferry sails.")
    ready = await worker.refresh(folder)
    [file] = (tmp_path / "indexes").glob("*.sqlite3")
    file.write_bytes(b"not a database at all" * 100)
    assert (await worker.open(ready)).search("ferry")


async def test_a_changed_part_of_a_published_index_is_not_used(
    folder: Path, worker: Worker, tmp_path: Path
) -> None:
    (folder / "a.txt").write_text("The ferry sails.")
    ready = await worker.refresh(folder)
    [part] = (tmp_path / "store" / "index-parts").iterdir()
    part.write_bytes(part.read_bytes().replace(b"ferry", b"merry"))
    elsewhere = Worker.beside(worker.store, tmp_path / "elsewhere")
    with pytest.raises(Exception, match="index-parts"):
        await elsewhere.open(ready)
    await elsewhere.close()


async def test_a_damaged_parsed_text_is_parsed_again(
    folder: Path, worker: Worker, tmp_path: Path
) -> None:
    (folder / "a.txt").write_text("The ferry sails.")
    head = await publish(worker.store, "c", str(folder))
    packs = await worker.corpora.find_new_packs(head.version, "")
    await worker.corpora.parse(packs, lambda *_: None)
    [parsed] = (tmp_path / "store" / "parsed").iterdir()
    parsed.write_bytes(parsed.read_bytes().replace(b"ferry", b"merry"))
    corpus = await worker.open(await worker.corpora.make_ready("c", head.version))
    assert (len(corpus.search("ferry")), corpus.search("merry")) == (1, [])


async def test_with_keys_nothing_of_a_document_is_readable_in_the_store(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "a.txt").write_text("The ferry carried walruses.")
    store = Store.open(str(tmp_path / "sealed"), Keyring("one", {"one": SECRET}, SECRET))
    worker = Worker.beside(store, tmp_path / "indexes")
    assert (await worker.open(await worker.refresh(folder))).search("walruses")
    await worker.close()
    stored = [path for path in (tmp_path / "sealed").rglob("*") if path.is_file()]
    assert len(stored) > 5
    assert not any(b"walrus" in path.read_bytes() for path in stored)


async def test_open_files_are_bounded_however_many_corpora_are_read(
    tmp_path: Path, store: Store, worker: Worker
) -> None:
    made = []
    for number in range(40):
        head = await upload(store, f"c{number}", {"a.md": b"# A\n\nFerry %d sails." % number})
        made.append(await worker.corpora.make_ready(head.name, head.version))
    before = len(os.listdir("/dev/fd"))
    old = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before + 40, old[1]))
    try:
        for ready in made * 3:
            assert (await worker.open(ready)).search("ferry")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, old)
    assert len(os.listdir("/dev/fd")) - before < 20


async def test_the_cache_keeps_within_its_bytes_and_what_is_open(
    tmp_path: Path, store: Store
) -> None:
    worker = Worker.beside(store, tmp_path / "indexes")
    worker.cache._max_bytes = 1
    made = []
    for number in range(12):
        head = await upload(store, f"c{number}", {"a.md": b"# A\n\nFerry %d sails." % number})
        made.append(await worker.corpora.make_ready(head.name, head.version))
    assert len(list((tmp_path / "indexes").glob("*.sqlite3"))) == 1
    held = await worker.open(made[0])
    for ready in made[1:]:
        await worker.open(ready)
    assert held.search("ferry"), "an index that is used is not deleted"
    assert len(list((tmp_path / "indexes").glob("*.sqlite3"))) <= 10
    await worker.close()


async def test_nobody_waits_for_the_documents_of_another_corpus(
    store: Store, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = await upload(store, "slow", {"slow.md": b"# Slow\n\nWords."})
    quick = await upload(store, "quick", {"quick.md": b"# Quick\n\nWords."})
    parse, release = Corpora._parse_files, asyncio.Event()

    async def wait(
        self: Corpora, contents: Sequence[tuple[PackedFile, bytes]], place: Path, spread: bool
    ) -> list[bytes]:
        if contents[0][0].path == "slow.md":
            await release.wait()
        return await parse(self, contents, place, spread)

    monkeypatch.setattr(Corpora, "_parse_files", wait)
    waiting = asyncio.ensure_future(worker.corpora.make_ready("slow", slow.version))
    await asyncio.sleep(0)
    assert (await worker.corpora.make_ready("quick", quick.version)).documents == 1
    assert not waiting.done()
    release.set()
    assert (await waiting).documents == 1


async def test_a_cancelled_index_leaves_nothing_behind_and_is_made_the_next_time(
    store: Store, worker: Worker, tmp_path: Path
) -> None:
    texts = {f"{n}.txt": b"Ferry number %d sails at noon. " % n * 2000 for n in range(150)}
    head = await upload(store, "c", texts)
    for delay in (0.05, 0.3, 1.0):
        work = asyncio.ensure_future(worker.corpora.make_ready("c", head.version))
        await asyncio.sleep(delay)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert list((tmp_path / "indexes").glob("build-*")) == []
    assert (await worker.corpora.make_ready("c", head.version)).documents == 150


# --- packs and patches --------------------------------------------------------------------------


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the objects that are read from the store."""
    paths: list[str] = []
    read = FolderBackend.read

    async def noted(self: FolderBackend, path: str) -> bytes | None:
        paths.append(path)
        return await read(self, path)

    monkeypatch.setattr(FolderBackend, "read", noted)
    return paths


def write_ferries(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"{number:03}.txt").write_text(f"Ferry number {number} sails.")


async def test_many_small_files_are_few_objects(
    folder: Path, worker: Worker, tmp_path: Path
) -> None:
    write_ferries(folder, 300)
    assert (await worker.refresh(folder)).documents == 300
    stored = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    # For each of two packs its files, their bytes and what they gave; and five of the corpus.
    assert len(stored) <= 2 * 3 + 6


async def test_a_refresh_reads_no_pack_but_those_of_what_changed(
    folder: Path, worker: Worker, tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_publishing, "PACK_FILES", 5)
    write_ferries(folder, 50)
    await worker.refresh(folder)
    (folder / "007.txt").write_text("The seventh ferry is repaired.")
    (folder / "023.txt").unlink()
    head = await publish(worker.store, "c", str(folder))
    reads.clear()
    elsewhere = Worker.beside(Store.open(str(tmp_path / "store")), tmp_path / "elsewhere")
    ready = await elsewhere.corpora.make_ready("c", head.version)
    assert ready.documents == 49
    folders = Counter(path.partition("/")[0] for path in reads)
    assert (folders["originals"], folders["packs"]) == (1, 3), (
        "two that lost a file, one that is new"
    )
    assert [hit.document.uri for hit in (await elsewhere.open(ready)).search("repaired")] == [
        "007.txt"
    ]
    await elsewhere.close()


async def test_what_a_killed_worker_has_parsed_is_not_parsed_again(
    folder: Path, store: Store, tmp_path: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_publishing, "PACK_FILES", 2)
    write_ferries(folder, 24)
    head = await publish(store, "c", str(folder))
    first = Worker.beside(store, tmp_path / "first")
    packs = await first.corpora.find_new_packs(head.version, "")

    def die(done: int, _: int) -> None:
        if done >= 10:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        await first.corpora.parse(packs, die)
    await first.close()
    stored = 2 * len(list((tmp_path / "store" / "parsed").iterdir()))
    assert 10 <= stored < 24
    parsed.clear()
    second = Worker.beside(store, tmp_path / "second")
    assert (await second.corpora.make_ready("c", head.version)).documents == 24
    assert len(parsed) == 24 - stored
    await second.close()


async def test_a_worker_with_the_last_version_fetches_only_what_changed(
    folder: Path, worker: Worker, tmp_path: Path, reads: list[str]
) -> None:
    write_ferries(folder, 300)
    before = await worker.refresh(folder)
    behind = Worker.beside(Store.open(str(tmp_path / "store")), tmp_path / "behind")
    assert (await behind.open(before)).search("ferry 7")
    (folder / "007.txt").write_text("The seventh ferry is repaired.")
    after = await worker.refresh(folder)
    reads.clear()
    assert (await behind.open(after)).search("repaired")
    [patch] = [path for path in reads if path.startswith("index-parts/")]
    assert after.ref is not None
    whole = (await worker.cache.fetch(after.ref.index)).read_bytes()
    assert (tmp_path / "store" / patch).stat().st_size < len(whole) / 2
    cold = Worker.beside(Store.open(str(tmp_path / "store")), tmp_path / "cold")
    for each in (behind, cold):
        assert (await each.cache.fetch(after.ref.index)).read_bytes() == whole
        await each.close()


async def test_a_damaged_copy_of_the_last_version_does_not_spoil_the_next(
    folder: Path, worker: Worker, tmp_path: Path
) -> None:
    write_ferries(folder, 10)
    before = await worker.refresh(folder)
    behind = Worker.beside(worker.store, tmp_path / "behind")
    assert before.ref is not None
    copy = await behind.cache.fetch(before.ref.index)
    copy.write_bytes(b"not a database at all" * 1000)
    (folder / "007.txt").write_text("The seventh ferry is repaired.")
    assert (await behind.open(await worker.refresh(folder))).search("repaired")
    await behind.close()


async def test_a_damaged_pack_is_named_and_not_indexed(
    folder: Path, worker: Worker, tmp_path: Path
) -> None:
    write_ferries(folder, 10)
    head = await publish(worker.store, "c", str(folder))
    [pack] = (tmp_path / "store" / "originals").iterdir()
    pack.write_bytes(pack.read_bytes().replace(b"Ferry number 7", b"Merry number 7"))
    with pytest.raises(DamagedObject, match=f"originals/{pack.name}"):
        await worker.corpora.make_ready("c", head.version)
    damaged = [path async for path, damage in worker.store.find_damage() if damage]
    assert damaged == [f"originals/{pack.name}"]


async def test_packs_are_split_for_several_workers() -> None:
    packs = [PackRef(id=f"{n}", files=200, bytes=1) for n in range(12)]
    assert list(corpora_module.split_packs(packs)) == [(0, 5), (5, 10), (10, 12)]
    large = [PackRef(id=f"{n}", files=1, bytes=30_000_000) for n in range(3)]
    assert list(corpora_module.split_packs(large)) == [(0, 1), (1, 2), (2, 3)]
    assert list(corpora_module.split_packs([])) == []
