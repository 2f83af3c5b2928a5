"""What must outlive a process, through `obstore`: a local folder, or a bucket by URL.

Records are content-addressed: the same thing saved twice is one object, and a reference is good on
any worker. `put_new` is create-if-absent, which is all the locking the journal needs.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeVar

from obstore.exceptions import AlreadyExistsError
from obstore.store import LocalStore, ObjectStore, from_url
from pydantic import BaseModel

T = TypeVar("T", bound=BaseModel)


class Missing(LookupError):
    """The store has nothing under a key it was expected to hold."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the store holds no {key!r}; do all workers use the same RESEARCH_STORE?")


class Store:
    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    @classmethod
    def open(cls, url: str) -> Store:
        """A URL (s3://, gs://, az://, file://), or the path of a folder, which is made."""
        if "://" in url and not url.startswith("file://"):
            return cls(from_url(url))
        return cls(LocalStore(Path(url.removeprefix("file://")).absolute(), mkdir=True))

    async def put_new(self, key: str, data: bytes) -> bool:
        """False where something stands under the key already; it stays as it was."""
        try:
            await self._objects.put_async(key, data, mode="create")
        except AlreadyExistsError:
            return False
        return True

    async def get(self, key: str) -> bytes | None:
        try:
            found = await self._objects.get_async(key)
        except FileNotFoundError:
            return None
        return bytes(await found.bytes_async())

    async def delete(self, key: str) -> None:
        await self._objects.delete_async(key)

    async def save(self, folder: str, record: BaseModel) -> str:
        data = record.model_dump_json().encode()
        key = f"{folder}/{hashlib.sha256(data).hexdigest()[:40]}.json"
        await self.put_new(key, data)
        return key

    async def load(self, key: str, kind: type[T]) -> T:
        data = await self.get(key)
        if data is None:
            raise Missing(key)
        return kind.model_validate_json(data)

    # --- snapshots: the text of a source, under its hash ----------------------------------------

    async def keep_text(self, sha256: str, text: str) -> None:
        await self.put_new(f"texts/{sha256}", text.encode())

    async def text(self, sha256: str) -> str | None:
        data = await self.get(f"texts/{sha256}")
        return None if data is None else data.decode()
