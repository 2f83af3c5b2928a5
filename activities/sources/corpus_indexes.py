"""Versions of corpora as indexes: made once, published in the store, fetched by every worker.

    parsed/…           what the parsers made of a file
    indexes/VERSION    an index: its size, its parts, what could not be read, its manifest
    index-parts/SHA256 a part of its SQLite file; parts that two versions share are stored once
    manifests/HASH     the documents of an index: path, hash, title, date, kind, labels

A job that carries labels reads an index of what they let it see, so nothing else can be found,
counted or ranked by. The next version starts from a copy of the last index: what is parsed, stored
and fetched is what changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import sqlite3
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, closing
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeVar

from activities.sources import index
from activities.sources.database import open_for_building
from activities.sources.documents import Unreadable
from activities.sources.formats.parsing import VERSION, Parsed, parse_file
from activities.sources.index_cache import IndexCache, IndexRecord
from activities.sources.parser_processes import PARSED, Parsers, is_confined
from activities.storage.corpus_versions import (
    CorpusFile,
    OnProgress,
    find_changes,
    find_visible,
    load_listing,
    save_listing,
)
from activities.storage.store import ObjectNotFound, Store
from workflows.config.store_keys import (
    index_key,
    index_part_key,
    newest_index_key,
    original_key,
    parsed_key,
)
from workflows.contracts.evidence import Record
from workflows.contracts.state import CorpusReady, CorpusRef, UnreadableFile

_PART_BYTES = 8_000_000
_FILES_AHEAD = 16
# Starting processes takes a second; with fewer bytes than this, harmless formats are parsed here.
_WORTH_PROCESSES = 10_000_000
_BATCH_FILES = 200
_BATCH_BYTES = 4_000_000
_OPTIMISE_FROM = 5000
PART_FILES = 1000
PART_BYTES = 50_000_000
"""As much as one worker parses in one activity."""
_LISTED = 100
"""How many unreadable files are named."""

T = TypeVar("T")


class ManifestEntry(Record):
    path: str
    uri: str
    sha256: str
    title: str
    date: str | None = None
    kind: str
    labels: tuple[str, ...] = ()


class Manifest(Record):
    documents: tuple[ManifestEntry, ...] = ()


class NewestIndex(Record):
    """Where the next index of a corpus starts."""

    version: str
    index: str


class Corpora:
    """Makes the indexes of versions that have none yet."""

    def __init__(self, store: Store, cache: IndexCache) -> None:
        self._store = store
        self._cache = cache
        self._parsers = Parsers()

    async def close(self) -> None:
        await self._parsers.close()

    async def find(self, name: str, version: str) -> CorpusReady | None:
        """A version that is ready to be read; None if it has to be indexed."""
        key = index_key(version, VERSION)
        stored = await self._store.get(key)
        if stored is None:
            return None
        record = IndexRecord.model_validate_json(stored)
        return CorpusReady(
            ref=CorpusRef(name=name, version=version, index=key),
            documents=record.documents,
            unreadable=record.unreadable,
            unreadable_count=record.unreadable_count,
        )

    async def select(self, version: str, labels: Sequence[str]) -> str:
        """The version with only those files that a job with these labels may see."""
        files = (await load_listing(self._store, version)).files
        visible = find_visible(files, labels)
        return version if len(visible) == len(files) else await save_listing(self._store, visible)

    async def find_base(self, name: str, labels: Sequence[str]) -> NewestIndex | None:
        stored = await self._store.get(newest_index_key(name, labels))
        base = NewestIndex.model_validate_json(stored) if stored else None
        # Parsers of another version may give other texts for the same files.
        return base if base and base.index == index_key(base.version, VERSION) else None

    async def find_changed(self, version: str, base: str) -> list[CorpusFile]:
        """The files of a version that the index of the base lacks."""
        files = (await load_listing(self._store, version)).files
        known = (await load_listing(self._store, base)).files if base else ()
        changes = find_changes(known, files)
        changed = {*changes.new, *changes.changed}
        return [file for file in files if file.path in changed]

    async def parse(self, files: Sequence[CorpusFile], on_progress: OnProgress) -> None:
        """Parse those files that nobody has parsed before; each result is stored at once."""
        async with aclosing(self._parse_in_order(files)) as parsed:
            done = 0
            async for _ in parsed:
                done += 1
                on_progress(done, len(files))

    async def _parse_in_order(
        self, files: Sequence[CorpusFile]
    ) -> AsyncGenerator[tuple[CorpusFile, bytes], None]:
        """What each file gave, as JSON; a few files are parsed ahead of the caller."""
        spread = sum(file.size for file in files) > _WORTH_PROCESSES
        waiting = deque(enumerate(files))
        ahead: deque[tuple[CorpusFile, asyncio.Task[bytes]]] = deque()
        with self._cache.workspace() as place:
            try:
                while waiting or ahead:
                    while waiting and len(ahead) < _FILES_AHEAD:
                        number, file = waiting.popleft()
                        # Some libraries go by a file's suffix.
                        copy = place / f"{number}{PurePosixPath(file.path).suffix.lower()}"
                        parsing = self._parse(file, copy, spread or is_confined(file.path))
                        ahead.append((file, asyncio.create_task(parsing)))
                    file, task = ahead.popleft()
                    yield file, await task
            finally:
                for _, task in ahead:
                    task.cancel()
                await asyncio.gather(*(task for _, task in ahead), return_exceptions=True)

    async def _parse(self, file: CorpusFile, place: Path, confined: bool) -> bytes:
        if file.problem:
            return PARSED.dump_json(Parsed(unreadable=(Unreadable(file.path, file.problem),)))
        key = parsed_key(VERSION, file.path, file.sha256)
        parsed = await self._store.get(key, is_replaceable=True)
        if parsed is not None:
            return parsed
        original = original_key(file.sha256)
        data = await self._store.get(original)
        if data is None:
            raise ObjectNotFound(original)
        if confined:
            await self._cache.run(partial(place.write_bytes, data))
            parsed = await self._parsers.parse(place, file.path)
            await self._cache.run(place.unlink)
        else:
            parsed = await self._cache.run(partial(_parse_here, data, place, file.path))
        await self._store.put_new(key, parsed)
        return parsed

    async def make_ready(
        self,
        name: str,
        version: str,
        labels: Sequence[str] = (),
        on_progress: OnProgress = lambda *_: None,
    ) -> CorpusReady:
        """The index of a version, made and published if no worker has done so."""
        key = index_key(version, VERSION)
        async with self._cache.lock(key):
            if ready := await self.find(name, version):
                return ready
            base = await self.find_base(name, labels)
            with self._cache.workspace() as place:
                await self._build(place / "index.sqlite3", key, version, base, on_progress)
            newest = NewestIndex(version=version, index=key)
            await self._store.replace(
                newest_index_key(name, labels), newest.model_dump_json().encode()
            )
            if ready := await self.find(name, version):
                return ready
            raise ObjectNotFound(key)

    async def _build(
        self,
        file: Path,
        key: str,
        version: str,
        base: NewestIndex | None,
        on_progress: OnProgress,
    ) -> None:
        files = {f.path: f for f in (await load_listing(self._store, version)).files}
        changed = await self.find_changed(version, base.version if base else "")
        gone: list[str] = []
        if base is not None:
            await self._cache.run(
                partial(shutil.copyfile, await self._cache.fetch(base.index), file)
            )
            known = (await load_listing(self._store, base.version)).files
            gone = [f.path for f in known if f.path not in files]
        with closing(await self._cache.run(partial(open_for_building, file))) as connection:
            run = partial(self._cache.run, connection=connection)
            change = await run(partial(_in_transaction, connection, index.remove, gone))
            change += await self._store_files(connection, changed, on_progress)
            orphans = [files[path] for path in sorted(change.orphans) if path in files]
            change += await self._store_files(connection, orphans, on_progress)
            if change.added > _OPTIMISE_FROM:
                await run(partial(index.optimise, connection))
            totals, unreadable, manifest = await run(partial(_describe, connection))
        parts, size = await self._upload(file)
        record = IndexRecord(
            version=version,
            size=size,
            parts=tuple(parts),
            manifest=await self._store.save("manifests", manifest),
            documents=totals.documents,
            unreadable=unreadable[:_LISTED],
            unreadable_count=len(unreadable),
        )
        # The first one that is published is everybody's: copies are numbered as they are met.
        if await self._store.put_new(key, record.model_dump_json().encode()):
            await self._cache.adopt(file, key)

    async def _store_files(
        self, connection: sqlite3.Connection, files: Sequence[CorpusFile], on_progress: OnProgress
    ) -> index.Change:
        """Parse files and write what they gave, in batches worth a transaction each."""
        change = index.Change()
        batch: list[tuple[CorpusFile, bytes]] = []
        done = 0
        async with aclosing(self._parse_in_order(files)) as parsed:
            async for content in parsed:
                batch.append(content)
                done += 1
                size = sum(len(data) for _, data in batch)
                if len(batch) < _BATCH_FILES and size < _BATCH_BYTES and done < len(files):
                    continue
                write = partial(_in_transaction, connection, _store_batch, batch)
                change += await self._cache.run(write, connection)
                batch = []
                on_progress(done, len(files))
        return change

    async def _upload(self, file: Path) -> tuple[list[str], int]:
        """The hashes of the file's parts, which are in the store afterwards, and its size."""
        parts: list[str] = []
        size = 0
        while data := await self._cache.run(partial(_read_part, file, size)):
            parts.append(hashlib.sha256(data).hexdigest())
            size += len(data)
            await self._store.put_new(index_part_key(parts[-1]), data)
        return parts, size


def _read_part(file: Path, start: int) -> bytes:
    with file.open("rb") as content:
        content.seek(start)
        return content.read(_PART_BYTES)


def _parse_here(data: bytes, place: Path, path: str) -> bytes:
    place.write_bytes(data)
    parsed = PARSED.dump_json(parse_file(place, path))
    place.unlink()
    return parsed


def split_files(files: Sequence[CorpusFile]) -> Iterator[tuple[int, int]]:
    """Start and end of each part that one worker parses at a time."""
    start = size = 0
    for position, file in enumerate(files):
        if position - start >= PART_FILES or size + file.size > PART_BYTES:
            if position > start:
                yield start, position
            start, size = position, 0
        size += file.size
    if files:
        yield start, len(files)


def _in_transaction(
    connection: sqlite3.Connection,
    write: Callable[[sqlite3.Connection, Sequence[T]], index.Change],
    items: Sequence[T],
) -> index.Change:
    connection.execute("BEGIN")
    change = write(connection, items)
    connection.execute("COMMIT")
    return change


def _store_batch(
    connection: sqlite3.Connection, contents: Sequence[tuple[CorpusFile, bytes]]
) -> index.Change:
    given = [(file, PARSED.validate_json(data)) for file, data in contents]
    return index.store(
        connection,
        [
            index.FileContent(file.path, file.labels, parsed.documents, parsed.unreadable)
            for file, parsed in given
        ],
    )


def _describe(
    connection: sqlite3.Connection,
) -> tuple[index.Totals, tuple[UnreadableFile, ...], Manifest]:
    columns = "path, uri, sha256, title, date, kind, labels"
    rows = connection.execute(f"SELECT {columns} FROM documents ORDER BY uri")  # noqa: S608
    names = columns.split(", ")
    entries = [dict(zip(names, row, strict=True)) for row in rows]
    documents = [ManifestEntry(**entry | {"labels": entry["labels"].split()}) for entry in entries]
    unreadable = (
        UnreadableFile(uri=each.uri, reason=each.reason) for each in index.unreadable(connection)
    )
    return index.totals(connection), tuple(unreadable), Manifest(documents=tuple(documents))
