"""Versions of corpora as indexes: made once, published in the store, fetched by every worker.

    parsed/PACK        what the parsers made of the files of a pack
    indexes/VERSION    an index: its size, its parts and patches, what could not be read
    index-parts/SHA256 a part of its SQLite file, or the pages in which it differs from its base

A job that carries labels reads an index of what they let it see, so nothing else can be found,
counted or ranked by. The next version starts from a copy of the last index: what is parsed, stored
and fetched is what changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import shutil
import sqlite3
from collections import deque
from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import aclosing, closing
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import TypeAdapter

from activities.sources import index
from activities.sources.database import open_for_building
from activities.sources.documents import Unreadable
from activities.sources.formats.parsing import VERSION, Parsed, parse_file
from activities.sources.formats.recognition import check_installed
from activities.sources.index_cache import (
    IndexCache,
    IndexPatch,
    IndexRecord,
    compare_pages,
    hash_file,
)
from activities.sources.parser_processes import PARSED, Parsers, is_confined
from activities.storage.corpus_publishing import OnProgress
from activities.storage.corpus_versions import (
    CorpusFile,
    Listing,
    PackedFile,
    PackRef,
    find_changes,
    load_contents,
    load_differing,
    load_files,
    load_listing,
)
from activities.storage.store import ObjectNotFound, Store
from workflows.config.store_keys import (
    index_key,
    index_part_key,
    newest_index_key,
    parsed_key,
)
from workflows.contracts.evidence import Record
from workflows.contracts.state import CorpusReady, CorpusRef

_PART_BYTES = 8_000_000
_MOST_PATCHES = 16
_PACKS_AHEAD = 4
_FILES_AT_ONCE = 16
"""As many as a thread or a process parses in one go; a cancellation is heard between."""
# Starting processes takes a second; with fewer bytes than this, harmless formats are parsed here.
_WORTH_PROCESSES = 10_000_000
_OPTIMISE_FROM = 5000
PART_FILES = 1000
PART_BYTES = 50_000_000
"""As much as one worker parses in one activity."""
_LISTED = 100
"""How many unreadable files are named."""

_PARSED_PACK = TypeAdapter(tuple[Parsed, ...])


class NewestIndex(Record):
    """Where the next index of a corpus starts."""

    version: str
    index: str


class Corpora:
    """Makes the indexes of versions that have none yet."""

    def __init__(self, store: Store, cache: IndexCache, *, ocr: bool = False) -> None:
        self._store = store
        self._cache = cache
        self._ocr = ocr
        self._version = f"{VERSION}-ocr" if ocr else str(VERSION)
        """Of the parsers: what they gave with recognition and without is kept apart."""
        self._parsers = Parsers(ocr=ocr)
        self._copies = itertools.count()

    async def close(self) -> None:
        await self._parsers.close()

    async def find(self, name: str, version: str) -> CorpusReady | None:
        """A version that is ready to be read; None if it has to be indexed."""
        key = index_key(version, self._version)
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

    async def find_base(self, name: str, labels: Sequence[str]) -> NewestIndex | None:
        """The last index of a corpus, if it can serve the next one."""
        stored = await self._store.get(newest_index_key(name, labels))
        base = NewestIndex.model_validate_json(stored) if stored else None
        # Parsers of another version may give other texts for the same files.
        if base is None or base.index != index_key(base.version, self._version):
            return None
        try:
            await load_listing(self._store, base.version)
        except ObjectNotFound:
            return None
        return base if await self._store.get(base.index) is not None else None

    async def find_new_packs(self, version: str, base: str) -> list[PackRef]:
        """The packs of a version that its base had not, so that nobody may have parsed them."""
        listing = await load_listing(self._store, version)
        known = (await load_listing(self._store, base)).packs if base else ()
        ids = {ref.id for ref in known}
        return [ref for ref in listing.packs if ref.id not in ids]

    async def parse(self, packs: Sequence[PackRef], on_progress: OnProgress) -> int:
        """Parse those packs that nobody has parsed before; returns the number of their files."""
        done, total = 0, sum(ref.files for ref in packs)
        spread = sum(ref.bytes for ref in packs) > _WORTH_PROCESSES
        async with aclosing(self._parse_in_order([ref.id for ref in packs], spread)) as parsed:
            position = 0
            async for _ in parsed:
                done += packs[position].files
                position += 1
                on_progress(done, total)
        return total

    async def _parse_in_order(
        self, packs: Sequence[str], spread: bool
    ) -> AsyncGenerator[bytes, None]:
        """What the files of each pack gave, as JSON; a few packs are parsed ahead."""
        waiting = deque(packs)
        ahead: deque[asyncio.Task[bytes]] = deque()
        with self._cache.workspace() as place:
            try:
                while waiting or ahead:
                    while waiting and len(ahead) < _PACKS_AHEAD:
                        parsing = self._parse_pack(waiting.popleft(), place, spread)
                        ahead.append(asyncio.create_task(parsing))
                    yield await ahead.popleft()
            finally:
                await _end(ahead)

    async def _parse_pack(self, pack: str, place: Path, spread: bool) -> bytes:
        key = parsed_key(self._version, pack)
        stored = await self._store.get(key, is_replaceable=True)
        if stored is not None:
            return stored
        if self._ocr:
            check_installed()
        contents = await load_contents(self._store, pack)
        some = [
            contents[start : start + _FILES_AT_ONCE]
            for start in range(0, len(contents), _FILES_AT_ONCE)
        ]
        tasks = [asyncio.create_task(self._parse_files(part, place, spread)) for part in some]
        try:
            parts = await asyncio.gather(*tasks)
        finally:
            await _end(tasks)
        parsed = b"[" + b",".join(itertools.chain.from_iterable(parts)) + b"]"
        await self._store.put_new(key, parsed)
        return parsed

    async def _parse_files(
        self, contents: Sequence[tuple[PackedFile, bytes]], place: Path, spread: bool
    ) -> list[bytes]:
        parsed: dict[str, bytes] = {}
        copies: list[tuple[Path, bytes]] = []
        confined: list[tuple[Path, str]] = []
        others: list[tuple[Path, str]] = []
        for file, data in contents:
            if file.problem:
                refused = Parsed(unreadable=(Unreadable(file.path, file.problem),))
                parsed[file.path] = PARSED.dump_json(refused)
                continue
            # Some libraries go by a file's suffix.
            copy = place / f"{next(self._copies)}{PurePosixPath(file.path).suffix.lower()}"
            copies.append((copy, data))
            chosen = confined if spread or is_confined(file.path) else others
            chosen.append((copy, file.path))
        await self._cache.run(partial(_write_copies, copies))
        answers = await self._parsers.parse(confined)
        answers += await self._cache.run(partial(_parse_here, others))
        for (copy, path), answer in zip([*confined, *others], answers, strict=True):
            parsed[path] = answer
            copy.unlink()
        return [parsed[file.path] for file, _ in contents]

    async def make_ready(
        self,
        name: str,
        version: str,
        labels: Sequence[str] = (),
        on_progress: OnProgress = lambda *_: None,
    ) -> CorpusReady:
        """The index of a version, made and published if no worker has done so."""
        key = index_key(version, self._version)
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
        listing = await load_listing(self._store, version)
        known = await load_listing(self._store, base.version) if base else Listing()
        old, new = await load_differing(self._store, known, listing)
        changes = find_changes(old, new)
        differing = {*changes.new, *changes.changed}
        if base is not None:
            await self._cache.run(
                partial(shutil.copyfile, await self._cache.fetch(base.index), file)
            )
        with closing(await self._cache.run(partial(open_for_building, file))) as connection:
            run = partial(self._cache.run, connection=connection)
            gone = [index.FileContent(path) for path in changes.gone]
            change = await run(partial(index.store, connection, gone))
            changed = [each for each in new if each.path in differing]
            change += await self._store_files(connection, changed, on_progress)
            if change.orphans:
                files = await load_files(self._store, listing)
                orphans = [each for each in files if each.path in change.orphans]
                change += await self._store_files(connection, orphans, on_progress)
            if change.added > _OPTIMISE_FROM:
                await run(partial(index.optimise, connection))
            totals = await run(partial(index.totals, connection))
            unreadable = await run(partial(index.unreadable, connection))
        parts, patches = await self._upload(file, base)
        record = IndexRecord(
            version=version,
            size=(await self._cache.run(file.stat)).st_size,
            sha256=await self._cache.run(partial(hash_file, file)),
            parts=parts,
            patches=patches,
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
        """Parse files and write what they gave, with a transaction for each pack."""
        change = index.Change()
        packs: dict[str, list[CorpusFile]] = {}
        for file in files:
            packs.setdefault(file.pack, []).append(file)
        spread = sum(file.size for file in files) > _WORTH_PROCESSES
        done, waiting = 0, deque(packs.values())
        async with aclosing(self._parse_in_order(list(packs), spread)) as parsed:
            async for data in parsed:
                some = waiting.popleft()
                write = partial(_store_pack, connection, some, data)
                change += await self._cache.run(write, connection)
                done += len(some)
                on_progress(done, len(files))
        return change

    async def _upload(
        self, file: Path, base: NewestIndex | None
    ) -> tuple[tuple[str, ...], tuple[IndexPatch, ...]]:
        """The parts of an index and the patches to them, which are in the store afterwards."""
        if base is not None and (stored := await self._store.get(base.index)):
            record = IndexRecord.model_validate_json(stored)
            last = await self._cache.fetch(base.index)
            pages = await self._cache.run(partial(compare_pages, last, file, _PART_BYTES))
            if pages is not None and len(record.patches) < _MOST_PATCHES:
                patch = IndexPatch(index=base.index, pages=await self._upload_part(pages))
                return record.parts, (*record.patches, patch)
        parts: list[str] = []
        while data := await self._cache.run(partial(_read_part, file, len(parts) * _PART_BYTES)):
            parts.append(await self._upload_part(data))
        return tuple(parts), ()

    async def _upload_part(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        await self._store.put_new(index_part_key(sha256), data)
        return sha256


def _read_part(file: Path, start: int) -> bytes:
    with file.open("rb") as content:
        content.seek(start)
        return content.read(_PART_BYTES)


async def _end(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until none of them writes any more."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _write_copies(copies: Sequence[tuple[Path, bytes]]) -> None:
    for place, data in copies:
        place.write_bytes(data)


def _parse_here(files: Sequence[tuple[Path, str]]) -> list[bytes]:
    return [PARSED.dump_json(parse_file(place, path)) for place, path in files]


def split_packs(packs: Sequence[PackRef]) -> Iterator[tuple[int, int]]:
    """Start and end of each part that one worker parses at a time."""
    start = files = size = 0
    for position, ref in enumerate(packs):
        if position > start and (files + ref.files > PART_FILES or size + ref.bytes > PART_BYTES):
            yield start, position
            start, files, size = position, 0, 0
        files, size = files + ref.files, size + ref.bytes
    if packs:
        yield start, len(packs)


def _store_pack(
    connection: sqlite3.Connection, files: Sequence[CorpusFile], data: bytes
) -> index.Change:
    parsed = _PARSED_PACK.validate_json(data)
    given = [(file, parsed[file.position]) for file in files]
    contents = [
        index.FileContent(file.path, file.labels, found.documents, found.unreadable)
        for file, found in given
    ]
    return index.store(connection, contents)
