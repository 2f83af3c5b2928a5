"""Keys, and an office where they are set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from activities.storage.encryption import Keyring
from console.runtime.data_converter import load_keyring
from console.runtime.keys_file import create_file
from workflows.config.settings import Settings


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A keys file with one key."""
    file = tmp_path / "keys.json"
    create_file(file)
    return file


@pytest.fixture
def ring(keys: Path) -> Keyring:
    return ring_of(keys)


def ring_of(keys: Path) -> Keyring:
    found = load_keyring(Settings(store="", keys=str(keys)))
    assert found is not None
    return found


def without(keys: Path, key_id: str) -> Path:
    """The same keys but one, in another file; another of them is current there."""
    told = json.loads(keys.read_text())
    del told["keys"][key_id]
    if not told["keys"]:
        told["keys"]["another"] = told["names"]
    told["current"] = next(iter(told["keys"]))
    other = keys.with_name("others.json")
    other.touch(0o600)
    other.write_text(json.dumps(told))
    return other
