"""Backups of the embedded server's database and the store, at one point in time.

1. Deletions and retention passes are excluded while a backup is made.
2. The database is copied first, as one state of it.
3. Then the store. Objects that a history refers to are written before the history is, and none is
   deleted meanwhile, so the copy has all that the copied histories refer to, and more.
4. The manifest, with the size and hash of everything, is written last: a backup without one is
   not complete.

A restored job goes on from the state of step 2, and finds turns in the journal that were stored
after it: they are not paid for again. Keys are not part of a backup.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, Field, ValidationError

from activities.storage.backends import Backend, open_backend
from activities.storage.retention import LOCK, exclude_others
from activities.storage.store import Store
from console.devserver.server import DATABASE, copy_database, find_database
from console.errors import BadInputError, ConsoleError
from workflows.config.settings import Settings

OnProgress = Callable[[str], None]
Item = TypeVar("Item")
_MANIFEST = "manifest.json"
_OBJECTS = "objects"
_PASSING = ("fleet/", "locks/", "doctor/")
"""What says something about processes that run now."""
_CONCURRENT_COPIES = 16


class CopiedObject(BaseModel):
    size: int
    sha256: str


class Manifest(BaseModel):
    at: str
    database: CopiedObject | None = None
    """None where the server is not the embedded one: its database is its operator's."""
    objects: dict[str, CopiedObject] = Field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return sum(each.size for each in self.objects.values())


async def make_backup(
    settings: Settings, store: Store, target: str, on_progress: OnProgress = lambda _: None
) -> Manifest:
    """Copy the database and the store to a folder or a URL that holds no backup yet."""
    place, source = open_backend(target), open_backend(settings.store)
    if await place.read(_MANIFEST) is not None:
        raise BadInputError(f"{target} holds a backup: choose another place.")
    manifest = Manifest(at=datetime.now(UTC).isoformat(timespec="seconds"))
    async with exclude_others(store, "backup"):
        file = find_database(settings.state_dir)
        if not settings.has_server and file.exists():
            on_progress("copying the database")
            manifest.database = await _save_database(file, place)
        skipped = (*_PASSING, *store.paths(LOCK))
        paths = [path for path in await source.list("") if not path.startswith(skipped)]

        async def copy(path: str) -> None:
            data = await source.read(path)
            if data is not None:  # marks of calls are deleted at any time
                await place.replace(f"{_OBJECTS}/{path}", data)
                manifest.objects[path] = _describe(data)

        await _for_each(paths, copy, on_progress)
        await place.create(_MANIFEST, manifest.model_dump_json().encode())
    return manifest


async def restore_backup(
    settings: Settings, origin: str, on_progress: OnProgress = lambda _: None
) -> Manifest:
    """Bring a backup back, checked object by object. Raises `BadInputError` where it would mix with
    other data; a restore that was interrupted can be repeated."""
    place, target = open_backend(origin), open_backend(settings.store)
    manifest = await _load_manifest(place, origin)
    database = find_database(settings.state_dir)
    if manifest.database is not None and settings.has_server:
        raise BadInputError(
            "The backup has the database of an embedded server: unset TEMPORAL_ADDRESS and the"
            " other variables of Temporal's that name a server."
        )
    if manifest.database is not None and database.exists():
        raise BadInputError(f"{database} exists: move it away, with what stands beside it.")
    foreign = (await target.list("")).keys() - manifest.objects.keys()
    if foreign:
        raise BadInputError(
            f"The store {settings.store} is not empty (it has {min(foreign)}): set RESEARCH_STORE"
            " to an empty place, or move what is there away."
        )

    async def copy(path: str) -> None:
        data = await place.read(f"{_OBJECTS}/{path}")
        _check(path, data, manifest.objects[path])
        if not await target.create(path, data or b"") and await target.read(path) != data:
            raise BadInputError(f"{path} in {settings.store} is another object: move it away.")

    await _for_each(list(manifest.objects), copy, on_progress)
    # Last: there is no server without its store.
    if manifest.database is not None:
        data = await place.read(DATABASE)
        _check(DATABASE, data, manifest.database)
        await asyncio.to_thread(_restore_database, data or b"", database)
    return manifest


async def _for_each(
    paths: list[str], copy: Callable[[str], Awaitable[None]], on_progress: OnProgress
) -> None:
    for start in range(0, len(paths), _CONCURRENT_COPIES):
        await asyncio.gather(*map(copy, paths[start : start + _CONCURRENT_COPIES]))
        if start % 1600 == 0 and start:
            on_progress(f"{start:,} of {len(paths):,} objects")


async def _save_database(file: Path, place: Backend) -> CopiedObject:
    with tempfile.TemporaryDirectory(prefix="backup-", dir=file.parent) as folder:
        copy = Path(folder, file.name)
        await asyncio.to_thread(copy_database, file, copy)
        data = await asyncio.to_thread(copy.read_bytes)
    await place.replace(DATABASE, data)
    return _describe(data)


def _restore_database(data: bytes, database: Path) -> None:
    database.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="restore-", dir=database.parent) as folder:
        received, checked = Path(folder, "received.sqlite"), Path(folder, database.name)
        received.write_bytes(data)
        copy_database(received, checked)
        checked.rename(database)


async def _load_manifest(place: Backend, origin: str) -> Manifest:
    data = await place.read(_MANIFEST)
    if data is None:
        raise BadInputError(f"{origin} holds no complete backup: it has no {_MANIFEST}.")
    try:
        return Manifest.model_validate_json(data)
    except ValidationError as error:
        raise ConsoleError(f"The manifest of {origin} is damaged: use another backup.") from error


def _describe(data: bytes) -> CopiedObject:
    return CopiedObject(size=len(data), sha256=hashlib.sha256(data).hexdigest())


def _check(path: str, data: bytes | None, known: CopiedObject) -> None:
    if data is None or _describe(data) != known:
        state = "missing" if data is None else "damaged"
        raise ConsoleError(f"{path} is {state} in the backup: use another one.")
