"""The objects behind the store: bytes by path, in a folder or, through `obstore`, in a bucket.

An object is stored completely or not at all, and durably before a write counts. In a folder it is
written under a temporary name, synchronised to the disk, and linked to its path; the folder is
synchronised, too. Files and folders are private to their user.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

from obstore.exceptions import AlreadyExistsError, NotFoundError
from obstore.store import ObjectStore, from_url

if TYPE_CHECKING:
    from obstore import ObjectMeta

T = TypeVar("T")
ABSENT = (FileNotFoundError, NotFoundError)
"""`obstore` raises the built-in error under a name of its own."""
RENEW_SECONDS = 600.0
"""An object that is wanted again is made new where it is older than this: `retention` deletes what
is old and not referred to, and a job may be about to refer to it."""
_TEMPORARY = re.compile(r"#\d+$")
"""The end of a temporary name; `obstore` does not list such files either."""
_numbers = itertools.count()
# Threads wait for the disk here; the other threads of a worker go on.
_threads = ThreadPoolExecutor(8, "store")


class StoredObject(NamedTuple):
    """What a listing knows of an object."""

    at: float
    """When it was written or touched last, in seconds since the epoch, by the store's clock."""
    size: int


class Backend(Protocol):
    async def create(self, path: str, data: bytes) -> bool:
        """Store an object unless there is one; False where there is."""

    async def replace(self, path: str, data: bytes) -> None: ...

    async def read(self, path: str) -> bytes | None: ...

    async def list(self, folder: str) -> dict[str, StoredObject]:
        """The objects in a folder, by path."""

    async def find(self, path: str) -> StoredObject | None: ...

    async def delete(self, path: str) -> None:
        """Delete an object, if there is one."""

    async def touch(self, path: str) -> None:
        """Make an object, if there is one, as new as if it had been written now."""

    async def delete_half_written(self, seconds: float) -> None:
        """Delete what killed writers left, where it is older than this."""

    async def probe(self, size: int) -> None:
        """Raise the error that a write of this size would raise, where that can be known."""


def open_backend(location: str) -> Backend:
    """A folder, created if it is missing, or a URL (s3://, gs://, az://, file://)."""
    if location.startswith("file://"):
        location = unquote(urlsplit(location).path)
    return BucketBackend(from_url(location)) if "://" in location else FolderBackend(location)


async def create_or_renew(backend: Backend, path: str, data: bytes) -> bool:
    """Store an object unless there is one, which counts as new then; False where there is."""
    is_new = await backend.create(path, data)
    found = None if is_new else await backend.find(path)
    if found is not None and time.time() - found.at > RENEW_SECONDS:
        await backend.touch(path)
    return is_new


class FolderBackend:
    def __init__(self, folder: str | Path) -> None:
        self._root = Path(folder).resolve()
        _make_folder(self._root)

    async def create(self, path: str, data: bytes) -> bool:
        return await _in_thread(lambda: self._write(path, data, os.link))

    async def replace(self, path: str, data: bytes) -> None:
        await _in_thread(lambda: self._write(path, data, os.replace))

    async def read(self, path: str) -> bytes | None:
        try:
            return await _in_thread(self._locate(path).read_bytes)
        except FileNotFoundError:
            return None

    async def list(self, folder: str) -> dict[str, StoredObject]:
        return await _in_thread(lambda: self._list(folder))

    async def find(self, path: str) -> StoredObject | None:
        try:
            return await _in_thread(lambda: _describe(self._locate(path)))
        except FileNotFoundError:
            return None

    async def delete(self, path: str) -> None:
        def delete() -> None:
            target = self._locate(path)
            with suppress(FileNotFoundError):
                target.unlink()
                _sync_folder(target.parent)

        await _in_thread(delete)

    async def touch(self, path: str) -> None:
        with suppress(FileNotFoundError):
            await _in_thread(lambda: os.utime(self._locate(path)))

    async def delete_half_written(self, seconds: float) -> None:
        def delete() -> None:
            since = time.time() - seconds
            for path, found in self._list("", is_temporary=True).items():
                if found.at < since:
                    (self._root / path).unlink(missing_ok=True)

        await _in_thread(delete)

    async def probe(self, size: int) -> None:
        """Reserve the space for a moment: an empty file can be created on a full disk."""

        def reserve() -> None:
            place = _temporary(self._root / "probe")
            file = _open_new(place)
            try:
                os.posix_fallocate(file, 0, size)
            finally:
                os.close(file)
                place.unlink()

        await _in_thread(reserve)

    def _locate(self, path: str) -> Path:
        parts = path.split("/")
        if not all(part.strip(".") for part in parts):
            raise ValueError(f"{path!r} is no path of an object")
        return self._root.joinpath(*parts)

    def _write(self, path: str, data: bytes, put: Callable[[Path, Path], None]) -> bool:
        target = self._locate(path)
        if put is os.link and target.exists():
            return False
        temporary = _temporary(target)
        try:
            file = _open_new(temporary)
        except FileNotFoundError:
            _make_folder(target.parent)
            file = _open_new(temporary)
        try:
            with os.fdopen(file, "wb") as written:
                written.write(data)
                written.flush()
                os.fsync(written.fileno())
            put(temporary, target)
        except FileExistsError:
            return False
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()
        _sync_folder(target.parent)
        return True

    def _list(self, folder: str, *, is_temporary: bool = False) -> dict[str, StoredObject]:
        if self._root.exists() and not self._root.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "Not a directory", str(self._root))
        found: dict[str, StoredObject] = {}
        start = self._locate(folder) if folder else self._root
        for place, _, names in os.walk(start):
            for name in names:
                # Another process may delete a file meanwhile.
                with suppress(FileNotFoundError):
                    if bool(_TEMPORARY.search(name)) is is_temporary:
                        file = Path(place, name)
                        found[file.relative_to(self._root).as_posix()] = _describe(file)
        return found


class BucketBackend:
    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def create(self, path: str, data: bytes) -> bool:
        try:
            await self._objects.put_async(path, data, mode="create")
        except AlreadyExistsError:
            return False
        return True

    async def replace(self, path: str, data: bytes) -> None:
        await self._objects.put_async(path, data, mode="overwrite")

    async def read(self, path: str) -> bytes | None:
        try:
            found = await self._objects.get_async(path)
        except ABSENT:
            return None
        return bytes(await found.bytes_async())

    async def list(self, folder: str) -> dict[str, StoredObject]:
        found = await self._objects.list(folder or None).collect_async()
        return {item["path"]: _of_item(item) for item in found}

    async def find(self, path: str) -> StoredObject | None:
        try:
            return _of_item(await self._objects.head_async(path))
        except ABSENT:
            return None

    async def delete(self, path: str) -> None:
        with suppress(*ABSENT):
            await self._objects.delete_async(path)

    async def touch(self, path: str) -> None:
        if (data := await self.read(path)) is not None:
            await self.replace(path, data)

    async def delete_half_written(self, seconds: float) -> None:
        """A bucket has none."""

    async def probe(self, size: int) -> None:
        """A bucket has no size; what else could be wrong shows when a call is marked."""


def _of_item(item: ObjectMeta) -> StoredObject:
    return StoredObject(item["last_modified"].timestamp(), item["size"])


def _describe(file: Path) -> StoredObject:
    status = file.stat()
    return StoredObject(status.st_mtime, status.st_size)


async def _in_thread(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads, work)


def _temporary(target: Path) -> Path:
    return target.with_name(f"{target.name}#{os.getpid()}{next(_numbers):08}")


def _open_new(file: Path) -> int:
    return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing; each is an entry in the one above."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    with suppress(FileNotFoundError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
