"""What only holders of the keys can read: every payload and failure the server is given.

`RESEARCH_KEYS` names a file with keys; the server never sees them. Where it is set, each payload
(arguments, results, memos, summaries, heartbeats, messages and traces of failures) is sealed before
it leaves this process, and so before a large one goes to the store. Search attributes, job ids and
the types of failures are not payloads: nothing confidential belongs there. What lies with a worker
(the corpus, its index under RESEARCH_HOME) and the report that is written out stay as they are.

    python -m console.confidential new FILE       makes a file with a first key
    python -m console.confidential add FILE       adds a key; give the file to all workers, then
    python -m console.confidential use FILE ID    makes it the current one; restart them
"""

from __future__ import annotations

import argparse
import base64
import json
import logging
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from google.protobuf.message import DecodeError
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

from activities.storage.encryption import (
    KEY_BYTES,
    MAKE,
    NONCE_BYTES,
    EncryptionError,
    Keyring,
    decrypt_if_encrypted,
)
from console.faults import BadInputError, ConsoleError
from workflows.config.settings import Settings

ENCODING = b"binary/encrypted"
KEY_ID = "encryption-key-id"

_log = logging.getLogger(__name__)
_warned: set[Path] = set()


class Codec(PayloadCodec):
    """Seals payloads with the current key. Without keys it leaves them as they are, and says which
    key is missing where it meets sealed ones."""

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
        return [self._opened(payload) for payload in payloads]

    def _opened(self, payload: Payload) -> Payload:
        # What was written before there were keys stays readable.
        if payload.metadata.get("encoding") != ENCODING:
            return payload
        try:
            return Payload.FromString(decrypt_if_encrypted(payload.data, self._keyring))
        except (EncryptionError, DecodeError) as error:
            raise ConsoleError(f"A payload of this job cannot be read: {error}.") from error


def keyring(settings: Settings) -> Keyring | None:
    """The keys of the file the settings name; None where they name none."""
    if settings.keys is None:
        return None
    file = Path(settings.keys)
    try:
        ring = Keyring.parse(file.read_text("utf-8"), str(file))
        mode = file.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"The keys file {file} cannot be read: correct RESEARCH_KEYS, or make one with"
            f" `{MAKE}` ({error})."
        ) from error
    except EncryptionError as error:
        raise BadInputError(f"RESEARCH_KEYS: {error}.") from error
    if mode & 0o077 and file not in _warned:
        _warned.add(file)
        _log.warning("The keys file %s can be read by others: `chmod 600` it.", file)
    return ring


# --- the keys file --------------------------------------------------------------------------------


def make(file: Path) -> str:
    """A new file with one key; its id."""
    key_id = _fresh_id(())
    told = {"current": key_id, "keys": {key_id: _word()}, "names": _word()}
    try:
        _write(file, told)
    except FileExistsError as error:
        raise BadInputError(
            f"The file {file} is there already: `add` puts another key to it; whoever replaces it"
            " loses what was sealed with its keys."
        ) from error
    return key_id


def add(file: Path) -> str:
    """Another key, not in use yet; its id."""
    told = _told(file)
    key_id = _fresh_id(tuple(told["keys"]))
    _replace(file, {**told, "keys": {**told["keys"], key_id: _word()}})
    return key_id


def use(file: Path, key_id: str) -> str:
    """Make a key of the file the current one."""
    told = _told(file)
    if key_id not in told["keys"]:
        raise BadInputError(f"The file {file} has no key {key_id!r}: {', '.join(told['keys'])}.")
    _replace(file, {**told, "current": key_id})
    return key_id


def _told(file: Path) -> dict[str, dict[str, str]]:
    keyring(Settings(store="", keys=str(file)))  # raises where it is none
    told: dict[str, dict[str, str]] = json.loads(file.read_text("utf-8"))
    return told


def _replace(file: Path, told: object) -> None:
    beside = file.with_name(f"{file.name}.{os.getpid()}.new")
    _write(beside, told)
    beside.replace(file)


def _write(file: Path, told: object) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as output:
        output.write(json.dumps(told, indent=2) + "\n")


def _fresh_id(taken: Sequence[str]) -> str:
    month = f"{datetime.now(UTC):%Y-%m}"
    n = 1
    while (key_id := month if n == 1 else f"{month}.{n}") in taken:
        n += 1
    return key_id


def _word() -> str:
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m console.confidential", description="Keep the file RESEARCH_KEYS names."
    )
    doing = parser.add_subparsers(dest="doing", required=True)
    for name, says in (
        ("new", "make a file with a first key"),
        ("add", "add a key, not in use yet: give the file to all workers first"),
        ("use", "make a key of the file the current one, then restart the workers"),
    ):
        command = doing.add_parser(name, help=says)
        command.add_argument("file", type=Path)
        if name == "use":
            command.add_argument("key")
    asked = parser.parse_args(arguments)
    try:
        if asked.doing == "new":
            print(f"{asked.file} holds the key {make(asked.file)}: set RESEARCH_KEYS={asked.file}")
        elif asked.doing == "add":
            key_id = add(asked.file)
            print(f"{asked.file} holds the key {key_id} too: when all workers have it, `use` it")
        else:
            print(f"{asked.file} seals with {use(asked.file, asked.key)} from now on")
    except (ConsoleError, OSError) as error:
        print(error, file=sys.stderr)
        return BadInputError.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
