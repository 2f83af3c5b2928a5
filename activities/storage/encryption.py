"""The keyring: encrypts and decrypts bytes, and replaces names by HMACs. No I/O.

Encrypted bytes name their key: `FF "RS" version`, the length of the key's id, the id, a nonce of 12
bytes, and AES-256-GCM's ciphertext with its tag. The first byte occurs in no UTF-8 text, so that
what was written before there were keys is read as it is.

New objects are encrypted with the current key, old ones decrypted with the key they name. To rotate
keys, make another one current and keep the old one as long as anything is encrypted with it.
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


class EncryptionError(ValueError):
    """Something cannot be encrypted or decrypted; the message says what to do."""


class KeyMissingError(EncryptionError):
    def __init__(self, key_id: str, known: Mapping[str, bytes]) -> None:
        self.key_id = key_id
        remedy = (
            f"add it to the file RESEARCH_KEYS names, which has {', '.join(sorted(known))}"
            if known
            else "set RESEARCH_KEYS to the file that holds it"
        )
        super().__init__(f"this is encrypted with the key {key_id!r}: {remedy}")


@dataclass(frozen=True, repr=False)
class Keyring:
    """The keys of one keys file. Its `repr` shows none of them."""

    current: str
    keys: Mapping[str, bytes]
    names: bytes
    """The HMAC key of names. It never changes: objects are found by their hashed names."""

    def encrypt(self, plain: bytes, nonce: bytes, aad: bytes = b"") -> bytes:
        """Encrypt with the current key. A nonce must not be used twice with a key. `aad` is where
        the bytes belong: they cannot be decrypted elsewhere."""
        if len(nonce) != NONCE_BYTES:
            raise EncryptionError(f"a nonce has {NONCE_BYTES} bytes, not {len(nonce)}")
        name = self.current.encode()
        head = _MAGIC + bytes([len(name)]) + name
        return head + nonce + AESGCM(self.keys[self.current]).encrypt(nonce, plain, head + aad)

    def decrypt(self, encrypted: bytes, aad: bytes = b"") -> bytes:
        key_id = key_id_of(encrypted)
        if key_id is None:
            raise EncryptionError("this is not encrypted")
        if key_id not in self.keys:
            raise KeyMissingError(key_id, self.keys)
        start = len(_MAGIC) + 1 + len(key_id.encode())
        head, nonce = encrypted[:start], encrypted[start : start + NONCE_BYTES]
        try:
            return AESGCM(self.keys[key_id]).decrypt(
                nonce, encrypted[start + NONCE_BYTES :], head + aad
            )
        except (InvalidTag, ValueError) as error:
            raise EncryptionError(
                f"this does not open with the key {key_id!r}: it was changed, or the key was;"
                " restore it from a backup"
            ) from error

    def hash_name(self, name: str) -> str:
        """The HMAC of a name, the same each time."""
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
            raise EncryptionError(
                f"{origin} is no keys file{lacks}: it has `current`, `keys` and `names`, each key"
                f" the base64 of {KEY_BYTES} bytes; `{MAKE}` makes one"
            ) from None
        if current not in keys:
            raise EncryptionError(
                f"{origin} names {current!r} as the current key and does not hold it: it has"
                f" {', '.join(sorted(keys)) or 'none'}"
            )
        for key_id in keys:
            if not key_id or len(key_id.encode()) > _LONGEST_ID:
                raise EncryptionError(f"{origin}: a key's id has 1 to {_LONGEST_ID} bytes")
        return cls(current, keys, names)


def key_id_of(data: bytes) -> str | None:
    """The id of the key these bytes are encrypted with; None where they are not encrypted."""
    if not data.startswith(_MAGIC) or len(data) <= len(_MAGIC):
        return None
    start = len(_MAGIC) + 1
    return data[start : start + data[len(_MAGIC)]].decode("utf-8", "replace")


def decrypt_if_encrypted(data: bytes, keyring: Keyring | None, aad: bytes = b"") -> bytes:
    """The plain bytes, whether they are encrypted or not."""
    key_id = key_id_of(data)
    if key_id is None:
        return data
    if keyring is None:
        raise KeyMissingError(key_id, {})
    return keyring.decrypt(data, aad)


def _key(word: Any) -> bytes:
    try:
        key = base64.b64decode(word, validate=True)
    except binascii.Error:
        raise ValueError from None
    if len(key) != KEY_BYTES:
        raise ValueError
    return key
