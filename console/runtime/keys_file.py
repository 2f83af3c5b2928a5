"""Create the file of encryption keys that RESEARCH_KEYS names, and rotate its keys.

python -m console.runtime.keys_file new FILE       create a file with a first key
python -m console.runtime.keys_file add FILE       add a key; copy the file to all workers, then
python -m console.runtime.keys_file use FILE ID    make it the current key; restart the workers
python -m console.runtime.keys_file destroy FILE ID   remove an earlier key, for ever
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import typer

from activities.storage.encryption import KEY_BYTES
from console.errors import BadInputError, ConsoleError
from console.runtime.data_converter import load_keyring
from workflows.config.settings import Settings

app = typer.Typer(help="Create and rotate the encryption keys of RESEARCH_KEYS.")


@app.command("new")
def create_file(file: Path) -> str:
    """Create a file with a first key."""
    key_id = _new_id(())
    content = {"current": key_id, "keys": {key_id: _new_key()}, "names": _new_key()}
    try:
        _write(file, content)
    except FileExistsError as error:
        raise BadInputError(
            f"The file {file} exists: `add` adds a key to it. Replacing it would make everything"
            " encrypted with its keys unreadable."
        ) from error
    print(f"{file} holds the key {key_id}: set RESEARCH_KEYS={file}")
    return key_id


@app.command("add")
def add_key(file: Path) -> str:
    """Add a key that is not in use yet: copy the file to all workers first."""
    content = _read(file)
    key_id = _new_id(tuple(content["keys"]))
    _replace(file, {**content, "keys": {**content["keys"], key_id: _new_key()}})
    print(f"{file} also holds the key {key_id}: when all workers have it, `use` it")
    return key_id


@app.command("use")
def use_key(file: Path, key_id: str) -> None:
    """Make a key of the file the current one, then restart the workers."""
    content = _read(file)
    if key_id not in content["keys"]:
        known = ", ".join(content["keys"])
        raise BadInputError(f"The file {file} has no key {key_id!r}, only {known}.")
    _replace(file, {**content, "current": key_id})
    print(f"{file} encrypts with {key_id} from now on")


@app.command("destroy")
def destroy_key(file: Path, key_id: str) -> None:
    """Remove an earlier key: what it encrypted can be read by nobody, in backups neither."""
    content = _read(file)
    if key_id not in content["keys"] or key_id == str(content["current"]):
        raise BadInputError(
            f"{key_id!r} is no earlier key of {file}: `add` another one and `use` it first."
        )
    _replace(file, {**content, "keys": {k: v for k, v in content["keys"].items() if k != key_id}})
    print(f"{file} does not hold {key_id} any more: replace all other copies of the file by it")


def _read(file: Path) -> dict[str, dict[str, str]]:
    load_keyring(Settings(store="", keys=str(file)))  # raises if it is not a keys file
    content: dict[str, dict[str, str]] = json.loads(file.read_text("utf-8"))
    return content


def _replace(file: Path, content: object) -> None:
    draft = file.with_name(f"{file.name}.{os.getpid()}.new")
    _write(draft, content)
    draft.replace(file)


def _write(file: Path, content: object) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as output:
        output.write(json.dumps(content, indent=2) + "\n")


def _new_id(taken: Sequence[str]) -> str:
    month = f"{datetime.now(UTC):%Y-%m}"
    n = 1
    while (key_id := month if n == 1 else f"{month}.{n}") in taken:
        n += 1
    return key_id


def _new_key() -> str:
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        app(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except (ConsoleError, OSError) as error:
        typer.echo(str(error), err=True)
        return BadInputError.code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
