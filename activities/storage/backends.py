"""The backends of the store: a folder, or a bucket through `obstore`.

An object is stored completely or not at all. In a folder, a file is written under a temporary name
and linked to its path, as `obstore` does it and with names that it ignores as well; but in the
event loop, because a disk takes microseconds and a thread takes longer.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from obstore.exceptions import AlreadyExistsError, NotFoundError
from obstore.store import ObjectStore, from_url

ABSENT = (FileNotFoundError, NotFoundError)
"""`obstore` raises the built-in error under a name of its own."""
_UNFINISHED = re.compile(r"#\d+$")


class Backend(Protocol):
    """Bytes by path."""

    async def create(self, path: str, data: bytes) -> bool:
        """Store an object unless there is one; False where there is."""
        ...

    async def replace(self, path: str, data: bytes) -> None: ...

    async def read(self, path: str) -> bytes | None: ...

    async def list(self, folder: str) -> dict[str, float]:
        """When each object in a folder was written, by its path."""
        ...

    async def delete(self, path: str) -> None:
        """Delete an object, if there is one."""
        ...


def open_backend(url: str) -> Backend:
    """A URL (s3://, gs://, az://, file://), or the path of a folder, which is made."""
    if "://" in url and not url.startswith("file://"):
        return BucketBackend(from_url(url))
    return FolderBackend(Path(url.removeprefix("file://")).absolute())


class BucketBackend:
    def __init__(self, objects: ObjectStore) -> None:
        self.objects = objects

    async def create(self, path: str, data: bytes) -> bool:
        try:
            await self.objects.put_async(path, data, mode="create")
        except AlreadyExistsError:
            return False
        return True

    async def replace(self, path: str, data: bytes) -> None:
        await self.objects.put_async(path, data, mode="overwrite")

    async def read(self, path: str) -> bytes | None:
        try:
            found = await self.objects.get_async(path)
        except ABSENT:
            return None
        return bytes(await found.bytes_async())

    async def list(self, folder: str) -> dict[str, float]:
        found = await self.objects.list(folder).collect_async()
        return {item["path"]: item["last_modified"].timestamp() for item in found}

    async def delete(self, path: str) -> None:
        with suppress(*ABSENT):
            await self.objects.delete_async(path)


class FolderBackend:
    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._root = str(root)

    async def create(self, path: str, data: bytes) -> bool:
        file = self._file(path)
        if not data:
            return _create_empty(file)
        temporary = _write_temporary(file, data)
        try:
            os.link(temporary, file)
        except FileExistsError:
            return False
        finally:
            os.unlink(temporary)
        return True

    async def replace(self, path: str, data: bytes) -> None:
        file = self._file(path)
        os.replace(_write_temporary(file, data), file)

    async def read(self, path: str) -> bytes | None:
        return _read(self._file(path))

    async def list(self, folder: str) -> dict[str, float]:
        cut = len(self._root) + 1
        return {path[cut:]: at for path, at in _files(self._file(folder))}

    async def delete(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._file(path))

    def _file(self, path: str) -> str:
        return f"{self._root}/{path}"


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except FileNotFoundError:
        return None


def _create_empty(path: str) -> bool:
    """An empty file is complete as soon as it exists, and needs no temporary name."""
    try:
        _add(path, b"")
    except FileExistsError:
        return False
    return True


def _write_temporary(path: str, data: bytes) -> str:
    """Write a new file next to the path; returns its name."""
    temporary = f"{path}#{random.getrandbits(60)}"
    _add(temporary, data)
    return temporary


def _add(path: str, data: bytes) -> None:
    """Write a new file, and create its folder if there is none."""
    try:
        _write(path, data)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _write(path, data)


def _write(path: str, data: bytes) -> None:
    with open(path, "xb", buffering=0) as file:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
        except OSError:
            # The disk is full: a part of a file only takes space.
            os.unlink(path)
            raise


def _files(folder: str) -> Iterator[tuple[str, float]]:
    """Complete files at any depth. One that is deleted meanwhile is left out."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            elif not _UNFINISHED.search(entry.name):
                with suppress(FileNotFoundError):
                    yield entry.path, entry.stat().st_mtime
