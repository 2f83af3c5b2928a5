"""The converter with keys: payloads, failures and what goes to the store are sealed."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError

from console.errors import BadInputError, ConsoleError
from console.runtime.data_converter import (
    ENCODING,
    KEY_ID,
    THRESHOLD,
    EncryptionCodec,
    data_converter,
    load_keyring,
)
from console.runtime.keys_file import add_key, main, use_key
from tests.confidential.conftest import ring_of, without
from workflows.config.settings import Settings

WORDS = "the harbour line carried passengers "


def settings(folder: Path, keys: Path | None) -> Settings:
    return Settings(store=str(folder / "store"), keys=str(keys) if keys else None)


async def test_payloads_are_sealed_and_come_out_with_the_key(tmp_path: Path, keys: Path) -> None:
    converter = data_converter(settings(tmp_path, keys))
    sealed = await converter.encode([WORDS, None, {"a": WORDS}])
    for payload in sealed:
        assert payload.metadata["encoding"] == ENCODING
        assert payload.metadata[KEY_ID].decode() == ring_of(keys).current
        assert WORDS.encode() not in payload.SerializeToString()
    assert await converter.decode(sealed) == [WORDS, None, {"a": WORDS}]


async def test_large_payloads_lie_sealed_in_the_store(tmp_path: Path, keys: Path) -> None:
    converter = data_converter(settings(tmp_path, keys))
    large = WORDS * (THRESHOLD // len(WORDS) + 2)
    [reference] = await converter.encode([large])
    assert reference.ByteSize() < 1000
    (file,) = (path for path in (tmp_path / "store").rglob("*") if path.is_file())
    stored = Payload.FromString(file.read_bytes())
    assert stored.metadata["encoding"] == ENCODING
    assert WORDS.encode() not in file.read_bytes()
    assert await converter.decode([reference]) == [large]


async def test_what_a_failure_says_is_sealed_and_its_causes_too(tmp_path: Path, keys: Path) -> None:
    converter = data_converter(settings(tmp_path, keys))
    failure = Failure()
    try:
        try:
            raise ValueError("the inner harbour")
        except ValueError as inner:
            raise ApplicationError("the outer harbour", WORDS, type="storage") from inner
    except ApplicationError as error:
        await converter.encode_failure(error, failure)
    assert b"harbour" not in failure.SerializeToString()
    assert b"test_codec" not in failure.SerializeToString(), "nor does the trace"
    assert failure.application_failure_info.type == "storage"

    back = await converter.decode_failure(failure)
    assert isinstance(back, ApplicationError)
    assert (back.message, back.details) == ("the outer harbour", (WORDS,))
    assert "the inner harbour" in str(back.cause)


async def test_without_keys_everything_is_written_as_it_ever_was(tmp_path: Path) -> None:
    converter = data_converter(settings(tmp_path, None))
    values = [WORDS, None, {"a": WORDS}, b"bytes"]
    assert await converter.encode(values) == await pydantic_data_converter.encode(values)
    ours, theirs = Failure(), Failure()
    await converter.encode_failure(ApplicationError("said", WORDS), ours)
    await pydantic_data_converter.encode_failure(ApplicationError("said", WORDS), theirs)
    assert ours == theirs


async def test_what_was_written_before_there_were_keys_is_read(tmp_path: Path, keys: Path) -> None:
    plain = await data_converter(settings(tmp_path, None)).encode([WORDS])
    assert await data_converter(settings(tmp_path, keys)).decode(plain) == [WORDS]


async def test_rotation_opens_the_old_and_seals_with_the_new(tmp_path: Path, keys: Path) -> None:
    first = ring_of(keys).current
    old = await EncryptionCodec(ring_of(keys)).encode([Payload(data=b"old")])
    second = add_key(keys)
    assert ring_of(keys).current == first, "added, not used: others may not have it yet"
    use_key(keys, second)

    codec = EncryptionCodec(ring_of(keys))
    [new] = await codec.encode([Payload(data=b"new")])
    assert new.metadata[KEY_ID].decode() == second != first
    assert [p.data for p in await codec.decode([*old, new])] == [b"old", b"new"]
    with pytest.raises(ConsoleError, match=f"'{first}'.*which has {second}"):
        await EncryptionCodec(ring_of(without(keys, first))).decode(old)
    with pytest.raises(ConsoleError, match=f"'{second}'.*RESEARCH_KEYS"):
        await EncryptionCodec(None).decode([new])


def test_no_settings_no_keys(tmp_path: Path) -> None:
    assert load_keyring(settings(tmp_path, None)) is None
    assert Settings.read({"RESEARCH_KEYS": "keys.json"}).keys == "keys.json"


def test_a_keys_file_that_is_not_there_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        BadInputError, match=r"nowhere.json.*RESEARCH_KEYS.*console.runtime.keys_file"
    ):
        load_keyring(settings(tmp_path, tmp_path / "nowhere.json"))
    (tmp_path / "wrong.json").write_text("{}")
    with pytest.raises(BadInputError, match=r"RESEARCH_KEYS: .*wrong.json is no keys file"):
        load_keyring(settings(tmp_path, tmp_path / "wrong.json"))


def test_a_keys_file_others_can_read_is_warned_of_once(
    keys: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        ring_of(keys)
        assert not caplog.records
        keys.chmod(0o640)
        ring_of(keys)
        ring_of(keys)
    (warning,) = caplog.messages
    assert str(keys) in warning
    assert "chmod 600" in warning


def test_keys_are_made_added_and_used_by_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new.json"
    assert main(["new", str(file)]) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    first = ring_of(file)
    assert main(["new", str(file)]) == 2, "a keys file is never replaced"
    assert main(["add", str(file)]) == 0
    [second] = ring_of(file).keys.keys() - first.keys.keys()
    assert main(["use", str(file), "nonsense"]) == 2
    assert main(["use", str(file), second]) == 0
    now = ring_of(file)
    assert (now.current, now.names) == (second, first.names)
    assert now.keys[first.current] == first.keys[first.current]
    assert file.stat().st_mode & 0o777 == 0o600
    said = capsys.readouterr()
    assert f"RESEARCH_KEYS={file}" in said.out
    assert "nonsense" in said.err
