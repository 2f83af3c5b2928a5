"""The data converter of clients, workers and replay: pydantic JSON, encryption, external storage.

`RESEARCH_KEYS` names a file with AES-GCM keys, which the server never sees. With it, arguments,
results, memos, summaries, heartbeats, and messages and traces of failures are encrypted, and large
payloads are encrypted before they go to the store. Search attributes, job ids and failure types are
not payloads: they must hold nothing confidential. Data on a worker's own disk (the corpus, its
index under RESEARCH_HOME) and the written report are not encrypted.

Payloads of 64 KB and more live in the store, and histories keep a reference. A payload is stored
under the hash of its content and never changed, so two workers that store the same payload write
the same object. Every reader of a history needs the same store.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from obstore.exceptions import BaseError
from temporalio.api.common.v1 import Payload
from temporalio.api.sdk.v1.external_storage_pb2 import ExternalStorageReference
from temporalio.client import Client
from temporalio.contrib.pydantic import PydanticPayloadConverter, pydantic_data_converter
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverter,
    DefaultFailureConverterWithEncodedAttributes,
    ExternalStorage,
    PayloadCodec,
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
)
from temporalio.exceptions import ApplicationError

from activities.storage.backends import create_or_renew, open_backend
from activities.storage.encryption import (
    NONCE_BYTES,
    EncryptionError,
    Keyring,
    decrypt_if_encrypted,
)
from activities.storage.store import PAYLOADS_FOLDER, Store
from console.errors import BadInputError, ConsoleError
from workflows.config.settings import Settings

ENCODING = b"binary/encrypted"
KEY_ID = "encryption-key-id"

_log = logging.getLogger(__name__)
_warned: set[Path] = set()

THRESHOLD = 64 * 1024
DRIVER = "research-store"


class EncryptionCodec(PayloadCodec):
    """Encrypts with the current key. Without keys it passes plain payloads on, and names the
    missing key of an encrypted one."""

    def __init__(self, keyring: Keyring | None) -> None:
        self._keyring = keyring

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        keyring = self._keyring
        if keyring is None:
            return list(payloads)
        metadata = {"encoding": ENCODING, KEY_ID: keyring.current.encode()}
        return [
            Payload(
                metadata=metadata,
                data=keyring.encrypt(payload.SerializeToString(), os.urandom(NONCE_BYTES)),
            )
            for payload in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [self._decrypt(payload) for payload in payloads]

    def _decrypt(self, payload: Payload) -> Payload:
        # Payloads from before encryption was turned on stay readable.
        if payload.metadata.get("encoding") != ENCODING:
            return payload
        try:
            return Payload.FromString(decrypt_if_encrypted(payload.data, self._keyring))
        except (EncryptionError, DecodeError) as error:
            raise ConsoleError(f"A payload of this job cannot be read: {error}.") from error


def load_keyring(settings: Settings) -> Keyring | None:
    """The keys of the file that RESEARCH_KEYS names; None if it is not set."""
    if settings.keys is None:
        return None
    file = Path(settings.keys)
    try:
        keyring = Keyring.parse(file.read_text("utf-8"), str(file))
        mode = file.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"The keys file {file} cannot be read: correct RESEARCH_KEYS, or create one with"
            f" `python -m console.runtime.keys_file new FILE` ({error})."
        ) from error
    except EncryptionError as error:
        raise BadInputError(f"RESEARCH_KEYS: {error}.") from error
    if mode & 0o077 and file not in _warned:
        _warned.add(file)
        _log.warning("The keys file %s can be read by others: `chmod 600` it.", file)
    return keyring


def store_of(client: Client) -> Store:
    """The store that a client of `connect` reads large payloads from; reports are there too."""
    storage = client.data_converter.external_storage
    drivers = storage.drivers if storage else ()
    return next(driver.objects for driver in drivers if isinstance(driver, StoreDriver))


@contextmanager
def explain_store_errors(what: str) -> Iterator[None]:
    """Raise errors of the store as `ConsoleError`; `what` says what was not done."""
    try:
        yield
    except ApplicationError as error:
        raise ConsoleError(f"{what}: {error.message}.") from error
    except (BaseError, OSError) as error:
        raise ConsoleError(f"{what} ({str(error).splitlines()[0][:200]}).") from error


def read_claim(payload: Payload) -> StorageDriverClaim | None:
    """The claim of a payload that is a reference; None for any other payload."""
    kind = ExternalStorageReference.DESCRIPTOR.full_name.encode()
    if payload.metadata.get("messageType") != kind:
        return None
    reference = ExternalStorageReference()
    json_format.Parse(payload.data, reference)
    return StorageDriverClaim(claim_data=dict(reference.claim_data))


class StoreDriver(StorageDriver):
    """Stores payloads in an object store by hash, and verifies the hash when it reads them."""

    def __init__(self, location: str, keyring: Keyring | None = None) -> None:
        self._location = location
        self._backend = open_backend(location)
        self.objects = Store(self._backend, location, keyring)

    def name(self) -> str:
        return DRIVER

    async def store(
        self, context: StorageDriverStoreContext, payloads: Sequence[Payload]
    ) -> list[StorageDriverClaim]:
        return list(await asyncio.gather(*(self._put(payload) for payload in payloads)))

    async def retrieve(
        self, context: StorageDriverRetrieveContext, claims: Sequence[StorageDriverClaim]
    ) -> list[Payload]:
        return list(await asyncio.gather(*(self._get(claim) for claim in claims)))

    async def _put(self, payload: Payload) -> StorageDriverClaim:
        # Deterministic: metadata is a map, and its order must not change the hash.
        content = payload.SerializeToString(deterministic=True)
        digest = hashlib.sha256(content).hexdigest()
        await create_or_renew(self._backend, _key(digest), content)
        return StorageDriverClaim(claim_data={"sha256": digest})

    async def _get(self, claim: StorageDriverClaim) -> Payload:
        digest = claim.claim_data["sha256"]
        content = await self._backend.read(_key(digest))
        if content is None:
            raise RuntimeError(
                f"A payload of this job is not in the store {self._location}: set RESEARCH_STORE to"
                f" the store the job was started with (missing: {_key(digest)})."
            )
        if hashlib.sha256(content).hexdigest() != digest:
            raise RuntimeError(
                f"The stored payload {_key(digest)} in {self._location} was changed: restore it"
                " from a backup of the store."
            )
        return Payload.FromString(content)


def _key(digest: str) -> str:
    return f"{PAYLOADS_FOLDER}/{digest[:2]}/{digest}"


class SharedConverter(PydanticPayloadConverter):
    """A singleton, because Temporal creates a converter for every payload that may go to the store,
    and each new one would build the pydantic adapters of all types again.
    """

    _one: ClassVar[SharedConverter | None] = None

    def __new__(cls) -> SharedConverter:
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one

    def __init__(self) -> None:
        if not hasattr(self, "converters"):
            super().__init__()


def data_converter(settings: Settings) -> DataConverter:
    """The data converter of clients, workers and replay.

    With keys, the messages and traces of failures are encrypted too.
    """
    keys = load_keyring(settings)
    return dataclasses.replace(
        pydantic_data_converter,
        payload_converter_class=SharedConverter,
        payload_codec=EncryptionCodec(keys),
        failure_converter_class=(
            DefaultFailureConverterWithEncodedAttributes if keys else DefaultFailureConverter
        ),
        external_storage=ExternalStorage(
            drivers=[StoreDriver(settings.store, keys)], payload_size_threshold=THRESHOLD
        ),
    )
