"""Sealing: what goes in comes out with the key it names, and in no other way."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from temporalio.exceptions import ApplicationError

from activities.storage.encryption import (
    EncryptionError,
    KeyMissingError,
    Keyring,
    decrypt_if_encrypted,
    key_id_of,
)
from activities.storage.store import Store
from console.errors import BadInputError
from console.runtime.keys_file import add_key, destroy_key, use_key
from tests.confidential.conftest import ring_of

NONCE = bytes(range(12))


def ring(current: str = "2026-05", *ids: str) -> Keyring:
    keys = {key_id: key_id.encode().ljust(32, b".") for key_id in (current, *ids)}
    return Keyring(current, keys, b"n" * 32)


@settings(max_examples=50)
@given(st.binary(max_size=500), st.binary(max_size=40))
def test_what_was_sealed_comes_out_as_it_was(plain: bytes, aad: bytes) -> None:
    sealed = ring().encrypt(plain, os.urandom(12), aad)
    assert key_id_of(sealed) == "2026-05"
    assert ring().decrypt(sealed, aad) == plain
    assert len(plain) < 8 or plain not in sealed


@settings(max_examples=50)
@given(st.text(max_size=200))
def test_no_text_is_taken_for_sealed(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    assert key_id_of(data) is None
    assert decrypt_if_encrypted(data, None) == data


def test_new_things_get_the_current_key_and_old_ones_open_with_theirs() -> None:
    old = ring("2026-05").encrypt(b"old", NONCE)
    rotated = ring("2026-11", "2026-05")
    new = rotated.encrypt(b"new", NONCE)
    assert (rotated.decrypt(old), rotated.decrypt(new)) == (b"old", b"new")
    assert (key_id_of(old), key_id_of(new)) == ("2026-05", "2026-11")


def test_a_missing_key_is_named() -> None:
    sealed = ring("2026-11").encrypt(b"x", NONCE)
    with pytest.raises(KeyMissingError, match=r"'2026-11'.*RESEARCH_KEYS.*which has 2026-05"):
        ring("2026-05").decrypt(sealed)
    with pytest.raises(KeyMissingError, match=r"'2026-11'.*set RESEARCH_KEYS to the file"):
        decrypt_if_encrypted(sealed, None)


@pytest.mark.parametrize("at", [5, 8, 14, 30, -1])
def test_changed_bytes_do_not_open(at: int) -> None:
    sealed = bytearray(ring().encrypt(b"a sentence", NONCE, b"here"))
    sealed[at] ^= 1
    with pytest.raises(EncryptionError):
        ring().decrypt(bytes(sealed), b"here")


def test_what_belongs_in_one_place_does_not_open_in_another() -> None:
    sealed = ring().encrypt(b"x", NONCE, b"journal/a")
    with pytest.raises(EncryptionError, match="does not open"):
        ring().decrypt(sealed, b"journal/b")
    with pytest.raises(EncryptionError, match="does not open"):
        ring().decrypt(sealed[:20], b"journal/a")


def test_a_hashed_name_is_the_same_after_a_rotation_and_another_with_other_keys() -> None:
    assert ring("2026-05").hash_name("facet") == ring("2026-11", "2026-05").hash_name("facet")
    stranger = Keyring("2026-05", ring().keys, b"m" * 32)
    assert stranger.hash_name("facet") != ring().hash_name("facet")
    assert "facet" not in ring().hash_name("facet")


def test_a_keyring_does_not_show_its_keys() -> None:
    assert "2026" not in repr(ring())


WORD = base64.b64encode(b"k" * 32).decode()


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("{", "is no keys file"),
        ([], "is no keys file"),
        ({"current": "a", "keys": {"a": WORD}}, "lacks 'names'"),
        ({"current": "a", "keys": {"a": "c2hvcnQ="}, "names": WORD}, "base64 of 32 bytes"),
        ({"current": "a", "keys": {"a": "not base64!"}, "names": WORD}, "base64 of 32 bytes"),
        ({"current": "b", "keys": {"a": WORD}, "names": WORD}, "'b' as the current key"),
        ({"current": "", "keys": {"": WORD}, "names": WORD}, "1 to 64 bytes"),
    ],
)
def test_a_wrong_keys_file_says_what_is_wrong_and_shows_no_key(told: Any, said: str) -> None:
    text = told if isinstance(told, str) else json.dumps(told)
    with pytest.raises(EncryptionError, match=said) as raised:
        Keyring.parse(text, "keys.json")
    assert "keys.json" in str(raised.value)
    assert WORD not in str(raised.value)
    assert "c2hvcnQ" not in str(raised.value)


async def test_what_a_destroyed_key_encrypted_can_be_read_by_nobody(
    keys: Path, tmp_path: Path
) -> None:
    first = ring_of(keys).current
    await Store.open(str(tmp_path / "store"), ring_of(keys)).replace("texts/a", b"earlier")
    with pytest.raises(BadInputError, match="no earlier key"):
        destroy_key(keys, first)
    use_key(keys, add_key(keys))
    later = Store.open(str(tmp_path / "store"), ring_of(keys))
    await later.replace("texts/b", b"later")
    assert await later.get("texts/a") == b"earlier"
    destroy_key(keys, first)
    store = Store.open(str(tmp_path / "store"), ring_of(keys))
    assert await store.get("texts/b") == b"later"
    with pytest.raises(ApplicationError, match=re.escape(repr(first))):
        await store.get("texts/a")
