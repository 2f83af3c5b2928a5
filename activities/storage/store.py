"""The object store: what must outlive a process, in a folder or a bucket (see `backends`).

Records are content-addressed: the same record saved twice is one object, a reference is valid on
any worker, and what was read once is not fetched again. `put_new` is create-if-absent, which is all
the locking the journal needs.

With a keyring every object is encrypted and bound to its key, and names that would tell something
become HMACs: the hash of a short text can be guessed, the id of a facet can be read. The kind of an
object, the id of the job and the names of checkpoints and control messages stay readable.

A failure here is an error of type `storage`: retried a few times, then the job is parked.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from cachetools import LRUCache
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from pydantic import BaseModel
from temporalio.exceptions import ApplicationError

from activities.storage.backends import ABSENT, Backend, open_store
from activities.storage.encryption import (
    NONCE_BYTES,
    EncryptionError,
    Keyring,
    decrypt_if_encrypted,
)
from workflows.config.store_keys import STORE_ID

T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")
STORAGE = "storage"
CACHE_BYTES = 32_000_000
"""Of objects that were read or written; in memory they are a few times larger."""
# How many leading parts of a key stay readable: the kind, and the job where it comes next.
_READABLE_PARTS = {
    "checkpoints": 99, "fleet": 99, "control": 99, "templates": 2, "journal": 2, "transcripts": 2,
}  # fmt: skip


class ObjectNotFound(ApplicationError):
    """The store has nothing under a key it was expected to hold."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"the store holds no {key!r}; do all workers use the same RESEARCH_STORE?",
            type=STORAGE,
        )


class Store:
    def __init__(
        self, backend: Backend, name: str = "the store", keyring: Keyring | None = None
    ) -> None:
        self._backend = backend
        self._name = name
        self._keyring = keyring
        self._cache: LRUCache[Hashable, tuple[Any, int]] = LRUCache(
            CACHE_BYTES, getsizeof=lambda entry: entry[1]
        )

    @classmethod
    def open(cls, url: str, keyring: Keyring | None = None) -> Store:
        """A URL (s3://, gs://, az://, file://), or the path of a folder, which is made."""
        return cls(Backend(open_store(url)), url, keyring)

    async def put_new(self, key: str, data: bytes) -> bool:
        """Store an object unless there is one under the key; False where there is."""
        path, *earlier = self._paths(key)
        with self._report_errors():
            for old in earlier:
                if await self._backend.read(old) is not None:
                    return False
            return await self._backend.create(path, self._encrypt(key, data))

    async def settle(self, key: str, data: bytes) -> bytes:
        """Store an object unless there is one under the key; returns the one that is there."""
        if await self.put_new(key, data):
            return data
        kept = await self.get(key)
        if kept is None:
            raise ObjectNotFound(key)
        return kept

    async def identify(self) -> str:
        """The id of this store, created at its first use: a job runs only where its store is."""
        known = await self.get(STORE_ID)
        return (known or await self.settle(STORE_ID, secrets.token_hex(8).encode())).decode()

    async def replace(self, key: str, data: bytes) -> None:
        with self._report_errors():
            await self._backend.replace(self._paths(key)[0], self._encrypt(key, data))

    async def get(self, key: str) -> bytes | None:
        with self._report_errors():
            for path in self._paths(key):
                data = await self._backend.read(path)
                if data is not None:
                    return self._decrypt(key, data)
        return None

    async def list(self, folder: str) -> list[str]:
        """The paths of all objects in a folder, sorted; with a keyring, as HMACs."""
        found: list[str] = []
        with self._report_errors():
            for path in self._paths(folder):
                found += await self._backend.list(path)
        return sorted(found)

    async def delete(self, key: str) -> None:
        with self._report_errors():
            for path in self._paths(key):
                await self._backend.delete(path)

    async def save(self, folder: str, record: BaseModel) -> str:
        data = record.model_dump_json().encode()
        key = f"{folder}/{hashlib.sha256(data).hexdigest()[:40]}.json"
        await self.put_new(key, data)
        self._remember((key, type(record)), record, len(data))
        return key

    async def load(self, key: str, kind: type[T]) -> T:
        """A record that was saved, by its content's key."""
        record = await self._load_cached((key, kind), key, kind.model_validate_json)
        if record is None:
            raise ObjectNotFound(key)
        return record

    async def _load_cached(self, name: Hashable, key: str, read: Callable[[bytes], V]) -> V | None:
        """An object that never changes, fetched once."""
        if (entry := self._cache.get(name)) is not None:
            known: V = entry[0]
            return known
        if (data := await self.get(key)) is None:
            return None
        value = read(data)
        self._remember(name, value, len(data))
        return value

    def _remember(self, name: Hashable, value: object, size: int) -> None:
        if size <= CACHE_BYTES:
            self._cache[name] = value, size

    # --- snapshots: the text of a source, under its hash ----------------------------------------

    async def keep_text(self, sha256: str, text: str) -> None:
        data = text.encode()
        await self.put_new(f"texts/{sha256}", data)
        self._remember(sha256, text, len(data))

    async def text(self, sha256: str) -> str | None:
        return await self._load_cached(sha256, f"texts/{sha256}", bytes.decode)

    # --- encryption -----------------------------------------------------------------------------

    def _paths(self, key: str) -> tuple[str, ...]:
        """Where an object is, and after that where it would be from the time before encryption."""
        if self._keyring is None:
            return (key,)
        parts = key.split("/")
        readable = _READABLE_PARTS.get(parts[0], 1)
        if len(parts) <= readable:
            return (key,)
        # Each part is hashed together with those before it: a folder stays a folder.
        hashed = [
            self._keyring.hash_name("/".join(parts[: n + 1])) for n in range(readable, len(parts))
        ]
        return "/".join([*parts[:readable], *hashed]), key

    def _encrypt(self, key: str, data: bytes) -> bytes:
        if self._keyring is None:
            return data
        return self._keyring.encrypt(data, os.urandom(NONCE_BYTES), key.encode())

    def _decrypt(self, key: str, data: bytes) -> bytes:
        try:
            return decrypt_if_encrypted(data, self._keyring, key.encode())
        except EncryptionError as error:
            raise ApplicationError(
                f"{key!r} in {self._name} cannot be read: {error}", type=STORAGE
            ) from error

    # --- errors ---------------------------------------------------------------------------------

    @contextmanager
    def _report_errors(self) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError) as error:
            # The first line is the message; what follows is the library's own dump.
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
    if isinstance(error, ABSENT) or "Not a directory" in said:
        return "bring the folder or bucket back, or set RESEARCH_STORE to where it is"
    return "see that RESEARCH_STORE can be reached from all workers"
