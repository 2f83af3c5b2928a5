"""Indexes of a corpus: the same for every worker, mended where damaged, within their bounds."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Sequence
from pathlib import Path

import pytest

from activities.sources import corpus_indexes as corpora_module
from activities.sources.corpus_indexes import Corpora
from activities.storage.corpus_publishing import publish, upload
from activities.storage.corpus_versions import PackedFile, PackRef
from activities.storage.encryption import Keyring
from activities.storage.store import Store
from tests.sources.test_sources_corpora import Worker, store, worker

__all__ = ["store", "worker"]

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


async def test_packs_are_split_for_several_workers() -> None:
    packs = [PackRef(id=f"{n}", files=200, bytes=1) for n in range(12)]
    assert list(corpora_module.split_packs(packs)) == [(0, 5), (5, 10), (10, 12)]
    large = [PackRef(id=f"{n}", files=1, bytes=30_000_000) for n in range(3)]
    assert list(corpora_module.split_packs(large)) == [(0, 1), (1, 2), (2, 3)]
    assert list(corpora_module.split_packs([])) == []
