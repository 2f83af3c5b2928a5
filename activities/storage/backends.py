"""The objects behind the store, in a folder or a bucket, through `obstore`.

An object is stored completely or not at all: `obstore` writes a file under a temporary name and
links it to its path.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from obstore.exceptions import AlreadyExistsError, NotFoundError
from obstore.store import LocalStore, ObjectStore, from_url

ABSENT = (FileNotFoundError, NotFoundError)
"""`obstore` raises the built-in error under a name of its own."""


def open_store(location: str, *, create: bool = True) -> ObjectStore:
    """A folder, created if it is missing, or a URL (s3://, gs://, az://, file://)."""
    if "://" not in location:
        return LocalStore(Path(location).resolve(), mkdir=create)
    if location.startswith("file://"):
        return LocalStore.from_url(location, mkdir=create)
    return from_url(location)


class Backend:
    """Bytes by path."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def create(self, path: str, data: bytes) -> bool:
        """Store an object unless there is one; False where there is."""
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

    async def list(self, folder: str) -> dict[str, float]:
        """When each object in a folder was written, by its path."""
        found = await self._objects.list(folder).collect_async()
        return {item["path"]: item["last_modified"].timestamp() for item in found}

    async def delete(self, path: str) -> None:
        """Delete an object, if there is one."""
        with suppress(*ABSENT):
            await self._objects.delete_async(path)
