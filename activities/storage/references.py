"""Which objects of the store refer to which, found by reading them.

Records, texts and versions are named by hashes, and whatever refers to one contains its hash. So
every hash that stands in an object is taken for a reference: a hash that is none keeps an object
too long, and nothing that is needed is missed, whoever wrote it.

A corpus that was added by name is kept for its own sake. One that was made in passing, for a job
that named a folder, is kept as long as something refers to its newest version.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from activities.storage.corpus_versions import CorpusHead, Listing, name_of
from workflows.config.store_keys import (
    index_key,
    index_part_key,
    listing_key,
    original_key,
    parsed_key,
    scan_key,
)

if TYPE_CHECKING:
    from activities.storage.backends import StoredObject
    from activities.storage.histories import Mentioned
    from activities.storage.store import Store

OnRead = Callable[[int], None]

_SHA256 = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_SHORT_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
_PARSERS = re.compile(rb"[0-9a-f]{40}-v(\d+)\.json")
_RECORDS = ("findings", "ledgers", "rulings", "drafts", "manifests")
_LEAVES = ("texts", "originals", "index-parts", "parsed", "scans")
"""What refers to nothing that would not be found without it."""
_CONCURRENT_READS = 16


def find_hashes(data: bytes) -> set[str]:
    """The SHA-256 hashes that occur in the data."""
    return {found.decode() for found in _SHA256.findall(data)}


def find_names(data: bytes) -> set[str]:
    """The shorter hashes that occur in the data: names of records and versions."""
    return {found.decode() for found in _SHORT_HASH.findall(data)}


async def find_references(
    store: Store,
    existing: Collection[str],
    roots: Iterable[str],
    on_read: OnRead = lambda _: None,
    *,
    mentioned: Mentioned | None = None,
) -> set[str]:
    """The roots, and all existing paths that they or histories refer to, directly or through
    others."""
    trace = _Trace(store, existing, on_read)
    named = trace.find_existing(mentioned.hashes, mentioned.names) if mentioned else set()
    await trace.follow({*roots, *named})
    waiting = [path for path in existing if path.startswith(("corpora/", "newest-indexes/"))]
    while kept := [path for path in waiting if await trace.is_current(path)]:
        await trace.follow(set(kept))
        waiting = [path for path in waiting if path not in kept]
    return trace.reached


async def find_lasting_corpora(
    store: Store, inventory: Mapping[str, StoredObject], since: float = float("inf")
) -> list[str]:
    """The paths of the corpora that were added by name, or read from their source since a time."""
    found = []
    for path, known in inventory.items():
        if path.startswith("corpora/") and (data := await store.read(path)) is not None:
            head = CorpusHead.model_validate_json(data)
            if known.at > since or head.name != name_of(head.source):
                found.append(path)
    return found


class _Trace:
    def __init__(self, store: Store, existing: Collection[str], on_read: OnRead) -> None:
        self._store = store
        self._existing = existing
        self._on_read = on_read
        self._versions: set[str] = set()
        """Hashes of 40 digits: of records, and of versions of corpora."""
        self._hashes: set[str] = set()
        self._files: set[tuple[str, str]] = set()
        self._parsers: set[int] = set()
        self.reached: set[str] = set()

    async def follow(self, paths: set[str]) -> None:
        while paths := paths - self.reached:
            self.reached |= paths
            reading = [path for path in paths if path.partition("/")[0] not in _LEAVES]
            paths = set()
            for start in range(0, len(reading), _CONCURRENT_READS):
                some = reading[start : start + _CONCURRENT_READS]
                for path, data in zip(some, await self._read(some), strict=True):
                    paths |= self._find_named(path, data) if data else set()
            paths |= self._find_made()

    async def is_current(self, path: str) -> bool:
        """Whether the version that a corpus or its newest index names is referred to."""
        if (data := await self._store.read(path)) is None:
            return False
        self._parsers |= {int(number) for number in _PARSERS.findall(data)}
        return bool(find_names(data) & self._versions)

    async def _read(self, paths: Sequence[str]) -> list[bytes | None]:
        self._on_read(len(paths))
        return list(await asyncio.gather(*map(self._store.read, paths)))

    def _find_named(self, path: str, data: bytes) -> set[str]:
        self._parsers |= {int(number) for number in _PARSERS.findall(data)}
        found = self.find_existing(find_hashes(data), find_names(data))
        folder = path.partition("/")[0]
        if folder == "listings":
            files = Listing.model_validate_json(data).files
            self._files |= {(file.path, file.sha256) for file in files}
        elif folder == "corpora":
            found |= self._select([scan_key(CorpusHead.model_validate_json(data).name)])
        return found

    def find_existing(self, hashes: Iterable[str], names: Iterable[str]) -> set[str]:
        """The objects of these hashes and names, which are followed only once."""
        new_hashes, new_names = set(hashes) - self._hashes, set(names) - self._versions
        self._hashes |= new_hashes
        self._versions |= new_names
        keys: list[str] = []
        for name in new_hashes:
            keys += [f"texts/{name}", original_key(name), index_part_key(name)]
        for name in new_names:
            keys += [f"{kind}/{name}.json" for kind in _RECORDS]
            keys.append(listing_key(name))
        return self._select(keys)

    def _find_made(self) -> set[str]:
        """The indexes and the parsed files of the versions that were found so far."""
        keys = [index_key(name, number) for name in self._versions for number in self._parsers]
        keys += [
            parsed_key(number, path, sha256)
            for path, sha256 in self._files
            for number in self._parsers
        ]
        return self._select(keys) - self.reached

    def _select(self, keys: Iterable[str]) -> set[str]:
        return {path for key in keys for path in self._store.paths(key) if path in self._existing}
