"""Corpora in packs: nothing that is in use goes, and of what is forgotten nothing stays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from activities.storage import forgetting, retention
from activities.storage.corpus_publishing import publish
from activities.storage.corpus_versions import (
    CorpusHead,
    load_contents,
    load_files,
    load_head,
    load_listing,
    name_of,
)
from activities.storage.encryption import Keyring
from activities.storage.references import Mentioned, find_references
from activities.storage.store import Store
from tests.sources.test_sources_corpora import Worker
from workflows.config.store_keys import listing_key, pack_key


@pytest.fixture(params=["plain", "encrypted"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    ring = Keyring("now", {"now": b"k" * 32}, b"n" * 32) if request.param == "encrypted" else None
    return Store.open(str(tmp_path / "store"), ring)


@pytest.fixture
async def worker(store: Store, tmp_path: Path) -> AsyncIterator[Worker]:
    made = Worker.beside(store, tmp_path / "indexes")
    yield made
    await made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "documents"
    place.mkdir()
    for name in ("bonds", "harbour", "quay"):
        # Long enough for an index to be patched, not replaced.
        words = "\n\n".join(f"Remark {n} is about the {name} of the town." for n in range(300))
        (place / f"{name}.md").write_text(f"# About\n\n{words}")
    return place


async def read_all(store: Store, head: CorpusHead) -> dict[str, bytes]:
    files = await load_files(store, await load_listing(store, head.version))
    return {f.path: (await load_contents(store, f.pack))[f.position][1] for f in files}


async def refer(store: Store, job: str, version: str) -> None:
    """Leave what a finished job leaves that read a version."""
    await store.put_new(f"checkpoints/{job}/run/001-planned.json", f'"{version}"'.encode())


async def delete(store: Store, job: str) -> retention.Deletion:
    nothing = Mentioned()
    return await retention.delete_jobs(store, [job], nothing, nothing, has_open_jobs=False)


async def test_a_version_reaches_its_packs_texts_and_the_parts_of_its_index(
    store: Store, worker: Worker, folder: Path
) -> None:
    first = await worker.refresh(folder)
    (folder / "quay.md").write_text("# About\n\nThe quay is closed.")
    second = await worker.refresh(folder)
    assert first.ref is not None
    assert second.ref is not None
    inventory = await store.inventory()
    await refer(store, "x", second.ref.version)
    found = await find_references(store, inventory, await store.list("checkpoints/x"))
    kinds = [path.partition("/")[0] for path in found]
    assert sorted(kind for kind in kinds if kind != "checkpoints") == sorted(
        ["corpora", "scans", "listings", "indexes", "newest-indexes"]
        + ["packs", "originals", "parsed"] * 2
        + ["index-parts"] * 2
    ), "the first index's file and the pages that were changed in it"
    assert not found.intersection(store.paths(listing_key(first.ref.version)))
    # All of it is there, and enough for another machine.
    for path in inventory.keys() - found:
        await store.remove(path)
    other = Worker.beside(store, folder.parent / "elsewhere")
    assert "quay.md" in {found.uri for found in (await other.open(second)).documents()}
    await other.close()


async def test_of_a_forgotten_document_its_packs_other_files_are_moved(
    store: Store, worker: Worker, folder: Path
) -> None:
    (folder / "empty.md").write_bytes(b"")
    ready = await worker.refresh(folder)
    assert ready.ref is not None
    before = await read_all(store, await load_head(store, "c"))
    for source, left in (("bonds.md", 3), ("empty.md", 2)):
        inventory = await store.inventory()
        document = await forgetting.find_document(store, inventory, source)
        forgotten = await forgetting.forget_document(store, inventory, document, ())
        assert forgotten.corpora == ["c"]
        head = await load_head(store, "c")
        kept = await read_all(store, head)
        assert kept == {path: before[path] for path in kept}
        assert len(kept) == head.files == left
        assert source not in kept
    stored = [await store.read(path) or b"" for path in await store.inventory()]
    assert not any(b"about the bonds" in data for data in stored)
    assert await store.get(listing_key(ready.ref.version)) is None
    # The next version starts from what is left.
    assert (await worker.corpora.make_ready("c", head.version)).documents == 2
    again = await publish(store, "c", str(folder))
    assert (await read_all(store, again)).keys() == before.keys()


async def test_a_document_is_found_by_the_hash_of_its_text(
    store: Store, worker: Worker, folder: Path
) -> None:
    ready = await worker.refresh(folder)
    index = await worker.open(ready)
    [name] = [each.id for each in index.documents() if each.uri == "bonds.md"]
    found = index.document(name)
    document = await forgetting.find_document(store, await store.inventory(), found.sha256)
    assert {file.path for file in document.files} == {"bonds.md"}
    assert {found.id, found.sha256, "bonds.md"} <= document.words


async def test_a_corpus_made_in_passing_does_not_stay_without_a_part_of_it(
    store: Store, worker: Worker, folder: Path
) -> None:
    """A newer version that no job reads shares packs with the version of a job that is deleted."""
    name = name_of(str(folder))
    head = await publish(store, name, str(folder))
    await worker.corpora.make_ready(name, head.version)
    await refer(store, "x", head.version)
    (folder / "more.md").write_text("# More\n\nThe pier is new.")
    newer = await publish(store, name, str(folder))
    await worker.corpora.make_ready(name, newer.version)
    deleted = await delete(store, "x")
    assert deleted.left == []
    again = await publish(store, name, str(folder))
    assert len(await read_all(store, again)) == 4
    ready = await worker.corpora.make_ready(name, again.version)
    other = Worker.beside(store, folder.parent / "elsewhere")
    assert "more.md" in {found.uri for found in (await other.open(ready)).documents()}
    await other.close()


async def test_a_job_takes_no_pack_that_another_version_names(store: Store, folder: Path) -> None:
    name = name_of(str(folder))
    first = await publish(store, name, str(folder))
    await refer(store, "x", first.version)
    (folder / "more.md").write_text("# More\n\nThe pier is new.")
    second = await publish(store, name, str(folder))
    await refer(store, "y", second.version)
    await store.put_new("idempotency/0.json", b'{"job": "x", "request": "0"}')
    await store.put_new("idempotency/1.json", b'{"job": "y", "request": "0"}')
    await delete(store, "x")
    assert len(await read_all(store, second)) == 4
    assert await store.get(listing_key(first.version)) is None
    assert await store.get("idempotency/0.json") is None
    assert await store.get("idempotency/1.json") is not None
    packs = (await load_listing(store, second.version)).packs
    await delete(store, "y")
    for ref in packs:
        assert await store.get(pack_key(ref.id)) is None
    assert await store.list("originals") == []
