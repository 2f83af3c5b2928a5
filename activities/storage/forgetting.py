"""Forgetting a document: its file, its text, and the indexes that hold its words.

A document is named by its path or a hash of it. The same bytes under another path, and what stood
under this path in earlier versions, are the same document. Corpora get a version without it: the
other files of its packs are moved to new packs, and the old ones go with all versions that name
them. All indexes that no open job reads are deleted, because one that was derived from an earlier
index may still hold words of what is gone; the next job has the index made again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from activities.storage.corpus_publishing import drop
from activities.storage.corpus_versions import (
    Pack,
    PackedFile,
    list_heads,
    load_listing,
    load_pack,
)
from activities.storage.references import PARSERS, Mentioned, find_names, find_references
from activities.storage.retention import Inventory, add_up, find_job_folders, is_of_job
from activities.storage.store import Store
from workflows.config.store_keys import listing_key, original_key, pack_key, parsed_key
from workflows.contracts.activity_io import ObjectTotal

_RECORDS = ("findings/", "ledgers/", "rulings/", "drafts/")
_DERIVED = ("newest-indexes/", "indexes/", "index-parts/")
_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass
class KnownDocument:
    """Where a document is in the store."""

    files: set[PackedFile] = field(default_factory=set)
    packs: dict[str, Pack] = field(default_factory=dict)
    """The packs that hold it, by their ids."""
    other_packs: dict[str, Pack] = field(default_factory=dict)
    listings: set[str] = field(default_factory=set)
    """Paths of the listings of versions that name one of these packs."""
    parsed: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    """By what those who read it name it: paths, ids, hashes of its text."""


@dataclass
class Forgotten:
    objects: dict[str, ObjectTotal]
    corpora: list[str]
    """Corpora that have a version without the document now."""


async def find_document(store: Store, inventory: Inventory, source: str) -> KnownDocument:
    """The document of this path, or of this hash of its bytes or its text."""
    packs = await _load_packs(store, inventory)
    every = [file for pack in packs.values() for file in pack.files]
    hashes = {file.sha256 for file in every if source in (file.path, file.sha256)}
    if not hashes and _HEX.fullmatch(source):
        parsed = _read_parsed(store, inventory, packs)
        hashes = {file.sha256 async for _, file, words in parsed if source in words}
    hashes.discard("")
    found = KnownDocument(files={f for f in every if f.sha256 in hashes or f.path == source})
    for name, pack in packs.items():
        (found.packs if found.files.intersection(pack.files) else found.other_packs)[name] = pack
    async for path, file, words in _read_parsed(store, inventory, found.packs):
        found.parsed.add(path)
        found.words |= words if file in found.files else set()
    found.words |= {word for file in found.files for word in (file.path, file.sha256) if word}
    found.listings = await _find_listings(store, inventory, found.packs)
    return found


async def _find_listings(store: Store, inventory: Inventory, packs: Collection[str]) -> set[str]:
    found = set()
    for path in inventory:
        if path.startswith("listings/"):
            named = find_names(await store.read(path) or b"")
            found |= {path} if named.intersection(packs) else set()
    return found


async def _load_packs(store: Store, inventory: Inventory) -> dict[str, Pack]:
    packs = {}
    for path in inventory:
        if path.startswith("packs/") and (data := await store.read(path)) is not None:
            packs[hashlib.sha256(data).hexdigest()[:40]] = Pack.model_validate_json(data)
    return packs


async def _read_parsed(
    store: Store, inventory: Inventory, packs: Mapping[str, Pack]
) -> AsyncIterator[tuple[str, PackedFile, set[str]]]:
    """What the parsers made of the files of some packs: the path of the object, the file, the ids
    of the documents in it and the hashes of their texts."""
    for name, pack in packs.items():
        keys = [parsed_key(number, name) for number in PARSERS]
        for path in [path for key in keys for path in store.paths(key) if path in inventory]:
            if (data := await store.read(path)) is None:
                continue
            for file, parsed in zip(pack.files, json.loads(data), strict=True):
                documents = parsed["documents"]
                texts = [document["text"].encode() for document in documents]
                words = {document["id"] for document in documents}
                yield path, file, words | {hashlib.sha256(text).hexdigest() for text in texts}


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


async def find_needed(
    store: Store, inventory: Inventory, open_jobs: Collection[str], mentioned: Mentioned
) -> set[str]:
    """All that open jobs refer to, in their objects or in their histories."""
    own = await find_job_folders(store, inventory, open_jobs)
    roots = [path for path in inventory if is_of_job(path) and own.have(path)]
    return await find_references(store, inventory, roots, mentioned=mentioned)


async def forget_document(
    store: Store, inventory: Inventory, document: KnownDocument, needed: Collection[str]
) -> Forgotten:
    """Publish the corpora without the document, and delete it with everything made from it."""
    corpora = []
    kept = {pack.content for pack in document.other_packs.values()}
    for head in await list_heads(store):
        if document.listings.intersection(store.paths(listing_key(head.version))):
            new = await drop(store, head, document.packs.keys(), document.files)
            packs = (await load_listing(store, new.version)).packs
            # The bytes are the same where what was forgotten had none.
            kept |= {(await load_pack(store, ref.id)).content for ref in packs}
            corpora.append(head.name)
    keys = [pack_key(name) for name in document.packs]
    keys += [original_key(p.content) for p in document.packs.values() if p.content not in kept]
    keys += [f"texts/{word}" for word in document.words if _HEX.fullmatch(word)]
    gone = {path for key in keys for path in store.paths(key) if path in inventory}
    gone |= document.parsed | document.listings
    gone |= {path for path in inventory if path.startswith(_DERIVED) and path not in needed}
    # Packs last: a command that was interrupted finds the document by them when it is repeated.
    for path in sorted(gone, key=lambda path: (path.startswith("packs/"), path)):
        await store.remove(path)
    return Forgotten(add_up(inventory, gone), sorted(corpora))
