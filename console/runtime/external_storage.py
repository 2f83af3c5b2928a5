"""Temporal's external storage: large payloads live in the store, histories keep a reference.

A payload is stored under the hash of its content and never changed, so two workers that store the
same payload write the same object. Every reader of a history needs the same store: workers, the
console, and replay in tests. The codec runs first: with encryption keys, payloads arrive encrypted.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence

from google.protobuf import json_format
from temporalio.api.common.v1 import Payload
from temporalio.api.sdk.v1.external_storage_pb2 import ExternalStorageReference
from temporalio.client import Client
from temporalio.converter import (
    ExternalStorage,
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
)

from activities.storage.backends import open_backend
from activities.storage.encryption import Keyring
from activities.storage.store import PAYLOADS_FOLDER, Store

THRESHOLD = 64 * 1024
DRIVER = "research-store"


def external_storage(location: str, keyring: Keyring | None = None) -> ExternalStorage:
    """Payloads of 64 KB and more go to a folder, or a URL (s3://, gs://, az://, file://)."""
    driver = StoreDriver(location, keyring)
    return ExternalStorage(drivers=[driver], payload_size_threshold=THRESHOLD)


def store_of(client: Client) -> Store:
    """The store that a client of `connect` reads large payloads from; reports are there too."""
    storage = client.data_converter.external_storage
    drivers = storage.drivers if storage else ()
    return next(driver.objects for driver in drivers if isinstance(driver, StoreDriver))


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
        await self._backend.create(_key(digest), content)
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
