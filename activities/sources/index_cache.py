"""Published indexes on a worker's disk, in a folder of bounded size, and those that are open.

An index is fetched when a subagent needs it and deleted when room is needed and no process has it
open. Files and threads are bounded, however many corpora a worker serves.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sqlite3
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeVar

from cachetools import LRUCache

from activities.sources.corpus_search import Corpus
from activities.sources.database import IndexDamagedError, is_in_use
from activities.storage.store import ObjectNotFound, Store
from workflows.config.store_keys import index_part_key
from workflows.contracts.evidence import Record
from workflows.contracts.state import CorpusRef, UnreadableFile

CACHE_BYTES = 5_000_000_000
_OPEN_INDEXES = 8
"""Kept open beside those that subagents are using."""
_THREADS = 4
_PAGE = 4096
"""The pages that SQLite writes; a file is a whole number of them."""
_NUMBER = 8
_BLOCK_BYTES = 256 * _PAGE
_ABANDONED_SECONDS = 24 * 3600.0

T = TypeVar("T")


class IndexPatch(Record):
    """The pages in which an index differs from the one before it."""

    index: str
    """The one before it."""
    pages: str


class IndexRecord(Record):
    """A published index: the parts of a file, and what was changed in it since, in order."""

    version: str
    size: int
    sha256: str
    parts: tuple[str, ...] = ()
    patches: tuple[IndexPatch, ...] = ()
    documents: int
    unreadable: tuple[UnreadableFile, ...] = ()
    unreadable_count: int = 0


class IndexCache:
    """The indexes that this worker uses."""

    def __init__(self, store: Store, folder: Path, max_bytes: int = CACHE_BYTES) -> None:
        self._store = store
        self._folder = folder
        self._max_bytes = max_bytes
        self._threads = ThreadPoolExecutor(_THREADS, "index")
        self._open: weakref.WeakValueDictionary[str, Corpus] = weakref.WeakValueDictionary()
        self._recent: LRUCache[str, Corpus] = LRUCache(_OPEN_INDEXES)
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._recent.clear()
        for corpus in list(self._open.values()):
            corpus.close()

    async def open(self, ref: CorpusRef) -> Corpus:
        """The documents of a published index."""
        async with self.lock(ref.index):
            corpus = self._open.get(ref.index)
            if corpus is None:
                corpus = await self._open_index(ref.index)
                self._open[ref.index] = corpus
            self._recent[ref.index] = corpus
            return corpus

    async def _open_index(self, key: str) -> Corpus:
        try:
            return await self.run(partial(Corpus, await self.fetch(key)))
        except (IndexDamagedError, FileNotFoundError):
            return await self.run(partial(Corpus, await self.fetch(key, is_damaged=True)))

    async def fetch(self, key: str, *, is_damaged: bool = False) -> Path:
        """The local file of a published index; one that is damaged is fetched from the store."""
        file = self._local(key)
        if not is_damaged:
            with suppress(FileNotFoundError):
                os.utime(file)  # the least recently used are deleted first
                return file
        stored = await self._store.get(key)
        if stored is None:
            raise ObjectNotFound(key)
        record = IndexRecord.model_validate_json(stored)
        with self.workspace() as place:
            copy = place / "index.sqlite3"
            if is_damaged or not await self._copy_earlier(record, copy):
                copy.unlink(missing_ok=True)
                for part in record.parts:
                    await self.run(partial(_append, copy, await self._fetch_part(part)))
                await self._apply(record.patches, copy, record.size)
            await self.adopt(copy, key)
        return file

    async def _copy_earlier(self, record: IndexRecord, copy: Path) -> bool:
        """Copy the newest earlier index that is here, and change what was changed since.

        False if there is none, or if it was damaged: only parts are checked when they are fetched.
        """
        for number in reversed(range(len(record.patches))):
            with suppress(FileNotFoundError):
                last = self._local(record.patches[number].index)
                await self.run(partial(shutil.copyfile, last, copy))
                await self._apply(record.patches[number:], copy, record.size)
                return await self.run(partial(hash_file, copy)) == record.sha256
        return False

    async def _apply(self, patches: Sequence[IndexPatch], copy: Path, size: int) -> None:
        for patch in patches:
            pages = await self._fetch_part(patch.pages)
            await self.run(partial(_write_pages, copy, pages, size))

    async def _fetch_part(self, part: str) -> bytes:
        data = await self._store.get(index_part_key(part))
        if data is None or hashlib.sha256(data).hexdigest() != part:
            raise ObjectNotFound(index_part_key(part))
        return data

    async def adopt(self, file: Path, key: str) -> None:
        """Keep a finished file as the local copy of an index."""
        await self.run(partial(file.replace, self._local(key)))
        await self.run(self._tidy)

    def _local(self, key: str) -> Path:
        return self._folder / f"{PurePosixPath(key).stem}.sqlite3"

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="build-", dir=self._folder) as place:
            yield Path(place)

    def _tidy(self) -> None:
        """Delete the least recently used indexes, and what killed workers left behind."""
        files = [(f, f.stat()) for f in self._folder.glob("*.sqlite3")]
        size = sum(status.st_size for _, status in files)
        for file, status in sorted(files, key=lambda each: each[1].st_mtime)[:-1]:
            if size > self._max_bytes and not is_in_use(file):
                file.unlink(missing_ok=True)
                size -= status.st_size
        for place in self._folder.glob("build-*"):
            if time.time() - place.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(place, ignore_errors=True)

    # --- locks and threads ----------------------------------------------------------------------

    def lock(self, key: str) -> asyncio.Lock:
        """One lock for each index: nobody waits for the documents of another corpus."""
        return self._locks.setdefault(key, asyncio.Lock())

    async def run(
        self, function: Callable[[], T], connection: sqlite3.Connection | None = None
    ) -> T:
        """Run a function in one of a bounded number of threads.

        When the caller is cancelled, every statement of the connection fails from then on; the
        thread has ended before its files are deleted.
        """
        task = asyncio.get_running_loop().run_in_executor(self._threads, function)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if connection is not None:
                connection.set_progress_handler(lambda: 1, 1)
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # the interruption is no news
            raise


def _append(file: Path, data: bytes) -> None:
    with file.open("ab") as out:
        out.write(data)


def hash_file(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def compare_pages(old: Path, new: Path, most_bytes: int) -> bytes | None:
    """The pages of a file that differ from another's, with their numbers; None if too many do."""
    pages = bytearray()
    with old.open("rb") as before, new.open("rb") as after:
        while now := after.read(_BLOCK_BYTES):
            then, block = before.read(_BLOCK_BYTES), after.tell() - len(now)
            for start in range(0, len(now), _PAGE) if now != then else ():
                page = now[start : start + _PAGE]
                if page != then[start : start + _PAGE]:
                    pages += ((block + start) // _PAGE).to_bytes(_NUMBER) + page
            if len(pages) > most_bytes:
                return None
    return bytes(pages)


def _write_pages(file: Path, pages: bytes, size: int) -> None:
    with file.open("r+b") as out:
        for start in range(0, len(pages), _NUMBER + _PAGE):
            out.seek(int.from_bytes(pages[start : start + _NUMBER]) * _PAGE)
            out.write(pages[start + _NUMBER : start + _NUMBER + _PAGE])
        out.truncate(size)
