"""The simulator in a process of its own, over a real socket."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
import pytest_asyncio
from anthropic.types.messages.batch_create_params import Request

from tests.simulator.asking import asking, asking_in_batch, user

ROOT = Path(__file__).parents[2]
SHORT = httpx2.Timeout(60, read=0.5)
"""Little patience for an answer, but all the time to ask."""


@dataclass
class Running:
    base: str
    log: Path
    process: asyncio.subprocess.Process

    def client(self) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(
            api_key="right", base_url=self.base, max_retries=0, open_telemetry=False
        )

    async def post(self, path: str, body: Any = None) -> httpx2.Response:
        async with httpx2.AsyncClient() as http:
            return await http.post(self.base + path, json=body)

    async def records(self) -> list[dict[str, Any]]:
        async with httpx2.AsyncClient() as http:
            lines = (await http.get(f"{self.base}/_log")).text.splitlines()
        return [json.loads(line) for line in lines]

    async def ended(self, count: int) -> list[dict[str, Any]]:
        """The records, once so many requests have ended."""
        async with asyncio.timeout(60):
            while True:
                records = [r for r in await self.records() if r["seconds"] is not None]
                if len(records) >= count:
                    return records
                await asyncio.sleep(0.05)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    log = tmp_path_factory.mktemp("simulator") / "requests.jsonl"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.simulator.server", "--port", "0", "--brain", "echo",
        "--key", "right", "--log", str(log), cwd=ROOT, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout
    line = (await asyncio.wait_for(process.stdout.readline(), 90)).decode()
    assert line.startswith("listening on ")
    yield Running(f"http://127.0.0.1:{line.split()[-1]}", log, process)
    process.terminate()
    assert await asyncio.wait_for(process.wait(), 60) == 0


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def fresh(server: Running) -> Running:
    assert (await server.post("/_reset")).status_code == 200
    return server


async def test_the_sdk_talks_to_it_in_every_way(fresh: Running) -> None:
    body = asking(user("Grüße " * 50))
    async with fresh.client() as client:
        whole = await client.messages.create(**body)
        async with client.messages.stream(**body) as stream:
            streamed = await stream.get_final_message()
        raw = [event.type async for event in await client.messages.create(**body, stream=True)]
        batch = await client.messages.batches.create(
            requests=[Request(custom_id="a", params=asking_in_batch())]
        )
        lines = [line async for line in await client.messages.batches.results(batch.id)]
    assert whole.content[-1].text.startswith("You said: Grüße")  # type: ignore[union-attr]
    assert streamed.to_dict()["content"] == whole.to_dict()["content"]
    assert raw[-1] == "message_stop"
    assert lines[0].result.type == "succeeded"
    records = await fresh.ended(4)
    assert all(record["answered"] for record in records)


async def test_a_wrong_key_and_an_unknown_path_are_refused(fresh: Running) -> None:
    async with fresh.client().with_options(api_key="wrong") as client:
        with pytest.raises(anthropic.AuthenticationError):
            await client.messages.create(**asking())
    assert (await fresh.post("/v2/nothing", {})).status_code == 404
    async with httpx2.AsyncClient() as http:
        assert (await http.head(fresh.base)).status_code == 200
        assert (await http.get(fresh.base)).json() == {"status": "ok"}


async def test_faults_are_added_from_outside(fresh: Running) -> None:
    faults = [
        {"kind": "overloaded", "contains": "tea"},
        {"kind": "stream_error", "stream": True},
        {"kind": "drop", "request": 3},
        {"kind": "drop_mid", "request": 4},
        {"kind": "stream_hangs", "request": 5},
    ]
    assert (await fresh.post("/_faults", faults)).json() == {"added": 5}
    assert (await fresh.post("/_faults", {"kind": "none"})).status_code == 400
    async with fresh.client() as client:
        with pytest.raises(anthropic.OverloadedError):
            await client.messages.create(**asking(user("tea")))
        with pytest.raises(anthropic.APIStatusError):
            async for _ in await client.messages.create(**asking(), stream=True):
                pass
        with pytest.raises(anthropic.APIConnectionError):
            await client.messages.create(**asking())
        with pytest.raises((anthropic.APIConnectionError, httpx2.TransportError)):
            async for _ in await client.messages.create(**asking(), stream=True):
                pass
        with pytest.raises((anthropic.APITimeoutError, httpx2.ReadTimeout)):
            async for _ in await client.messages.create(**asking(), stream=True, timeout=SHORT):
                pass
        assert (await client.messages.create(**asking())).stop_reason == "end_turn"
    records = await fresh.ended(6)
    outcomes = [record["outcome"] for record in records]
    assert outcomes[:4] == ["overloaded_error", "stream_error", "drop", "drop_mid"]
    # On a busy machine the client may lose its patience before the stream has begun.
    assert outcomes[4] in ("stream_hangs", "abandoned")
    assert [r["answered"] for r in records] == [False] * 5 + [True]


async def test_a_client_that_goes_away_is_noticed(fresh: Running) -> None:
    await fresh.post("/_faults", {"kind": "hang"})
    async with fresh.client() as client:
        with pytest.raises(anthropic.APITimeoutError):
            await client.messages.create(**asking(), timeout=SHORT)
    (record,) = await fresh.ended(1)
    assert (record["outcome"], record["answered"]) == ("abandoned", False)


async def test_the_log_file_holds_a_line_for_every_request(fresh: Running) -> None:
    async with fresh.client() as client:
        await asyncio.gather(
            *(client.messages.create(**asking(user(f"mark {n}"))) for n in range(20))
        )
    known = {record["fingerprint"] for record in await fresh.ended(20)}
    text = await asyncio.to_thread(fresh.log.read_text, "utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    assert len(known) == 20
    assert known <= {line["fingerprint"] for line in lines}
