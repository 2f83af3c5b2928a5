"""Bringing the index up to date with its folder: only what changed is read.

A file is left alone while its size and time are the same; where they differ its hash decides.
Unreadable files are remembered and reported, not tried again. Each batch is stored when it is
read, so a refresh that is killed goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from activities.sources.database import Database
from activities.sources.documents import Unreadable
from activities.sources.folder import File, list_folder
from activities.sources.index import (
    Change,
    FileContent,
    StoredFile,
    optimise,
    remove,
    store,
    stored_files,
    totals,
    touch,
    unreadable,
)
from activities.sources.reading import Reading, read_files

# A file changed twice within a tick of its file system's clock shows one time for two contents.
_SETTLED_NS = 2_000_000_000
_BATCH_DOCUMENTS = 2000
_BATCH_CHARACTERS = 16_000_000
_OPTIMISE_FROM = 5000

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class IndexReport:
    """Documents added, kept and removed; files parsed, skipped by format, and unreadable."""

    added: int
    kept: int
    removed: int
    unreadable: tuple[Unreadable, ...]
    documents: int
    parsed: int
    skipped: int


def refresh(folder: Path, database: Database, progress: Progress | None = None) -> IndexReport:
    """Read what is new or changed, forget what is gone. `progress` hears files done and in all."""
    with database.refreshing():
        listing = list_folder(folder)
        with database.reading() as connection:
            stored = stored_files(connection)
        present = {file.relative: file for file in listing.files}
        change = _forget(database, [path for path in stored if path not in present])
        with database.reading() as connection:  # copies of what was forgotten are gone as well
            stored = stored_files(connection)
        changed = [file for file in listing.files if not _is_same(file, stored.get(file.relative))]
        known = {file.path: file.sha256 for file in stored.values()}
        parsed, stored_change = _read(database, changed, known, progress)
        change += stored_change
        orphans = [present[path] for path in sorted(stored_change.orphans) if path in present]
        again, stored_change = _read(database, orphans, {})
        change += stored_change
        if change.added > _OPTIMISE_FROM:
            optimise(database)
        with database.reading() as connection:
            documents = totals(connection).documents
            return IndexReport(
                added=change.added,
                kept=documents - change.added,
                removed=change.removed,
                unreadable=unreadable(connection),
                documents=documents,
                parsed=parsed + again,
                skipped=listing.skipped,
            )


def _read(
    database: Database, files: list[File], known: dict[str, str], progress: Progress | None = None
) -> tuple[int, Change]:
    """Read files and store what they gave: how many were parsed, and what that changed."""
    change = Change()
    parsed = done = 0
    for batch in _batches(read_files(files, known)):
        with database.writing() as connection:
            touch(connection, [_stored(each) for each in batch if each.parsed is None])
            contents = [content for each in batch if (content := _content(each))]
            change += store(connection, contents)
        parsed += len(contents)
        done += len(batch)
        if progress is not None:
            progress(done, len(files))
    return parsed, change


def _is_same(file: File, stored: StoredFile | None) -> bool:
    return stored is not None and (stored.size, stored.mtime_ns) == (file.size, file.mtime_ns)


def _forget(database: Database, paths: list[str]) -> Change:
    change = Change()
    for start in range(0, len(paths), _BATCH_DOCUMENTS):
        with database.writing() as connection:
            change += remove(connection, paths[start : start + _BATCH_DOCUMENTS])
    return change


def _batches(readings: Iterable[Reading]) -> Iterator[list[Reading]]:
    """Readings in groups worth a transaction each."""
    batch: list[Reading] = []
    documents = characters = 0
    for reading in readings:
        batch.append(reading)
        found = reading.parsed.documents if reading.parsed else ()
        documents += max(1, len(found))
        characters += sum(len(document.text) for document in found)
        if documents >= _BATCH_DOCUMENTS or characters >= _BATCH_CHARACTERS:
            yield batch
            batch = []
            documents = characters = 0
    if batch:
        yield batch


def _stored(reading: Reading) -> StoredFile:
    file = reading.file
    settled = reading.sha256 and time.time_ns() - file.mtime_ns > _SETTLED_NS
    mtime_ns = file.mtime_ns if settled else -1
    return StoredFile(file.relative, file.size, mtime_ns, reading.sha256)


def _content(reading: Reading) -> FileContent | None:
    if reading.parsed is None:
        return None
    return FileContent(_stored(reading), reading.parsed.documents, reading.parsed.unreadable)
