"""What must outlive a process, through `obstore`: a local folder, or a bucket by URL.

Records are content-addressed: the same thing saved twice is one object, and a reference is good on
any worker. `put_new` is create-if-absent, which is all the locking the journal needs. An object is
there whole or not at all: a folder's files are written beside their place and linked into it.

What goes wrong here is an error of type `storage`: asked again a few times, then an operator's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from obstore.store import LocalStore, ObjectStore, from_url
from pydantic import BaseModel
from temporalio.exceptions import ApplicationError

T = TypeVar("T", bound=BaseModel)
STORAGE = "storage"
# `obstore` has a name of its own for what it raises as the built-in one.
_ABSENT = (FileNotFoundError, NotFoundError)


class Missing(ApplicationError):
    """The store has nothing under a key it was expected to hold."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"the store holds no {key!r}; do all workers use the same RESEARCH_STORE?",
            type=STORAGE,
        )


class Store:
    def __init__(self, objects: ObjectStore, name: str = "the store") -> None:
        self._objects = objects
        self._name = name

    @classmethod
    def open(cls, url: str) -> Store:
        """A URL (s3://, gs://, az://, file://), or the path of a folder, which is made."""
        if "://" in url and not url.startswith("file://"):
            return cls(from_url(url), url)
        return cls(LocalStore(Path(url.removeprefix("file://")).absolute(), mkdir=True), url)

    async def put_new(self, key: str, data: bytes) -> bool:
        """False where something stands under the key already; it stays as it was."""
        with self._faults():
            try:
                await self._objects.put_async(key, data, mode="create")
            except AlreadyExistsError:
                return False
        return True

    async def settle(self, key: str, data: bytes) -> bytes:
        """What stands under the key: this, unless something was there first."""
        if await self.put_new(key, data):
            return data
        kept = await self.get(key)
        if kept is None:
            raise Missing(key)
        return kept

    async def replace(self, key: str, data: bytes) -> None:
        with self._faults():
            await self._objects.put_async(key, data)

    async def get(self, key: str) -> bytes | None:
        with self._faults():
            try:
                found = await self._objects.get_async(key)
            except _ABSENT:
                return None
            return bytes(await found.bytes_async())

    async def list(self, folder: str) -> list[str]:
        """The keys within a folder, in order; none where there is no such folder."""
        with self._faults():
            try:
                # One page is all of them unless there are thousands.
                return sorted(
                    [str(m["path"]) async for page in self._objects.list(folder) for m in page]
                )
            except _ABSENT:
                return []

    async def delete(self, key: str) -> None:
        with self._faults(), suppress(*_ABSENT):
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

    # --- faults ---------------------------------------------------------------------------------

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError) as error:
            # The first line says it; what follows is the library's own dump.
            said = (str(error).splitlines() or [type(error).__name__])[0]
            raise ApplicationError(
                f"{self._name} cannot be used: {said}; {_remedy(error, said)}", type=STORAGE
            ) from error


def _remedy(error: Exception, said: str) -> str:
    if "No space left" in said or "quota" in said.lower():
        return "it is full: make room"
    if isinstance(error, PermissionDeniedError | UnauthenticatedError | PermissionError) or (
        "ermission denied" in said or "Read-only" in said
    ):
        return "let the workers read and write there, with valid credentials"
    if isinstance(error, _ABSENT) or "Not a directory" in said:
        return "bring the folder or bucket back, or set RESEARCH_STORE to where it is"
    return "see that RESEARCH_STORE can be reached from all workers"
