"""Where large payloads live: in the store, under their hash, while history keeps a reference.

What lies in the store is never changed, so two workers that put the same payload at once put the
same thing. Whoever reads a history needs the same store: workers, the console, replay in tests.

A payload comes here as the codec leaves it: where there are keys, sealed, and its name is the hash
of what is sealed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Sequence

import obstore
from google.protobuf import json_format
from obstore.exceptions import AlreadyExistsError
from temporalio.api.common.v1 import Payload
from temporalio.api.sdk.v1.external_storage_pb2 import ExternalStorageReference
from temporalio.converter import (
    ExternalStorage,
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
)

from console.client.checkpoints import open_store

THRESHOLD = 64 * 1024
DRIVER = "research-store"


def external_storage(store: str) -> ExternalStorage:
    """Payloads of 64 KB and more go to `store`: a folder, or a URL (s3://, gs://, az://, file://)."""
    return ExternalStorage(drivers=[StoreDriver(store)], payload_size_threshold=THRESHOLD)


def claim_of(payload: Payload) -> StorageDriverClaim | None:
    """Where the payload lies that this one refers to; None where it stands for itself."""
    kind = ExternalStorageReference.DESCRIPTOR.full_name.encode()
    if payload.metadata.get("messageType") != kind:
        return None
    reference = ExternalStorageReference()
    json_format.Parse(payload.data, reference)
    return StorageDriverClaim(claim_data=dict(reference.claim_data))


class StoreDriver(StorageDriver):
    """Puts payloads into an object store by content and gets them back unharmed."""

    def __init__(self, store: str) -> None:
        self._place = store
        self._store = open_store(store)

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
        # Deterministic: metadata is a map, and one payload must not get two names.
        content = payload.SerializeToString(deterministic=True)
        digest = hashlib.sha256(content).hexdigest()
        with contextlib.suppress(AlreadyExistsError):
            await obstore.put_async(self._store, _key(digest), content, mode="create")
        return StorageDriverClaim(claim_data={"sha256": digest})

    async def _get(self, claim: StorageDriverClaim) -> Payload:
        digest = claim.claim_data["sha256"]
        try:
            found = await obstore.get_async(self._store, _key(digest))
        except FileNotFoundError as error:
            raise RuntimeError(
                f"A payload of this job is not in the store {self._place}: set RESEARCH_STORE to"
                f" the store the job was started with (missing: {_key(digest)})."
            ) from error
        content = bytes(await found.bytes_async())
        if hashlib.sha256(content).hexdigest() != digest:
            raise RuntimeError(
                f"The stored payload {_key(digest)} in {self._place} was changed: restore it from"
                " a backup of the store."
            )
        return Payload.FromString(content)


def _key(digest: str) -> str:
    return f"payloads/{digest[:2]}/{digest}"
