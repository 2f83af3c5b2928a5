"""Corpora in the store: which files there are in each version, and the bytes of every file.

    corpora/NAME.json       the newest version of a corpus, its source, its rules for labels
    scans/NAME.json         size, stamp and hash of each file when the source was last scanned
    listings/VERSION.json   the files of a version; the version is the hash of this object
    originals/SHA256        a file as its source has it

`publish` is called where the documents are: by the command that names a folder, or by a worker that
can read it. Everybody else needs the store only. A version never changes, and removing a corpus
or its source leaves the versions that jobs read.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pydantic import Field

from activities.storage.document_sources import (
    CorpusError,
    DocumentSource,
    ScannedFile,
    is_readable,
    open_source,
)
from workflows.config.store_keys import corpus_key, listing_key, original_key, scan_key
from workflows.contracts.evidence import Record

if TYPE_CHECKING:
    from activities.storage.store import Store

MAX_FILE_BYTES = 50 * 1024 * 1024
UPLOAD = "upload"
"""The source of a corpus whose files were uploaded one by one."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_CONCURRENT_READS = 16
_CONCURRENT_TASKS = 512

OnProgress = Callable[[int, int], None]
Rules = dict[str, tuple[str, ...]]
"""The labels of all files whose path matches a pattern, by pattern."""


class CorpusFile(Record):
    path: str
    size: int = 0
    sha256: str = ""
    labels: tuple[str, ...] = ()
    """A job sees the file only if it carries all of them."""
    problem: str = ""
    """Why the file could not be read at its source."""


class Listing(Record):
    """The files of a version, by path."""

    files: tuple[CorpusFile, ...] = ()


class CorpusHead(Record):
    """A corpus by its name: the newest version, and what makes the next one."""

    name: str
    source: str
    version: str
    files: int = 0
    bytes: int = 0
    skipped: int = 0
    """Files of formats that cannot be parsed."""
    rules: Rules = Field(default_factory=dict)
    updated: str = ""


class Scan(Record):
    files: tuple[ScannedFile, ...] = ()


@dataclass(frozen=True)
class Limits:
    """How much one corpus may hold."""

    files: int = 200_000
    bytes: int = 20_000_000_000

    def check(self, source: str, files: Sequence[ScannedFile]) -> None:
        """Raise `CorpusError` before anything is read."""
        size = sum(file.size for file in files)
        for unit, found, most in (("files", len(files), self.files), ("bytes", size, self.bytes)):
            if found > most:
                raise CorpusError(
                    f"{source} holds {found:,} {unit} to read, the limit is {most:,}: raise it with"
                    f" RESEARCH_CORPUS_{unit.upper()}, or name a smaller part"
                )


class DocumentChanges(Record):
    """The paths by which two versions differ."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


# --- versions -----------------------------------------------------------------------------------


def is_source(corpus: str) -> bool:
    """Whether a request names a folder or an address instead of a corpus of the store."""
    return "/" in corpus


def is_bucket(source: str) -> bool:
    """Whether every machine that has the credentials can read the source."""
    return "://" in source and not source.startswith("file://")


def split_version(corpus: str) -> tuple[str, str]:
    """Name and version of `NAME@VERSION`; the version is empty where the newest is meant."""
    name, _, version = corpus.partition("@")
    return name, version


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise CorpusError(
            f"{name[:60]!r} cannot name a corpus: use 1 to 80 letters, digits, dots, dashes or"
            " underscores, the first a letter or digit"
        )
    return name


def name_of(source: str) -> str:
    """The name of a corpus that is made in passing: the folder's own, and a hash of its place."""
    digest = hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()[:10]
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", PurePosixPath(source).name).strip("-._")
    return f"{readable[:60] or 'documents'}-{digest}"


async def load_head(store: Store, name: str) -> CorpusHead:
    stored = await store.get(corpus_key(check_name(name)))
    if stored is None:
        known = ", ".join(head.name for head in await list_heads(store)) or "none"
        raise CorpusError(
            f"the store has no corpus {name!r} (there are: {known}): add it with `corpus add`,"
            " or correct --corpus"
        )
    return CorpusHead.model_validate_json(stored)


async def list_heads(store: Store) -> list[CorpusHead]:
    found = [await store.get(key) for key in await store.list("corpora")]
    return [CorpusHead.model_validate_json(data) for data in found if data is not None]


async def load_listing(store: Store, version: str) -> Listing:
    return await store.load(listing_key(version), Listing)


async def save_listing(store: Store, files: Iterable[CorpusFile]) -> str:
    """Store the files of a version; returns the version."""
    key = await store.save("listings", Listing(files=tuple(files)))
    return PurePosixPath(key).stem


async def remove(store: Store, name: str) -> CorpusHead:
    """Forget a corpus. Jobs that read one of its versions keep it."""
    head = await load_head(store, name)
    await store.delete(corpus_key(name))
    await store.delete(scan_key(name))
    return head


async def drop(store: Store, head: CorpusHead, hashes: Collection[str]) -> CorpusHead:
    """Publish a version without the files of these hashes. Jobs that start from now on read it."""
    stored = await store.get(scan_key(head.name))
    scanned = Scan.model_validate_json(stored).files if stored else ()
    kept = [file for file in scanned if file.sha256 not in hashes]
    await store.replace(scan_key(head.name), Scan(files=tuple(kept)).model_dump_json().encode())
    return await _save_head(store, head.name, head.source, kept, head.rules, head.skipped)


def find_visible(files: Iterable[CorpusFile], labels: Iterable[str]) -> tuple[CorpusFile, ...]:
    """The files that a job with these labels may see."""
    carried = frozenset(labels)
    return tuple(file for file in files if carried.issuperset(file.labels))


def find_changes(before: Iterable[CorpusFile], after: Iterable[CorpusFile]) -> DocumentChanges:
    old, new = ({file.path: file for file in files} for files in (before, after))
    return DocumentChanges(
        new=tuple(sorted(new.keys() - old.keys())),
        changed=tuple(sorted(p for p in new.keys() & old.keys() if new[p] != old[p])),
        gone=tuple(sorted(old.keys() - new.keys())),
    )


# --- publishing ---------------------------------------------------------------------------------


async def publish(
    store: Store,
    name: str,
    location: str,
    *,
    rules: Rules | None = None,
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
) -> CorpusHead:
    """Bring a corpus up to date with its source; only what changed is read and uploaded.

    `rules` of None keeps the corpus's own.
    """
    head = await _find_head(store, check_name(name))
    stored = await store.get(scan_key(name)) if head and head.source == location else None
    before = {f.path: f for f in Scan.model_validate_json(stored).files} if stored else {}
    source = open_source(location)
    found, skipped = await source.scan()
    (limits or Limits()).check(location, found)
    scanned = await _upload(store, source, found, before, on_progress)
    if head and stored and rules is None and scanned == list(before.values()):
        # A corpus that was made in passing is deleted when it is old and no job refers to it.
        await store.touch(corpus_key(name))
        return head
    await store.replace(scan_key(name), Scan(files=tuple(scanned)).model_dump_json().encode())
    rules = rules if rules is not None else head.rules if head else {}
    return await _save_head(store, name, location, scanned, rules, skipped)


async def upload(
    store: Store,
    name: str,
    contents: Mapping[str, bytes],
    *,
    rules: Rules | None = None,
    limits: Limits | None = None,
) -> CorpusHead:
    """Add files to a corpus, or replace them, from their bytes by path."""
    head = await _find_head(store, check_name(name))
    if head is not None and head.source != UPLOAD:
        raise CorpusError(f"{name} is made from {head.source}: upload to a corpus of another name")
    stored = await store.get(scan_key(name)) if head else None
    files = {f.path: f for f in Scan.model_validate_json(stored).files} if stored else {}
    for path, data in contents.items():
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or not is_readable(path):
            raise CorpusError(
                f"{path!r} cannot be uploaded: give a relative path of a known format"
            )
        files[path] = await _keep_original(store, ScannedFile(path=path, size=len(data)), data)
    scanned = [files[path] for path in sorted(files)]
    (limits or Limits()).check(name, scanned)
    await store.replace(scan_key(name), Scan(files=tuple(scanned)).model_dump_json().encode())
    rules = rules if rules is not None else head.rules if head else {}
    return await _save_head(store, name, UPLOAD, scanned, rules, 0)


async def _find_head(store: Store, name: str) -> CorpusHead | None:
    stored = await store.get(corpus_key(name))
    return CorpusHead.model_validate_json(stored) if stored else None


async def _save_head(
    store: Store, name: str, source: str, files: list[ScannedFile], rules: Rules, skipped: int
) -> CorpusHead:
    listed = [
        CorpusFile(
            path=file.path,
            size=file.size,
            sha256=file.sha256,
            labels=_find_labels(file.path, rules),
            problem=file.problem,
        )
        for file in files
    ]
    head = CorpusHead(
        name=name,
        source=source,
        version=await save_listing(store, listed),
        files=len(files),
        bytes=sum(file.size for file in files),
        skipped=skipped,
        rules=rules,
        updated=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    await store.replace(corpus_key(name), head.model_dump_json().encode())
    return head


def _find_labels(path: str, rules: Rules) -> tuple[str, ...]:
    found = {label for pattern, own in rules.items() if fnmatchcase(path, pattern) for label in own}
    return tuple(sorted(found))


async def _upload(
    store: Store,
    source: DocumentSource,
    found: Sequence[ScannedFile],
    before: Mapping[str, ScannedFile],
    on_progress: OnProgress | None,
) -> list[ScannedFile]:
    """All files with their hashes; originals that the store lacks are uploaded."""
    known = {file.sha256 for file in before.values()}
    few = asyncio.Semaphore(_CONCURRENT_READS)
    done = 0

    async def keep(file: ScannedFile) -> ScannedFile:
        nonlocal done
        async with few:
            kept = await _keep_file(store, source, file, known)
        done += 1
        if on_progress is not None:
            on_progress(done, len(changed))
        return kept

    changed = [file for file in found if not _is_unchanged(file, before.get(file.path))]
    kept: dict[str, ScannedFile] = {}
    for start in range(0, len(changed), _CONCURRENT_TASKS):
        some = await asyncio.gather(*map(keep, changed[start : start + _CONCURRENT_TASKS]))
        kept |= {file.path: file for file in some}
    return [kept.get(file.path) or before[file.path] for file in found]


def _is_unchanged(file: ScannedFile, before: ScannedFile | None) -> bool:
    if before is None or not before.stamp:
        return False
    return (file.size, file.stamp) == (before.size, before.stamp)


async def _keep_file(
    store: Store, source: DocumentSource, file: ScannedFile, known: set[str]
) -> ScannedFile:
    if file.size > MAX_FILE_BYTES:
        reason = f"is larger than {MAX_FILE_BYTES:,} bytes ({file.size:,}); split it into parts"
        return file.model_copy(update={"problem": reason})
    try:
        data = await source.read(file)
    except OSError as error:
        reason = f"cannot be opened: {error.strerror or error}; check its rights"
        return file.model_copy(update={"problem": reason, "stamp": ""})
    return await _keep_original(store, file, data, known)


async def _keep_original(
    store: Store, file: ScannedFile, data: bytes, known: Iterable[str] = ()
) -> ScannedFile:
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 not in known:
        await store.put_new(original_key(sha256), data)
    return file.model_copy(update={"sha256": sha256, "size": len(data)})
