"""What must outlive a process, in a folder or a bucket (see `objects`).

Records are content-addressed: the same thing saved twice is one object, a reference is good on any
worker, and what was read once need not be fetched again. `put_new` is create-if-absent, which is
all the locking the journal needs.

With a keyring every object is encrypted and bound to its key, and names that would tell something
become HMACs: the hash of a short text can be guessed, the id of a facet can be read. The kind of an
object, the id of the job and the names of checkpoints and control messages stay readable.

What goes wrong here is an error of type `storage`: asked again a few times, then an operator's.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from pydantic import BaseModel
from temporalio.exceptions import ApplicationError

from activities.storage.backends import ABSENT, Objects, open_objects
from activities.storage.cache import Recent
from activities.storage.encryption import NONCE_BYTES, CipherError, Keyring, opened

T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")
STORAGE = "storage"
# How many leading parts of a key stay clear: the kind, and the job where it comes next.
_CLEAR = {
    "checkpoints": 99, "fleet": 99, "control": 99, "templates": 2, "journal": 2, "threads": 2,
}  # fmt: skip


class Missing(ApplicationError):
    """The store has nothing under a key it was expected to hold."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"the store holds no {key!r}; do all workers use the same RESEARCH_STORE?",
            type=STORAGE,
        )


class Store:
    def __init__(
        self, objects: Objects, name: str = "the store", keyring: Keyring | None = None
    ) -> None:
        self._objects = objects
        self._name = name
        self._keyring = keyring
        self._recent = Recent()

    @classmethod
    def open(cls, url: str, keyring: Keyring | None = None) -> Store:
        """A URL (s3://, gs://, az://, file://), or the path of a folder, which is made."""
        return cls(open_objects(url), url, keyring)

    async def put_new(self, key: str, data: bytes) -> bool:
        """False where something stands under the key already; it stays as it was."""
        place, *before = self._places(key)
        with self._faults():
            for old in before:
                if await self._objects.read(old) is not None:
                    return False
            return await self._objects.create(place, self._sealed(key, data))

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
            await self._objects.replace(self._places(key)[0], self._sealed(key, data))

    async def get(self, key: str) -> bytes | None:
        with self._faults():
            for place in self._places(key):
                data = await self._objects.read(place)
                if data is not None:
                    return self._opened(key, data)
        return None

    async def list(self, folder: str) -> list[str]:
        """What lies in a folder, in order, veiled where it is; none where there is no such."""
        found: list[str] = []
        with self._faults():
            for place in self._places(folder):
                found += await self._objects.written(place)
        return sorted(found)

    async def ages(self, folder: str, reference: str) -> dict[str, float]:
        """By how many seconds each thing in a folder is older than the reference among them.

        Told by the store's own clock, which is the same for every worker.
        """
        with self._faults():
            written = await self._objects.written(folder)
        now = written.get(reference, max(written.values(), default=0.0))
        return {path: now - at for path, at in written.items()}

    async def delete(self, key: str) -> None:
        with self._faults():
            for place in self._places(key):
                await self._objects.delete(place)

    async def save(self, folder: str, record: BaseModel) -> str:
        data = record.model_dump_json().encode()
        key = f"{folder}/{hashlib.sha256(data).hexdigest()[:40]}.json"
        await self.put_new(key, data)
        self._recent.remember((key, type(record)), record, len(data))
        return key

    async def load(self, key: str, kind: type[T]) -> T:
        """A record that was saved, by its content's key."""
        record = await self._recalled((key, kind), key, kind.model_validate_json)
        if record is None:
            raise Missing(key)
        return record

    async def _recalled(self, name: Hashable, key: str, read: Callable[[bytes], V]) -> V | None:
        """What lies under a key and never changes, fetched once."""
        known: V | None = self._recent.recall(name)
        if known is None and (data := await self.get(key)) is not None:
            known = read(data)
            self._recent.remember(name, known, len(data))
        return known

    # --- snapshots: the text of a source, under its hash ----------------------------------------

    async def keep_text(self, sha256: str, text: str) -> None:
        data = text.encode()
        await self.put_new(f"texts/{sha256}", data)
        self._recent.remember(sha256, text, len(data))

    async def text(self, sha256: str) -> str | None:
        return await self._recalled(sha256, f"texts/{sha256}", bytes.decode)

    # --- confidentiality ------------------------------------------------------------------------

    def _places(self, key: str) -> tuple[str, ...]:
        """Where a thing is kept, and after that where it was kept before there were keys."""
        if self._keyring is None:
            return (key,)
        parts = key.split("/")
        clear = _CLEAR.get(parts[0], 1)
        if len(parts) <= clear:
            return (key,)
        # Each part is veiled together with those before it: a folder stays a folder.
        veiled = [self._keyring.veil("/".join(parts[: n + 1])) for n in range(clear, len(parts))]
        return "/".join([*parts[:clear], *veiled]), key

    def _sealed(self, key: str, data: bytes) -> bytes:
        if self._keyring is None:
            return data
        return self._keyring.seal(data, os.urandom(NONCE_BYTES), key.encode())

    def _opened(self, key: str, data: bytes) -> bytes:
        try:
            return opened(data, self._keyring, key.encode())
        except CipherError as error:
            raise ApplicationError(
                f"{key!r} in {self._name} cannot be read: {error}", type=STORAGE
            ) from error

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
    if isinstance(error, ABSENT) or "Not a directory" in said:
        return "bring the folder or bucket back, or set RESEARCH_STORE to where it is"
    return "see that RESEARCH_STORE can be reached from all workers"
