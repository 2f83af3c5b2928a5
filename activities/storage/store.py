"""The object store: what must outlive a process, in a folder or a bucket (see `backends`).

Records are content-addressed: the same record saved twice is one object, a reference is valid on
any worker, and what was read once is not fetched again. `put_new` is create-if-absent, which is all
the locking the journal needs.

With a keyring every object is encrypted and bound to its key, and names that would tell something
become HMACs: the hash of a short text can be guessed, the id of a facet can be read. The kind of an
object, the id of the job and the names of checkpoints and control messages stay readable.

Every object begins with a checksum that binds it to its path, and what is named by its hash is
compared with it: damage is found when an object is read. What can be had again is set aside then,
under `damaged/`; anything else is an error that names the object.

A store that cannot be used is an error of type `storage`, which is waited out; a damaged object is
one of type `damaged`, which parks the job.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

from cachetools import LRUCache, TTLCache
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from pydantic import BaseModel
from temporalio.exceptions import ApplicationError

from activities.storage.backends import (
    ABSENT,
    RENEW_SECONDS,
    Backend,
    StoredObject,
    create_or_renew,
    open_backend,
)
from activities.storage.background_tasks import run_beside
from activities.storage.encryption import (
    NONCE_BYTES,
    EncryptionError,
    KeyMissingError,
    Keyring,
    decrypt_if_encrypted,
)
from workflows.config.policies import DAMAGED, STORAGE
from workflows.config.store_keys import STORE_ID

_logger = logging.getLogger(__name__)
T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")
DAMAGED_FOLDER = "damaged"
PAYLOADS_FOLDER = "payloads"
"""Payloads of Temporal's, written by the driver of external storage under their hashes."""
_CHECKSUM = b"sha256 "
_NAMED_BY_HASH = (
    "texts", "findings", "ledgers", "rulings", "drafts",
    "originals", "listings", "packs", "index-parts",
)  # fmt: skip
CACHE_BYTES = 32_000_000
"""Of objects that were read or written; in memory they are a few times larger."""
# How many leading parts of a key stay readable: the kind, and the job where it comes next.
_READABLE_PARTS = {
    "checkpoints": 99, "fleet": 99, "control": 99, "corpora": 99, "reports": 99,
    "templates": 2, "journal": 2, "transcripts": 2,
}  # fmt: skip


class ObjectNotFound(ApplicationError):
    """The store has nothing under a key it was expected to hold."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"the store holds no {key!r}; do all workers use the same RESEARCH_STORE?",
            type=STORAGE,
        )


class DamagedObject(ApplicationError):
    """An object is not what was written."""

    def __init__(self, key: str, store: str) -> None:
        super().__init__(
            f"{key!r} in {store} is damaged, it is not what was written: restore it from a backup",
            type=DAMAGED,
            non_retryable=True,
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
        self._written: TTLCache[str, None] = TTLCache(100_000, RENEW_SECONDS)
        """Keys of records and texts that need not be written again now."""

    @classmethod
    def open(cls, url: str, keyring: Keyring | None = None) -> Store:
        """A URL (s3://, gs://, az://, file://), or the path of a folder, which is made."""
        return cls(open_backend(url), url, keyring)

    async def put_new(self, key: str, data: bytes) -> bool:
        """Store an object unless there is one under the key; False where there is."""
        path, *earlier = self.paths(key)
        with self._report_errors():
            for old in earlier:
                if await self._backend.read(old) is not None:
                    return False
            return await create_or_renew(self._backend, path, self._pack(path, data))

    async def settle(self, key: str, data: bytes) -> bytes:
        """Store an object unless there is one under the key; returns the one that is there.

        One that is damaged is replaced: this is for what can be had again.
        """
        while not await self.put_new(key, data):
            if (kept := await self.get(key, is_replaceable=True)) is not None:
                return kept
        return data

    async def identify(self) -> str:
        """The id of this store, created at its first use: a job runs only where its store is."""
        known = await self.get(STORE_ID)
        return (known or await self.settle(STORE_ID, secrets.token_hex(8).encode())).decode()

    async def replace(self, key: str, data: bytes) -> None:
        with self._report_errors():
            path = self.paths(key)[0]
            await self._backend.replace(path, self._pack(path, data))

    async def get(self, key: str, *, is_replaceable: bool = False) -> bytes | None:
        """The object under a key. Raises DamagedObject; one that is replaceable is set aside then
        and counts as absent."""
        with self._report_errors():
            for path in self.paths(key):
                stored = await self._backend.read(path)
                if stored is None:
                    continue
                try:
                    return self._unpack(path, stored, key)
                except DamagedObject as damaged:
                    if not is_replaceable:
                        raise
                    await self._set_aside(path, stored, damaged)
        return None

    async def touch(self, key: str) -> None:
        """Make an object as new as if it had been written now; `ages` shows it."""
        with self._report_errors():
            await self._backend.touch(self.paths(key)[0])

    @asynccontextmanager
    async def keep_fresh(self, key: str, every: float) -> AsyncIterator[None]:
        """Touch an object again and again while the body runs: others see that it is in use."""

        async def touch() -> None:
            while True:
                await asyncio.sleep(every)
                with suppress(ApplicationError):
                    await self.touch(key)

        async with run_beside(touch()):
            yield

    async def probe(self, size: int) -> None:
        """Raise the error that a write of this size would raise, where that can be known."""
        with self._report_errors():
            await self._backend.probe(size)

    async def find_damage(self) -> AsyncIterator[tuple[str, str]]:
        """Every object by its path, with what is wrong with it; an empty text where nothing is."""
        with self._report_errors():
            for path in sorted(await self._backend.list("")):
                stored = await self._backend.read(path)
                if stored is not None:
                    yield path, self._describe_damage(path, stored)

    def _describe_damage(self, path: str, stored: bytes) -> str:
        if path.startswith(f"{DAMAGED_FOLDER}/"):
            return "it was set aside as damaged; delete it when it is of no more use"
        if path.startswith(f"{PAYLOADS_FOLDER}/"):
            matches = hashlib.sha256(stored).hexdigest() == path.rpartition("/")[2]
            return "" if matches else "it does not match its hash; restore it from a backup"
        try:
            data = self._unpack(path, stored, path)
            if self._keyring is None:
                self._check_name(path, data)
        except ApplicationError as error:
            return error.message
        return ""

    async def list(self, folder: str) -> list[str]:
        """The paths of all objects in a folder, sorted; with a keyring, as HMACs."""
        found: list[str] = []
        with self._report_errors():
            for path in self.paths(folder):
                found += await self._backend.list(path)
        return sorted(found)

    async def ages(self, folder: str, reference: str = "") -> dict[str, float]:
        """By how many seconds each object in a folder is older than the reference, or than the
        newest of them.

        Times are those of the store's clock, which is the same for every worker.
        """
        with self._report_errors():
            written = await self._backend.list(self.paths(folder)[0])
            now = await self._backend.find(self.paths(reference)[0]) if reference else None
        times = {path: found.at for path, found in written.items()}
        newest = now.at if now else max(times.values(), default=0.0)
        return {path: newest - at for path, at in times.items()}

    async def delete(self, key: str) -> None:
        with self._report_errors():
            for path in self.paths(key):
                await self._backend.delete(path)

    # --- objects by path, for retention, deletion and `verify` ------------------------------------

    async def inventory(self, folder: str = "") -> dict[str, StoredObject]:
        with self._report_errors():
            return await self._backend.list(folder)

    async def find(self, path: str) -> StoredObject | None:
        with self._report_errors():
            return await self._backend.find(path)

    async def read(self, path: str) -> bytes | None:
        """The object at a path; None where there is none, or it cannot be read."""
        with self._report_errors():
            stored = await self._backend.read(path)
        try:
            return None if stored is None else self._unpack(path, stored, path)
        except ApplicationError:
            return None

    async def remove(self, path: str) -> None:
        with self._report_errors():
            await self._backend.delete(path)

    async def delete_half_written(self, seconds: float) -> None:
        """Delete what killed writers left, where it is older than this."""
        with self._report_errors():
            await self._backend.delete_half_written(seconds)

    async def save(self, folder: str, record: BaseModel) -> str:
        data = record.model_dump_json().encode()
        key = f"{folder}/{hashlib.sha256(data).hexdigest()[:40]}.json"
        await self._save((key, type(record)), key, data, record)
        return key

    async def _save(self, name: Hashable, key: str, data: bytes, value: object) -> None:
        """Write an object that never changes, unless it was written lately."""
        if key not in self._written:
            await self.settle(key, data)
            self._written[key] = None
            self._remember(name, value, len(data))

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
        self._check_name(key, data)
        value = read(data)
        self._remember(name, value, len(data))
        return value

    def _remember(self, name: Hashable, value: object, size: int) -> None:
        if size <= CACHE_BYTES:
            self._cache[name] = value, size

    # --- snapshots: the text of a source, under its hash ----------------------------------------

    async def keep_text(self, sha256: str, text: str) -> None:
        await self._save(sha256, f"texts/{sha256}", text.encode(), text)

    async def text(self, sha256: str) -> str | None:
        return await self._load_cached(sha256, f"texts/{sha256}", bytes.decode)

    # --- encryption -----------------------------------------------------------------------------

    def paths(self, key: str) -> tuple[str, ...]:
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

    def _pack(self, path: str, data: bytes) -> bytes:
        """An object as it is stored: with its checksum, and encrypted where there are keys."""
        packed = _CHECKSUM + _checksum(path, data) + data
        if self._keyring is None:
            return packed
        return self._keyring.encrypt(packed, os.urandom(NONCE_BYTES), path.encode())

    def _unpack(self, path: str, stored: bytes, key: str) -> bytes:
        try:
            packed = decrypt_if_encrypted(stored, self._keyring, path.encode())
        except KeyMissingError as error:
            raise ApplicationError(
                f"{key!r} in {self._name} cannot be read: {error}", type=STORAGE
            ) from error
        except EncryptionError as error:
            raise DamagedObject(key, self._name) from error
        start = len(_CHECKSUM) + 64
        data = packed[start:]
        if packed[:start] != _CHECKSUM + _checksum(path, data):
            raise DamagedObject(key, self._name)
        return data

    def _check_name(self, key: str, data: bytes) -> None:
        """What is named by its hash must have it."""
        folder, _, name = key.partition("/")
        digest = hashlib.sha256(data).hexdigest()
        if folder in _NAMED_BY_HASH and not digest.startswith(name.removesuffix(".json")):
            raise DamagedObject(key, self._name)

    async def _set_aside(self, path: str, stored: bytes, damaged: DamagedObject) -> None:
        _logger.warning("%s; it is made anew, the damaged one is kept aside", damaged.message)
        await self._backend.replace(f"{DAMAGED_FOLDER}/{path}", stored)
        await self._backend.delete(path)

    # --- errors ---------------------------------------------------------------------------------

    @contextmanager
    def _report_errors(self) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError) as error:
            # The first line is the message; what follows is the library's own dump.
            text = error.strerror if isinstance(error, OSError) else None
            said = ((text or str(error)).splitlines() or [type(error).__name__])[0]
            raise ApplicationError(
                f"{self._name} cannot be used: {said}; {_remedy(error, said)}", type=STORAGE
            ) from error


def _checksum(path: str, data: bytes) -> bytes:
    return hashlib.sha256(path.encode() + b"\0" + data).hexdigest().encode()


def _remedy(error: Exception, said: str) -> str:
    if "No space left" in said or "quota" in said.lower():
        return "its disk is full: make room there"
    if isinstance(error, PermissionDeniedError | UnauthenticatedError | PermissionError) or (
        "ermission denied" in said or "Read-only" in said
    ):
        return "let the workers read and write there, with valid credentials"
    if isinstance(error, ABSENT) or "Not a directory" in said:
        return "bring the folder or bucket back, or set RESEARCH_STORE to where it is"
    return "see that RESEARCH_STORE can be reached from all workers"
