"""Forgetting a document: its file, its text, and the indexes that hold its words.

A document is named by its path or a hash of it. The same bytes under another path, and what stood
under this path in earlier versions, are the same document. Corpora get a version without it. All
indexes that no open job reads are deleted, because one that was derived from an earlier index may
still hold words of what is gone; the next job has the index made again from the parsed files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from activities.storage.corpus_versions import CorpusFile, Listing, drop, list_heads
from activities.storage.references import find_references
from activities.storage.retention import Inventory, add_up, find_job_folders, is_of_job
from workflows.config.store_keys import listing_key, original_key, parsed_key
from workflows.contracts.activity_io import ObjectTotal

if TYPE_CHECKING:
    from activities.storage.store import Store

_MOST_PARSERS = 100
_RECORDS = ("findings/", "ledgers/", "rulings/", "drafts/")
_DERIVED = ("newest-indexes/", "indexes/", "index-parts/", "manifests/")
_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass
class KnownDocument:
    """Where a document is in the store."""

    files: set[CorpusFile] = field(default_factory=set)
    listings: set[str] = field(default_factory=set)
    """Paths of the listings of versions that contain it."""
    parsed: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    """By what those who read it name it: paths, ids, hashes of its text."""

    @property
    def hashes(self) -> set[str]:
        return {file.sha256 for file in self.files if file.sha256}


@dataclass
class Forgotten:
    objects: dict[str, ObjectTotal]
    corpora: list[str]
    """Corpora that have a version without the document now."""


async def find_document(store: Store, inventory: Inventory, source: str) -> KnownDocument:
    """The document of this path, or of this hash of its bytes or its text."""
    found = KnownDocument()
    listed: dict[str, tuple[CorpusFile, ...]] = {}
    for path in inventory:
        if path.startswith("listings/") and (data := await store.read(path)) is not None:
            listed[path] = Listing.model_validate_json(data).files
    files = [file for own in listed.values() for file in own]
    hashes = {file.sha256 for file in files if source in (file.path, file.sha256)} - {""}
    if not hashes and _HEX.fullmatch(source):
        hashes = await _find_by_text(store, inventory, files, source)
    found.files = {file for file in files if file.sha256 in hashes or file.path == source}
    found.listings = {path for path, own in listed.items() if found.files.intersection(own)}
    for file in found.files:
        found.words |= {file.path, file.sha256}
        for path, data in await _read_parsed(store, inventory, file):
            found.parsed.add(path)
            for document in json.loads(data)["documents"]:
                found.words.add(hashlib.sha256(document["text"].encode()).hexdigest())
                found.words.add(document["id"])
    found.words.discard("")
    return found


async def _read_parsed(
    store: Store, inventory: Inventory, file: CorpusFile
) -> list[tuple[str, bytes]]:
    keys = [parsed_key(number, file.path, file.sha256) for number in range(_MOST_PARSERS)]
    paths = [path for key in keys for path in store.paths(key) if path in inventory]
    return [(path, data) for path in paths if (data := await store.read(path)) is not None]


async def _find_by_text(
    store: Store, inventory: Inventory, files: Iterable[CorpusFile], text_hash: str
) -> set[str]:
    found = set()
    for file in files:
        for _, data in await _read_parsed(store, inventory, file):
            texts = [document["text"].encode() for document in json.loads(data)["documents"]]
            if text_hash in {hashlib.sha256(text).hexdigest() for text in texts}:
                found.add(file.sha256)
    return found


async def find_readers(store: Store, inventory: Inventory, document: KnownDocument) -> list[str]:
    """The jobs whose journal, state or report names the document, or what was made from it."""
    words = {word.encode() for word in document.words}
    records = [path for path in inventory if path.startswith(_RECORDS)]
    contents = {path: await store.read(path) or b"" for path in records}
    while (
        new := {
            hashlib.sha256(data).hexdigest()[:40].encode()
            for data in contents.values()
            if any(word in data for word in words)
        }
        - words
    ):
        words |= new
    jobs = set()
    for path in filter(is_of_job, inventory):
        data = await store.read(path) or b""
        if any(word in data for word in words):
            jobs.add(unquote(path.split("/")[1].removesuffix(".json")))
    # Journals of scheduled jobs are named by job and run.
    return sorted({job.partition("/")[0] for job in jobs})


async def find_needed(store: Store, inventory: Inventory, open_jobs: Collection[str]) -> set[str]:
    """All that open jobs refer to."""
    own = await find_job_folders(store, inventory, open_jobs)
    roots = [path for path in inventory if is_of_job(path) and own.have(path)]
    return await find_references(store, inventory, roots)


async def forget_document(
    store: Store, inventory: Inventory, document: KnownDocument, needed: Collection[str]
) -> Forgotten:
    """Publish the corpora without the document, and delete it with everything made from it."""
    corpora = []
    for head in await list_heads(store):
        if document.listings.intersection(store.paths(listing_key(head.version))):
            await drop(store, head, document.hashes)
            corpora.append(head.name)
    keys = [original_key(name) for name in document.hashes]
    keys += [f"texts/{word}" for word in document.words if _HEX.fullmatch(word)]
    gone = {path for key in keys for path in store.paths(key) if path in inventory}
    gone |= document.parsed | document.listings
    gone |= {path for path in inventory if path.startswith(_DERIVED) and path not in needed}
    for path in sorted(gone):
        await store.remove(path)
    return Forgotten(add_up(inventory, gone), sorted(corpora))
