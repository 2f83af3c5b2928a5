"""Which objects of the store are referred to: by other objects, and by the histories of workflows.

Records, texts and versions are named by hashes, and whatever refers to one contains its hash. So
every hash that stands in an object is taken for a reference: a hash that is none keeps an object
too long, and nothing that is needed is missed, whoever wrote it.

A corpus that was added by name is kept for its own sake. One that was made in passing, for a job
that named a folder, is kept as long as something refers to its newest version.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.client import Client

from activities.storage.corpus_versions import CorpusHead, name_of
from activities.storage.store import Store
from workflows.config.store_keys import (
    index_key,
    index_part_key,
    listing_key,
    original_key,
    pack_key,
    parsed_key,
    scan_key,
)

OnRead = Callable[[int], None]

PARSERS = tuple(f"{number}{kind}" for number in range(1, 100) for kind in ("", "-ocr"))
"""Versions of the parsers whose results may be in the store, with recognition and without."""
HEADS = ("corpora/", "newest-indexes/")
_SHA256 = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_SHORT_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
# A patch names the index before it, of which a machine may have a copy: nothing is missed without.
_EARLIER_INDEX = re.compile(rb'"index":\s*"[^"]*"')
_RECORDS = ("findings", "ledgers", "rulings", "drafts")
_LEAVES = ("texts", "originals", "index-parts", "parsed", "scans")
"""What refers to nothing that would not be found without it."""
_CONCURRENT_READS = 16


@dataclass
class Mentioned:
    """Hashes that occur in histories: of payloads and texts, and of records and versions."""

    hashes: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)


def find_hashes(data: bytes) -> set[str]:
    """The SHA-256 hashes that occur in the data."""
    return {found.decode() for found in _SHA256.findall(data)}


def find_names(data: bytes) -> set[str]:
    """The shorter hashes that occur in the data: names of records, packs and versions."""
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
    named = trace.locate(mentioned.hashes, mentioned.names) if mentioned else set()
    reached = await trace.follow({*roots, *named}, set())
    waiting = await trace.read([path for path in existing if path.startswith(HEADS)])
    while kept := {path for path, found in waiting.items() if found & reached} - reached:
        reached = await trace.follow(kept, reached)
    return reached


async def find_dependents(
    store: Store, existing: Collection[str], candidates: Iterable[str], gone: set[str]
) -> set[str]:
    """Those candidates that refer to something that goes, directly or through each other."""
    referring = await _Trace(store, existing).read(candidates)
    found: set[str] = set()
    while new := {path for path, own in referring.items() if own & (gone | found)} - found:
        found |= new
        found |= {own for path in new for own in referring[path] if own.startswith("scans/")}
    return found


async def find_lasting_corpora(store: Store, inventory: Mapping[str, object]) -> list[str]:
    """The paths of the corpora that were added by name."""
    found = []
    for path in inventory:
        if path.startswith("corpora/") and (data := await store.read(path)) is not None:
            head = CorpusHead.model_validate_json(data)
            if head.name != name_of(head.source):
                found.append(path)
    return found


class _Trace:
    def __init__(
        self, store: Store, existing: Collection[str], on_read: OnRead = lambda _: None
    ) -> None:
        self._store = store
        self._existing = existing
        self._on_read = on_read
        self._located: dict[str, set[str]] = {}

    async def follow(self, paths: set[str], reached: set[str]) -> set[str]:
        while paths := paths - reached:
            reached |= paths
            paths = set().union(*(await self.read(paths)).values())
        return reached

    async def read(self, paths: Iterable[str]) -> dict[str, set[str]]:
        """What each object refers to."""
        reading = [path for path in paths if path.partition("/")[0] not in _LEAVES]
        found: dict[str, set[str]] = {}
        for start in range(0, len(reading), _CONCURRENT_READS):
            some = reading[start : start + _CONCURRENT_READS]
            self._on_read(len(some))
            contents = await asyncio.gather(*map(self._store.read, some))
            for path, data in zip(some, contents, strict=True):
                found[path] = self._find_named(path, data or b"")
        return found

    def _find_named(self, path: str, data: bytes) -> set[str]:
        if path.startswith("indexes/"):
            data = _EARLIER_INDEX.sub(b"", data)
        found = self.locate(find_hashes(data), find_names(data))
        if path.startswith("corpora/") and data:
            found |= self._select([scan_key(CorpusHead.model_validate_json(data).name)])
        return found

    def locate(self, hashes: Iterable[str], names: Iterable[str]) -> set[str]:
        """The objects of these hashes and names."""
        found: set[str] = set()
        for name in (*hashes, *names):
            if name not in self._located:
                self._located[name] = self._locate(name)
            found |= self._located[name]
        return found

    def _locate(self, name: str) -> set[str]:
        if len(name) == 64:
            return self._select([f"texts/{name}", original_key(name), index_part_key(name)])
        found = self._select([f"{kind}/{name}.json" for kind in _RECORDS])
        if listing := self._select([listing_key(name)]):
            found |= listing | self._select(index_key(name, number) for number in PARSERS)
        if pack := self._select([pack_key(name)]):
            found |= pack | self._select(parsed_key(number, name) for number in PARSERS)
        return found

    def _select(self, keys: Iterable[str]) -> set[str]:
        return {path for key in keys for path in self._store.paths(key) if path in self._existing}


# --- histories ----------------------------------------------------------------------------------


async def find_open(client: Client) -> dict[str, float]:
    """When each open workflow was started, by its id."""
    found = client.list_workflows('ExecutionStatus="Running"')
    return {run.id: run.start_time.timestamp() async for run in found}


async def find_mentioned(client: Client, runs: Iterable[tuple[str, str | None]]) -> Mentioned:
    """What the histories of some runs refer to, by workflow id and run id."""
    found = Mentioned()
    for workflow_id, run_id in runs:
        handle = client.get_workflow_handle(workflow_id, run_id=run_id)
        async for event in handle.fetch_history_events():
            # As the server has it: a reference to a payload in the store is not encrypted.
            found.hashes |= find_hashes(event.SerializeToString())
            for payload in _find_payloads(event):
                data = await _decode(client, payload)
                found.hashes |= find_hashes(data)
                found.names |= find_names(data)
    return found


async def _decode(client: Client, payload: Payload) -> bytes:
    try:
        [value] = await client.data_converter.decode([payload])
    except Exception:
        return b""
    return repr(value).encode("utf-8", "surrogatepass")


def _find_payloads(message: Message) -> Iterator[Payload]:
    if isinstance(message, Payload):
        yield message
        return
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        if descriptor.message_type.GetOptions().map_entry:
            values = list(value.values())
        else:
            values = list(value) if descriptor.is_repeated else [value]
        for each in values:
            if isinstance(each, Message):
                yield from _find_payloads(each)
