"""Versions of a corpus made from its source: what changed is read, packed and uploaded.

`publish` is called where the documents are: by the command that names a folder, or by a worker that
can read it. Everybody else needs the store only.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from activities.storage.corpus_versions import (
    CorpusHead,
    Listing,
    Pack,
    PackedFile,
    PackRef,
    Rules,
    check_name,
    find_head,
    load_contents,
    load_listing,
    load_pack,
    save_listing,
)
from activities.storage.document_sources import (
    MAX_FILE_BYTES,
    CorpusError,
    DocumentSource,
    ScannedFile,
    is_readable,
    open_source,
)
from workflows.config.store_keys import corpus_key, original_key, scan_key

if TYPE_CHECKING:
    from activities.storage.store import Store

UPLOAD = "upload"
"""The source of a corpus whose files were uploaded one by one."""
PACK_FILES = 200
PACK_BYTES = 2_000_000
"""A larger file is a pack of its own."""
_CONCURRENT_READS = 16
_CONCURRENT_PACKS = 4

OnProgress = Callable[[int, int], None]
_SCAN = TypeAdapter(list[ScannedFile])


@dataclass(frozen=True)
class Limits:
    """How much one corpus may hold."""

    files: int = 200_000
    bytes: int = 20_000_000_000
    images: bool = False
    """Whether images are documents, because text is recognised in them."""

    def check(self, source: str, files: Sequence[ScannedFile]) -> None:
        """Raise `CorpusError` before anything is read."""
        size = sum(file.size for file in files)
        for unit, found, most in (("files", len(files), self.files), ("bytes", size, self.bytes)):
            if found > most:
                raise CorpusError(
                    f"{source} holds {found:,} {unit} to read, the limit is {most:,}: raise it with"
                    f" RESEARCH_CORPUS_{unit.upper()}, or name a smaller part"
                )


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
    # A corpus that was made in passing is deleted when it is old and no job refers to it. Renewed
    # before it is read, it is not deleted while its packs are taken over.
    await store.touch(corpus_key(check_name(name)))
    head = await find_head(store, name)
    before = await _load_scan(store, name) if head and head.source == location else {}
    limits = limits or Limits()
    source = open_source(location, images=limits.images)
    found, skipped = await source.scan()
    limits.check(location, found)
    scanned = await _upload(store, source, found, before, on_progress)
    if head and before and rules is None and scanned == list(before.values()):
        return head
    return await _save_version(store, name, location, scanned, rules, skipped)


async def upload(
    store: Store,
    name: str,
    contents: Mapping[str, bytes],
    *,
    rules: Rules | None = None,
    limits: Limits | None = None,
    tenant: str = "",
) -> CorpusHead:
    """Add files to a corpus, or replace them, from their bytes by path."""
    head = await find_head(store, name)
    if head is not None and head.source != UPLOAD:
        raise CorpusError(f"{name} is made from {head.source}: upload to a corpus of another name")
    files = await _load_scan(store, name) if head else {}
    read: list[tuple[ScannedFile, bytes]] = []
    limits = limits or Limits()
    for path, data in contents.items():
        parts = PurePosixPath(path).parts
        is_known = is_readable(path, limits.images)
        if not parts or path.startswith("/") or ".." in parts or not is_known:
            raise CorpusError(
                f"{path!r} cannot be uploaded: give a relative path of a known format"
            )
        sha256 = hashlib.sha256(data).hexdigest()
        read.append((ScannedFile(path=path, size=len(data), sha256=sha256), data))
    limits.check(name, list((files | {f.path: f for f, _ in read}).values()))
    for batch in _split([file for file, _ in read]):
        kept = await _save_pack(store, read[batch.start : batch.stop])
        files |= {file.path: file for file in kept}
    scanned = [files[path] for path in sorted(files)]
    return await _save_version(store, name, UPLOAD, scanned, rules, 0, tenant)


async def drop(
    store: Store, head: CorpusHead, packs: Collection[str], forgotten: Collection[PackedFile]
) -> CorpusHead:
    """Publish a version without some files. What else their packs hold is moved to new ones."""
    files = await _load_scan(store, head.name)
    for pack in {file.pack for file in files.values()}.intersection(packs):
        contents = enumerate(await load_contents(store, pack))
        held = {place: each for place, each in contents if each[0] not in forgotten}
        here = [file for file in files.values() if file.pack == pack]
        for file in here:
            if file.position not in held:
                del files[file.path]
        moved = [(file, held[file.position][1]) for file in here if file.position in held]
        files |= {file.path: file for file in await _save_pack(store, moved)}
    return await _save_version(
        store, head.name, head.source, list(files.values()), None, head.skipped
    )


async def _load_scan(store: Store, name: str) -> dict[str, ScannedFile]:
    stored = await store.get(scan_key(name))
    return {file.path: file for file in _SCAN.validate_json(stored)} if stored else {}


async def _save_version(
    store: Store,
    name: str,
    source: str,
    files: list[ScannedFile],
    rules: Rules | None,
    skipped: int,
    tenant: str = "",
) -> CorpusHead:
    """`rules` of None keeps the corpus's own, and a corpus stays with its tenant."""
    last = await find_head(store, name)
    rules = rules if rules is not None else last.rules if last else {}
    live: dict[str, set[int]] = {}
    for file in files:
        live.setdefault(file.pack, set()).add(file.position)
    known = (await load_listing(store, last.version)).packs if last else ()
    refs = {ref.id: ref for ref in known if ref.id in live}
    for pack in live.keys() - refs.keys():
        held = (await load_pack(store, pack)).files
        refs[pack] = PackRef(id=pack, files=len(held), bytes=sum(file.size for file in held))
    # In the order of their files, so that the same files in the same packs are the same version.
    packs = [
        refs[pack].model_copy(
            update={"gone": tuple(sorted(set(range(refs[pack].files)) - positions))}
        )
        for pack, positions in live.items()
    ]
    head = CorpusHead(
        name=name,
        source=source,
        version=await save_listing(store, Listing(packs=tuple(packs), rules=rules)),
        files=len(files),
        bytes=sum(file.size for file in files),
        skipped=skipped,
        rules=rules,
        tenant=last.tenant if last else tenant,
        updated=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    await store.replace(scan_key(name), _SCAN.dump_json(files, exclude_defaults=True))
    await store.replace(corpus_key(name), head.model_dump_json().encode())
    return head


async def _upload(
    store: Store,
    source: DocumentSource,
    found: Sequence[ScannedFile],
    before: Mapping[str, ScannedFile],
    on_progress: OnProgress | None,
) -> list[ScannedFile]:
    """All files with their hashes and places; what changed is uploaded."""
    changed = [file for file in found if not _is_unchanged(file, before.get(file.path))]
    few_packs = asyncio.Semaphore(_CONCURRENT_PACKS)
    few_reads = asyncio.Semaphore(_CONCURRENT_READS)
    kept: dict[str, ScannedFile] = {}

    async def read(file: ScannedFile) -> tuple[ScannedFile, bytes]:
        async with few_reads:
            return await _read(source, file)

    async def keep(batch: Sequence[ScannedFile]) -> None:
        async with few_packs:
            read_files = await asyncio.gather(*map(read, batch))
            new = []
            for file, data in read_files:
                last = before.get(file.path)
                if last and (last.sha256, last.problem) == (file.sha256, file.problem):
                    kept[file.path] = replace(last, stamp=file.stamp, size=file.size)
                else:
                    new.append((file, data))
            kept.update({file.path: file for file in await _save_pack(store, new)})
        if on_progress is not None:
            on_progress(len(kept), len(changed))

    await asyncio.gather(*(keep(changed[batch.start : batch.stop]) for batch in _split(changed)))
    return [kept.get(file.path) or before[file.path] for file in found]


def _split(files: Sequence[ScannedFile]) -> Iterator[range]:
    """The positions of the files of each pack."""
    start = size = 0
    for position, file in enumerate(files):
        if position - start >= PACK_FILES or (position > start and size + file.size > PACK_BYTES):
            yield range(start, position)
            start, size = position, 0
        size += file.size
    if files:
        yield range(start, len(files))


async def _save_pack(
    store: Store, contents: Sequence[tuple[ScannedFile, bytes]]
) -> list[ScannedFile]:
    """The files with their places."""
    if not contents:
        return []
    data = b"".join(each for _, each in contents)
    content = hashlib.sha256(data).hexdigest()
    await store.put_new(original_key(content), data)
    files = tuple(
        PackedFile(path=file.path, size=len(each), sha256=file.sha256, problem=file.problem)
        for file, each in contents
    )
    pack = PurePosixPath(await store.save("packs", Pack(content=content, files=files))).stem
    return [
        replace(file, pack=pack, position=position) for position, (file, _) in enumerate(contents)
    ]


def _is_unchanged(file: ScannedFile, before: ScannedFile | None) -> bool:
    if before is None or not before.stamp:
        return False
    return (file.size, file.stamp) == (before.size, before.stamp)


async def _read(source: DocumentSource, file: ScannedFile) -> tuple[ScannedFile, bytes]:
    """A file with its hash, or the problem with it, and its bytes."""
    if file.size > MAX_FILE_BYTES:
        reason = f"is larger than {MAX_FILE_BYTES:,} bytes ({file.size:,}); split it into parts"
        return replace(file, problem=reason), b""
    try:
        data = await source.read(file)
    except OSError as error:
        reason = f"cannot be opened: {error.strerror or error}; check its rights"
        return replace(file, problem=reason, stamp=""), b""
    sha256 = hashlib.sha256(data).hexdigest()
    return replace(file, sha256=sha256, size=len(data)), data
