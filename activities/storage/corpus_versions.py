"""Corpora in the store: which files there are in each version, and the bytes of every file.

    corpora/NAME.json       the newest version of a corpus, its source, its rules for labels
    scans/NAME.json         each file when the source was last scanned: size, stamp, hash, place
    listings/VERSION.json   the packs of a version; the version is the hash of this object
    packs/ID.json           the files that were uploaded together: path, size, hash
    originals/SHA256        their bytes, one after the other

Small files are stored, parsed and fetched by the pack, because a durable write costs as much for a
line as for a megabyte. A pack never changes: of a file that changed or went, its place is noted as
gone in the next version, and what is new comes in a new pack. So two versions share all packs but
those of the files by which they differ, and comparing them reads no others.

`corpus_publishing` makes versions. A version never changes, and removing a corpus or its source
leaves the versions that jobs read.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from pydantic import Field

from activities.storage.document_sources import CorpusError
from activities.storage.store import ObjectNotFound, Store
from workflows.config.store_keys import (
    corpus_key,
    listing_key,
    original_key,
    pack_key,
    scan_key,
)
from workflows.contracts.evidence import Record

_CONCURRENT_READS = 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")

Rules = dict[str, tuple[str, ...]]
"""The labels of all files whose path matches a pattern, by pattern."""


class PackedFile(Record):
    path: str
    size: int = 0
    sha256: str = ""
    problem: str = ""
    """Why the file could not be read at its source."""


class Pack(Record):
    """Files that were uploaded together."""

    content: str
    """The hash of their bytes, which follow each other in the order of the files."""
    files: tuple[PackedFile, ...] = ()


class PackRef(Record):
    """The files of a pack that belong to a version."""

    id: str
    files: int
    bytes: int
    gone: tuple[int, ...] = ()
    """The positions of those that do not."""


class Listing(Record):
    """The files of a version."""

    packs: tuple[PackRef, ...] = ()
    rules: Rules = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A file of a version."""

    path: str
    size: int
    sha256: str
    problem: str
    labels: tuple[str, ...]
    """A job sees the file only if it carries all of them."""
    pack: str
    position: int

    @property
    def content(self) -> tuple[str, ...]:
        """What tells one version of the file from another."""
        return self.sha256, self.problem, *self.labels


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
    tenant: str = ""
    """The only tenant whose people see it; empty for all."""
    updated: str = ""


class DocumentChanges(Record):
    """The paths by which two versions differ."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


# --- versions -----------------------------------------------------------------------------------


def is_source(corpus: str) -> bool:
    """Whether a request names a folder or an address instead of a corpus of the store."""
    return "/" in corpus


def is_shared(source: str) -> bool:
    """Whether workers can be expected to reach the source: a bucket, or `file://` for a disk that
    they share. A folder without an address is one of the machine that named it."""
    return "://" in source


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
    head = await find_head(store, name)
    if head is None:
        known = ", ".join(head.name for head in await list_heads(store)) or "none"
        raise CorpusError(
            f"the store has no corpus {name!r} (there are: {known}): add it with `corpus add`,"
            " or correct --corpus"
        )
    return head


async def find_head(store: Store, name: str) -> CorpusHead | None:
    stored = await store.get(corpus_key(check_name(name)))
    return CorpusHead.model_validate_json(stored) if stored else None


async def list_heads(store: Store) -> list[CorpusHead]:
    found = [await store.get(key) for key in await store.list("corpora")]
    return [CorpusHead.model_validate_json(data) for data in found if data is not None]


async def load_listing(store: Store, version: str) -> Listing:
    return await store.load(listing_key(version), Listing)


async def save_listing(store: Store, listing: Listing) -> str:
    """Store the packs of a version; returns the version."""
    return PurePosixPath(await store.save("listings", listing)).stem


async def load_pack(store: Store, pack: str) -> Pack:
    return await store.load(pack_key(pack), Pack)


async def load_contents(store: Store, pack: str) -> list[tuple[PackedFile, bytes]]:
    """The files of a pack, with their bytes."""
    held = await load_pack(store, pack)
    data = await store.get(original_key(held.content))
    if data is None:
        raise ObjectNotFound(original_key(held.content))
    ends = itertools.accumulate(file.size for file in held.files)
    return [(file, data[end - file.size : end]) for file, end in zip(held.files, ends, strict=True)]


async def load_files(
    store: Store, listing: Listing, packs: Iterable[PackRef] | None = None
) -> list[CorpusFile]:
    """The files of a version, by path, or those of some of its packs."""
    few = asyncio.Semaphore(_CONCURRENT_READS)

    async def load(ref: PackRef) -> list[CorpusFile]:
        async with few:
            files = (await load_pack(store, ref.id)).files
        gone = frozenset(ref.gone)
        return [
            CorpusFile(
                f.path, f.size, f.sha256, f.problem, _find_labels(f.path, listing.rules), ref.id, n
            )
            for n, f in enumerate(files)
            if n not in gone
        ]

    refs = listing.packs if packs is None else packs
    found = [file for some in await asyncio.gather(*map(load, refs)) for file in some]
    return sorted(found, key=lambda file: file.path)


async def load_differing(
    store: Store, before: Listing, after: Listing
) -> tuple[list[CorpusFile], list[CorpusFile]]:
    """The files of those packs by which two versions differ."""
    shared = set(before.packs) & set(after.packs) if before.rules == after.rules else set()
    old, new = [
        await load_files(store, listing, [ref for ref in listing.packs if ref not in shared])
        for listing in (before, after)
    ]
    return old, new


async def remove(store: Store, name: str) -> CorpusHead:
    """Forget a corpus. Jobs that read one of its versions keep it."""
    head = await load_head(store, name)
    await store.delete(corpus_key(name))
    await store.delete(scan_key(name))
    return head


def _find_labels(path: str, rules: Rules) -> tuple[str, ...]:
    found = {label for pattern, own in rules.items() if fnmatchcase(path, pattern) for label in own}
    return tuple(sorted(found))


async def select(store: Store, version: str, labels: Iterable[str]) -> str:
    """The version with only those files that a job with these labels may see."""
    listing = await load_listing(store, version)
    carried = frozenset(labels)
    if carried.issuperset(label for own in listing.rules.values() for label in own):
        return version
    hidden: dict[str, list[int]] = {}
    for file in await load_files(store, listing):
        if not carried.issuperset(file.labels):
            hidden.setdefault(file.pack, []).append(file.position)
    packs = [
        ref.model_copy(update={"gone": tuple(sorted({*ref.gone, *hidden.get(ref.id, ())}))})
        for ref in listing.packs
    ]
    kept = tuple(ref for ref in packs if len(ref.gone) < ref.files)
    return await save_listing(store, Listing(packs=kept, rules=listing.rules))


def find_changes(before: Iterable[CorpusFile], after: Iterable[CorpusFile]) -> DocumentChanges:
    old, new = ({file.path: file for file in files} for files in (before, after))
    return DocumentChanges(
        new=tuple(sorted(new.keys() - old.keys())),
        changed=tuple(
            sorted(p for p in new.keys() & old.keys() if new[p].content != old[p].content)
        ),
        gone=tuple(sorted(old.keys() - new.keys())),
    )
