"""Large payloads live in the store, unharmed; history keeps a reference."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.converter import StorageDriverRetrieveContext, StorageDriverStoreContext

from console.runtime.data_converter import THRESHOLD, StoreDriver, data_converter
from workflows.config.settings import Settings

PUT, GET = StorageDriverStoreContext(), StorageDriverRetrieveContext()


def payload(text: str) -> Payload:
    return Payload(metadata={"encoding": b"json/plain", "a": b"b"}, data=text.encode())


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_payloads_come_back_as_they_were_and_in_order(tmp_path: Path) -> None:
    driver = StoreDriver(str(tmp_path / "not" / "there" / "yet"))
    given = [payload("one" * 1000), payload("two"), payload("")]
    claims = await driver.store(PUT, given)
    assert await driver.retrieve(GET, claims) == given


async def test_many_may_put_the_same_at_once(tmp_path: Path) -> None:
    drivers = [StoreDriver(f"file://{tmp_path}/store") for _ in range(4)]
    same = payload("same" * 50_000)
    claims = await asyncio.gather(*(d.store(PUT, [same, same]) for d in drivers * 5))

    assert len({claim.claim_data["sha256"] for pair in claims for claim in pair}) == 1
    assert len(files(tmp_path)) == 1
    assert await drivers[0].retrieve(GET, claims[0]) == [same, same]


async def test_only_large_values_leave_history(tmp_path: Path) -> None:
    converter = data_converter(Settings(store=str(tmp_path)))
    small, large = "s" * (THRESHOLD - 1000), "l" * (THRESHOLD + 1)
    kept, moved = await converter.encode([small, large])
    assert kept.ByteSize() < THRESHOLD
    assert moved.ByteSize() < 1000
    assert await converter.decode([kept, moved], [str, str]) == [small, large]


async def test_a_payload_of_another_store_names_the_remedy(tmp_path: Path) -> None:
    claims = await StoreDriver(str(tmp_path / "a")).store(PUT, [payload("x")])
    with pytest.raises(RuntimeError, match="set RESEARCH_STORE to the store"):
        await StoreDriver(str(tmp_path / "b")).retrieve(GET, claims)


async def test_a_payload_that_was_changed_is_not_handed_out(tmp_path: Path) -> None:
    driver = StoreDriver(str(tmp_path))
    claims = await driver.store(PUT, [payload("x")])
    (file,) = files(tmp_path)
    file.write_bytes(payload("y").SerializeToString())
    with pytest.raises(RuntimeError, match="was changed: restore it"):
        await driver.retrieve(GET, claims)
