"""Keys, and what is done with them: bytes are sealed and opened, names are veiled. Pure.

Sealed bytes name the key they were sealed with: `FF "RS" version`, the length of the key's id, the
id, a nonce of 12 bytes, and AES-256-GCM's ciphertext with its tag. The first byte occurs in no
UTF-8 text: what was written before there were keys is not taken for sealed and is read as it is.

New things are sealed with the current key, old ones opened with the key they name: a key goes out
of use by making another one current, and is kept for as long as anything sealed with it is.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12
KEY_BYTES = 32
MAKE = "python -m console.confidential new FILE"

_MAGIC = b"\xffRS\x01"
_LONGEST_ID = 64


class CipherError(ValueError):
    """Something cannot be sealed or opened; the message says what to do."""


class KeyMissingError(CipherError):
    def __init__(self, key_id: str, known: Mapping[str, bytes]) -> None:
        self.key_id = key_id
        remedy = (
            f"add it to the file RESEARCH_KEYS names, which has {', '.join(sorted(known))}"
            if known
            else "set RESEARCH_KEYS to the file that holds it"
        )
        super().__init__(f"this was sealed with the key {key_id!r}: {remedy}")


@dataclass(frozen=True, repr=False)
class Keyring:
    """The keys of one keys file. Printed, it shows none of them."""

    current: str
    keys: Mapping[str, bytes]
    names: bytes
    """The key names are veiled with: never changed, for what a name stands for is found by it."""

    def seal(self, plain: bytes, nonce: bytes, aad: bytes = b"") -> bytes:
        """The bytes under the current key. No nonce may be used twice with a key; `aad` is where
        they belong: they do not open elsewhere."""
        if len(nonce) != NONCE_BYTES:
            raise CipherError(f"a nonce has {NONCE_BYTES} bytes, not {len(nonce)}")
        name = self.current.encode()
        head = _MAGIC + bytes([len(name)]) + name
        return head + nonce + AESGCM(self.keys[self.current]).encrypt(nonce, plain, head + aad)

    def open(self, sealed: bytes, aad: bytes = b"") -> bytes:
        key_id = sealed_with(sealed)
        if key_id is None:
            raise CipherError("this is not sealed")
        if key_id not in self.keys:
            raise KeyMissingError(key_id, self.keys)
        start = len(_MAGIC) + 1 + len(key_id.encode())
        head, nonce = sealed[:start], sealed[start : start + NONCE_BYTES]
        try:
            return AESGCM(self.keys[key_id]).decrypt(
                nonce, sealed[start + NONCE_BYTES :], head + aad
            )
        except (InvalidTag, ValueError) as error:
            raise CipherError(
                f"this does not open with the key {key_id!r}: it was changed, or the key was;"
                " restore it from a backup"
            ) from error

    def veil(self, name: str) -> str:
        """A name that says nothing, the same each time."""
        word = name.encode("utf-8", "surrogatepass")
        return hmac.new(self.names, word, hashlib.sha256).hexdigest()[:40]

    @classmethod
    def parse(cls, text: str, origin: str = "the keys file") -> Keyring:
        """`{"current": ID, "keys": {ID: base64 of 32 bytes, …}, "names": base64 of 32 bytes}`."""
        try:
            told = json.loads(text)
            current, names = told["current"], _key(told["names"])
            keys = {str(key_id): _key(word) for key_id, word in told["keys"].items()}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            # Not the error's own words: they may hold a part of a key.
            lacks = f", it lacks {error}" if isinstance(error, KeyError) else ""
            raise CipherError(
                f"{origin} is no keys file{lacks}: it has `current`, `keys` and `names`, each key"
                f" the base64 of {KEY_BYTES} bytes; `{MAKE}` makes one"
            ) from None
        if current not in keys:
            raise CipherError(
                f"{origin} names {current!r} as the current key and does not hold it: it has"
                f" {', '.join(sorted(keys)) or 'none'}"
            )
        for key_id in keys:
            if not key_id or len(key_id.encode()) > _LONGEST_ID:
                raise CipherError(f"{origin}: a key's id has 1 to {_LONGEST_ID} bytes")
        return cls(current, keys, names)


def sealed_with(data: bytes) -> str | None:
    """The id of the key these bytes were sealed with; None where they are not sealed."""
    if not data.startswith(_MAGIC) or len(data) <= len(_MAGIC):
        return None
    start = len(_MAGIC) + 1
    return data[start : start + data[len(_MAGIC)]].decode("utf-8", "replace")


def is_sealed(data: bytes) -> bool:
    return sealed_with(data) is not None


def opened(data: bytes, keyring: Keyring | None, aad: bytes = b"") -> bytes:
    """The bytes as they were before they were sealed, if they were."""
    key_id = sealed_with(data)
    if key_id is None:
        return data
    if keyring is None:
        raise KeyMissingError(key_id, {})
    return keyring.open(data, aad)


def _key(word: Any) -> bytes:
    try:
        key = base64.b64decode(word, validate=True)
    except binascii.Error:
        raise ValueError from None
    if len(key) != KEY_BYTES:
        raise ValueError
    return key
