"""A corpus follows its source, reads only what changed, and shows what labels allow."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from activities.sources.corpus_indexes import Corpora
from activities.sources.corpus_search import Corpus
from activities.sources.index_cache import IndexCache
from activities.storage import corpus_versions as storage
from activities.storage import document_sources
from activities.storage.corpus_publishing import Limits, publish, upload
from activities.storage.corpus_versions import CorpusHead, PackedFile, Rules
from activities.storage.document_sources import CorpusError
from activities.storage.store import Store
from tests.corpora import FolderCorpus
from workflows.contracts.state import CorpusReady


@dataclass
class Worker:
    """What a worker on a machine of its own has: the store, and a folder for indexes."""

    store: Store
    cache: IndexCache
    corpora: Corpora

    @classmethod
    def beside(cls, store: Store, place: Path) -> Worker:
        cache = IndexCache(store, place)
        return cls(store, cache, Corpora(store, cache))

    async def refresh(self, folder: Path, rules: Rules | None = None) -> CorpusReady:
        head = await publish(self.store, "c", str(folder), rules=rules)
        return await self.corpora.make_ready("c", head.version)

    async def open(self, ready: CorpusReady) -> Corpus:
        assert ready.ref is not None
        return await self.cache.open(ready.ref)

    async def close(self) -> None:
        await self.corpora.close()
        self.cache.close()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


@pytest.fixture
async def worker(store: Store, tmp_path: Path) -> AsyncIterator[Worker]:
    made = Worker.beside(store, tmp_path / "indexes")
    yield made
    await made.close()


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are parsed, in their order."""
    paths: list[str] = []
    parse = Corpora._parse_files

    async def counted(
        self: Corpora, contents: Sequence[tuple[PackedFile, bytes]], place: Path, spread: bool
    ) -> list[bytes]:
        paths.extend(file.path for file, _ in contents)
        return await parse(self, contents, place, spread)

    monkeypatch.setattr(Corpora, "_parse_files", counted)
    return paths


def settle(folder: Path) -> None:
    """Give files an age, as a file changed this very moment is always looked at again."""
    then = time.time_ns() - 10_000_000_000
    for path in folder.iterdir():
        os.utime(path, ns=(then, then))


async def refuse_to_read(_: object, file: document_sources.ScannedFile) -> bytes:
    pytest.fail(f"{file.path} was read")


def places(corpus: Corpus) -> dict[str, tuple[str, ...]]:
    return {document.uri: document.also_at for document in corpus.documents()}


# --- versions -----------------------------------------------------------------------------------


async def test_an_unchanged_folder_is_neither_read_nor_indexed_again(
    folder: Path, worker: Worker, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"Text number {number}.")
    (folder / "broken.pdf").write_bytes(b"%PDF broken")
    (folder / "film.mp4").write_bytes(b"1")
    settle(folder)
    first = await worker.refresh(folder)
    assert (first.documents, first.unreadable_count) == (3, 1)
    assert first.unreadable[0].uri == "broken.pdf"
    parsed.clear()
    monkeypatch.setattr(document_sources._Folder, "read", refuse_to_read)
    assert await worker.refresh(folder) == first
    assert parsed == []


async def test_only_what_changed_is_parsed_and_the_version_tells_versions_apart(
    folder: Path, worker: Worker, parsed: list[str]
) -> None:
    for name in ("changed", "touched", "removed"):
        (folder / f"{name}.txt").write_text(f"The {name} file.")
    before = await worker.refresh(folder)
    parsed.clear()
    (folder / "touched.txt").touch()
    assert await worker.refresh(folder) == before
    (folder / "changed.txt").write_text("The altered file.")
    (folder / "removed.txt").unlink()
    after = await worker.refresh(folder)
    assert set(parsed) == {"changed.txt"}
    corpus = await worker.open(after)
    assert [hit.document.uri for hit in corpus.search("altered")] == ["changed.txt"]
    assert corpus.search("removed") == []
    old = await worker.open(before)
    assert [hit.document.uri for hit in old.search("removed")] == ["removed.txt"]


async def test_a_change_within_the_clocks_tick_is_seen(folder: Path, worker: Worker) -> None:
    path = folder / "a.txt"
    path.write_text("Old words.")
    before = path.stat().st_mtime_ns
    await worker.refresh(folder)
    path.write_text("New words.")
    os.utime(path, ns=(before, before))
    corpus = await worker.open(await worker.refresh(folder))
    assert corpus.search("new")


async def test_only_changed_records_of_a_file_are_replaced(folder: Path, worker: Worker) -> None:
    path = folder / "a.jsonl"
    path.write_text('{"text": "One."}\n{"text": "Two."}\n')
    first = {d.id for d in (await worker.open(await worker.refresh(folder))).documents()}
    path.write_text('{"text": "One."}\n{"text": "Three."}\n{"text": "Four."}\n')
    second = {d.id for d in (await worker.open(await worker.refresh(folder))).documents()}
    assert (len(first & second), len(second - first), len(first - second)) == (1, 2, 1)


async def test_an_index_made_in_steps_gives_the_answers_of_one_made_anew(
    folder: Path, worker: Worker, tmp_path: Path
) -> None:
    for number in range(20):
        (folder / f"{number}.txt").write_text(f"Ferry number {number} sails at noon, {number % 3}.")
        if number % 7 == 0:
            await worker.refresh(folder)
    stepwise = await worker.open(await worker.refresh(folder))
    anew = FolderCorpus(folder, tmp_path / "anew")
    anew.refresh()
    for asked in ("ferry number 7", "noon"):
        found = [corpus.search(asked, limit=20) for corpus in (stepwise, anew)]
        one, other = ({(hit.document.uri, hit.passage.text) for hit in hits} for hits in found)
        assert one == other
    assert stepwise.search("7")[0].document.uri == anew.search("7")[0].document.uri == "7.txt"
    assert stepwise.frequency(["ferry", "7"]) == anew.frequency(["ferry", "7"])


async def test_an_index_describes_every_document(folder: Path, worker: Worker) -> None:
    (folder / "report.md").write_text("# Annual report 2024\n\nDate: 2025-03-01\n\nIt sails.")
    (folder / "pay.md").write_text("# Pay\n\nThe pay is secret.")
    ready = await worker.refresh(folder, {"pay*": ("hr",)})
    head = await storage.load_head(worker.store, "c")
    every = await worker.corpora.make_ready("c", head.version, ("hr",))
    assert ready == every  # `refresh` indexes all of it; jobs select by their labels
    assert ready.ref is not None
    found = sorted((await worker.open(ready)).documents(), key=lambda d: d.uri)
    assert [(d.uri, d.title, d.date, d.kind, d.labels) for d in found] == [
        ("pay.md", "Pay", None, "note", ("hr",)),
        ("report.md", "Annual report 2024", "2025-03-01", "report", ()),
    ]


# --- sources ------------------------------------------------------------------------------------


async def test_links_out_of_the_folder_and_hidden_files_are_left_alone(
    folder: Path, tmp_path: Path, worker: Worker
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("Secret words.")
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "linked").symlink_to(outside)
    (folder / "broken.txt").symlink_to(outside / "nothing.txt")
    (folder / "loop").symlink_to(folder)
    (folder / ".git").mkdir()
    (folder / ".git" / "config.txt").write_text("Hidden words.")
    (folder / ".hidden.txt").write_text("Hidden words.")
    (folder / "~$lock.docx").write_text("Lock words.")
    (folder / "real.txt").write_text("Real words.")
    (folder / "inner.txt").symlink_to(folder / "real.txt")
    corpus = await worker.open(await worker.refresh(folder))
    assert places(corpus) == {"inner.txt": ("real.txt",)}


async def test_names_that_are_not_unicode_can_be_indexed(folder: Path, worker: Worker) -> None:
    try:
        (folder / os.fsdecode(b"caf\xe9.txt")).write_text("Coffee words.")
    except OSError:
        pytest.skip("this disk takes no such names")
    corpus = await worker.open(await worker.refresh(folder))
    assert corpus.search("coffee")[0].document.uri == "caf\ufffd.txt"


async def test_a_bucket_is_read_as_a_folder_is(
    folder: Path, worker: Worker, parsed: list[str]
) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "a.md").write_text("# A\n\nThe ferry sails.")
    (folder / "b.md").write_text("# B\n\nThe bus drives.")
    (folder / "b.mp4").write_bytes(b"1")
    head = await publish(worker.store, "c", f"file://{folder}")
    assert (head.files, head.skipped) == (2, 1)
    assert await publish(worker.store, "c", f"file://{folder}") == head
    (folder / "b.md").unlink()
    head = await publish(worker.store, "c", f"file://{folder}")
    corpus = await worker.open(await worker.corpora.make_ready("c", head.version))
    assert set(places(corpus)) == {"deep/a.md"}


async def test_files_can_be_uploaded_one_by_one(worker: Worker) -> None:
    await upload(worker.store, "c", {"a.md": b"# A\n\nThe ferry sails."})
    head = await upload(worker.store, "c", {"b/b.md": b"# B\n\nThe bus drives."})
    corpus = await worker.open(await worker.corpora.make_ready("c", head.version))
    assert set(places(corpus)) == {"a.md", "b/b.md"}
    for path in ("../a.md", "/a.md", "a.exe", ""):
        with pytest.raises(CorpusError, match="cannot be uploaded"):
            await upload(worker.store, "c", {path: b"words"})


async def test_limits_are_told_before_anything_is_read(
    folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"Text number {number}.")
    monkeypatch.setattr(document_sources._Folder, "read", refuse_to_read)
    with pytest.raises(CorpusError, match=r"3 files .* limit is 2: .*RESEARCH_CORPUS_FILES"):
        await publish(store, "c", str(folder), limits=Limits(files=2))
    with pytest.raises(CorpusError, match=r"bytes .* RESEARCH_CORPUS_BYTES"):
        await publish(store, "c", str(folder), limits=Limits(bytes=10))


async def test_what_is_missing_is_said_with_a_remedy(tmp_path: Path, store: Store) -> None:
    with pytest.raises(CorpusError, match="name the folder"):
        await publish(store, "c", str(tmp_path / "nothing"))
    with pytest.raises(CorpusError, match="corpus add"):
        await storage.load_head(store, "nothing")
    with pytest.raises(CorpusError, match="letters"):
        await publish(store, "../c", str(tmp_path))


async def test_a_removed_corpus_is_gone_and_its_versions_stay(
    folder: Path, worker: Worker, tmp_path: Path
) -> None:
    (folder / "a.txt").write_text("The ferry sails.")
    ready = await worker.refresh(folder)
    await storage.remove(worker.store, "c")
    assert await storage.list_heads(worker.store) == []
    elsewhere = Worker.beside(worker.store, tmp_path / "elsewhere")
    assert (await elsewhere.open(ready)).search("ferry")
    await elsewhere.close()


# --- copies -------------------------------------------------------------------------------------


async def test_files_with_the_same_words_are_one_document_with_several_places(
    folder: Path, worker: Worker
) -> None:
    (folder / "a.txt").write_text("The quay is closed in winter.")
    (folder / "b.md").write_text("The **quay** is closed\nin winter!")
    (folder / "c.txt").write_text("The quay is open.")
    ready = await worker.refresh(folder)
    corpus = await worker.open(ready)
    assert ready.documents == 2
    assert places(corpus) == {"a.txt": ("b.md",), "c.txt": ()}
    assert corpus.search("quay closed")[0].document.also_at == ("b.md",)


@pytest.mark.parametrize("change", ["removed", "altered"])
async def test_a_copy_takes_the_place_of_its_original(
    folder: Path, worker: Worker, change: str
) -> None:
    for name in "abc":
        (folder / f"{name}.txt").write_text("The quay is closed in winter.")
    settle(folder)
    await worker.refresh(folder)
    if change == "removed":
        (folder / "a.txt").unlink()
    else:
        (folder / "a.txt").write_text("Nothing of the kind.")
    corpus = await worker.open(await worker.refresh(folder))
    assert places(corpus)["b.txt"] == ("c.txt",)
    assert [hit.document.uri for hit in corpus.search("quay winter")] == ["b.txt"]


# --- labels -------------------------------------------------------------------------------------


async def see(worker: Worker, head: CorpusHead, *labels: str) -> Corpus:
    version = await storage.select(worker.store, head.version, labels)
    return await worker.open(await worker.corpora.make_ready("c", version, labels))


async def test_a_job_sees_what_its_labels_allow_and_nothing_else(
    folder: Path, worker: Worker
) -> None:
    (folder / "open.md").write_text("# Open\n\nThe ferry sails at noon.")
    (folder / "pay.md").write_text("# Pay\n\nThe captain earns ninety thousand.")
    (folder / "board.md").write_text("# Board\n\nThe board sells the captain's ferry.")
    rules: Rules = {"pay*": ("hr",), "board*": ("hr", "board")}
    head = await publish(worker.store, "c", str(folder), rules=rules)
    public = await see(worker, head)
    assert set(places(public)) == {"open.md"}
    assert public.search("captain") == []
    assert public.frequency(["captain", "ferry"]) == {"captain": 0, "ferry": 1}
    assert set(places(await see(worker, head, "hr"))) == {"open.md", "pay.md"}
    assert set(places(await see(worker, head, "board"))) == {"open.md"}
    every = await see(worker, head, "hr", "board")
    assert {d.uri: d.labels for d in every.documents()} == {
        "open.md": (), "pay.md": ("hr",), "board.md": ("board", "hr"),
    }  # fmt: skip


async def test_a_public_copy_of_a_secret_text_does_not_name_the_secret_file(
    folder: Path, worker: Worker
) -> None:
    for name in ("a_secret.md", "public.md"):
        (folder / name).write_text("# Pay\n\nThe captain earns ninety thousand.")
    head = await publish(worker.store, "c", str(folder), rules={"a_secret*": ("hr",)})
    assert places(await see(worker, head)) == {"public.md": ()}
    assert places(await see(worker, head, "hr")) == {"a_secret.md": (), "public.md": ()}


async def test_new_labels_are_a_new_version_of_the_same_text(folder: Path, worker: Worker) -> None:
    (folder / "pay.md").write_text("# Pay\n\nThe captain earns ninety thousand.")
    before = await publish(worker.store, "c", str(folder))
    assert [d.labels for d in (await see(worker, before)).documents()] == [()]
    after = await publish(worker.store, "c", str(folder), rules={"*": ("hr",)})
    assert after.version != before.version
    assert list((await see(worker, after)).documents()) == []
    assert [d.labels for d in (await see(worker, after, "hr")).documents()] == [("hr",)]
    kept = await publish(worker.store, "c", str(folder))
    assert kept.version == after.version, "a refresh keeps the rules"
