"""What stands behind the store: a folder, or a bucket through `obstore`.

An object is there whole or not at all. A folder's files are written beside their place and linked
into it, as `obstore` would, and under names that it takes for unfinished ones as well; but on the
spot, for what a disk does in microseconds takes longer to hand to another thread and to wait for.
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
"""`obstore` has a name of its own for what it raises as the built-in one."""
_UNFINISHED = re.compile(r"#\d+$")


class Objects(Protocol):
    """Bytes by place, which is a path with slashes."""

    async def create(self, place: str, data: bytes) -> bool:
        """False where something stands there already; it stays as it was."""
        ...

    async def replace(self, place: str, data: bytes) -> None: ...

    async def read(self, place: str) -> bytes | None: ...

    async def written(self, folder: str) -> dict[str, float]:
        """When each thing under a folder was written, by its place."""
        ...

    async def delete(self, place: str) -> None:
        """It is well where nothing stood there."""
        ...


def open_objects(url: str) -> Objects:
    """A URL (s3://, gs://, az://, file://), or the path of a folder, which is made."""
    if "://" in url and not url.startswith("file://"):
        return Bucket(from_url(url))
    return Folder(Path(url.removeprefix("file://")).absolute())


class Bucket:
    def __init__(self, objects: ObjectStore) -> None:
        self.objects = objects

    async def create(self, place: str, data: bytes) -> bool:
        try:
            await self.objects.put_async(place, data, mode="create")
        except AlreadyExistsError:
            return False
        return True

    async def replace(self, place: str, data: bytes) -> None:
        await self.objects.put_async(place, data, mode="overwrite")

    async def read(self, place: str) -> bytes | None:
        try:
            found = await self.objects.get_async(place)
        except ABSENT:
            return None
        return bytes(await found.bytes_async())

    async def written(self, folder: str) -> dict[str, float]:
        found = await self.objects.list(folder).collect_async()
        return {item["path"]: item["last_modified"].timestamp() for item in found}

    async def delete(self, place: str) -> None:
        with suppress(*ABSENT):
            await self.objects.delete_async(place)


class Folder:
    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._root = str(root)

    async def create(self, place: str, data: bytes) -> bool:
        path = self._path(place)
        if not data:
            return _marked(path)
        beside = _beside(path, data)
        try:
            os.link(beside, path)
        except FileExistsError:
            return False
        finally:
            os.unlink(beside)
        return True

    async def replace(self, place: str, data: bytes) -> None:
        path = self._path(place)
        os.replace(_beside(path, data), path)

    async def read(self, place: str) -> bytes | None:
        return _read(self._path(place))

    async def written(self, folder: str) -> dict[str, float]:
        cut = len(self._root) + 1
        return {path[cut:]: at for path, at in _files(self._path(folder))}

    async def delete(self, place: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path(place))

    def _path(self, place: str) -> str:
        return f"{self._root}/{place}"


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except FileNotFoundError:
        return None


def _marked(path: str) -> bool:
    """An empty file is whole as soon as it is there, and needs no place beside."""
    try:
        _add(path, b"")
    except FileExistsError:
        return False
    return True


def _beside(path: str, data: bytes) -> str:
    """The name of a new file beside the path, with the data in it."""
    beside = f"{path}#{random.getrandbits(60)}"
    _add(beside, data)
    return beside


def _add(path: str, data: bytes) -> None:
    """A new file, and its folder where there is none."""
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
            # The disk is full: what is half written only takes room.
            os.unlink(path)
            raise


def _files(folder: str) -> Iterator[tuple[str, float]]:
    """Finished files at any depth. One that goes away meanwhile is not there."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            elif not _UNFINISHED.search(entry.name):
                with suppress(FileNotFoundError):
                    yield entry.path, entry.stat().st_mtime
