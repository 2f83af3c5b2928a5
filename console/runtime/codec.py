"""The payload codec: encrypts every payload and failure before it leaves the process.

`RESEARCH_KEYS` names a file with AES-GCM keys, which the server never sees. With it, arguments,
results, memos, summaries, heartbeats, and messages and traces of failures are encrypted, and large
payloads are encrypted before they go to the store. Search attributes, job ids and failure types are
not payloads: they must hold nothing confidential. Data on a worker's own disk (the corpus, its
index under RESEARCH_HOME) and the written report are not encrypted.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from google.protobuf.message import DecodeError
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

from activities.storage.encryption import (
    NONCE_BYTES,
    EncryptionError,
    Keyring,
    decrypt_if_encrypted,
)
from console.errors import BadInputError, ConsoleError
from workflows.config.settings import Settings

ENCODING = b"binary/encrypted"
KEY_ID = "encryption-key-id"

_log = logging.getLogger(__name__)
_warned: set[Path] = set()


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
