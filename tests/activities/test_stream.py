"""A streamed answer becomes the message that was sent, or an error that says what broke."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from temporalio.exceptions import ApplicationError

from activities.llm.client import Models
from tests.activities.scripted import ScriptedTransport
from tests.simulator.streaming import body, events, streamed
from workflows.config.model_catalog import MEDIUM

JsonObject = dict[str, Any]
ASKED: JsonObject = {
    "model": MEDIUM,
    "max_tokens": 10,
    "messages": [{"role": "user", "content": "hello"}],
}
USAGE = {"input_tokens": 7, "output_tokens": 9, "cache_read_input_tokens": 3}
BLOCKS: dict[str, list[JsonObject]] = {
    "text": [{"type": "text", "text": "Ärger – “quoted”\u2028 and more " * 40}],
    "two texts": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
    "thought, then a tool": [
        {"type": "thinking", "thinking": "hm " * 300, "signature": "c2ln"},
        {"type": "tool_use", "id": "toolu_1", "name": "search",
         "input": {"query": "ferries " * 90, "scores": [{"source_id": "s", "score": 0.5}]}},
        {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {}},
    ],
}  # fmt: skip


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key-0123456789")


def message(content: list[JsonObject], stop: str = "end_turn") -> JsonObject:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": MEDIUM,
        "content": content, "stop_reason": stop, "stop_sequence": None, "usage": USAGE,
    }  # fmt: skip


def sse(content: bytes) -> httpx2.Response:
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=content)


async def ask(response: httpx2.Response) -> JsonObject:
    return await Models(ScriptedTransport([response])).ask(ASKED)


@pytest.mark.parametrize("content", BLOCKS.values(), ids=BLOCKS)
async def test_it_is_the_message_that_was_sent(content: list[JsonObject]) -> None:
    found = await ask(streamed(message(content)))
    assert found["content"] == content
    assert found["stop_reason"] == "end_turn"
    assert {name: found["usage"][name] for name in USAGE} == USAGE


async def test_a_tool_call_that_was_cut_off_keeps_what_was_written_of_it() -> None:
    parts = list(events(message([{"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}],
                                "max_tokens")))  # fmt: skip
    for part in parts:
        if part["type"] == "content_block_delta":
            part["delta"] = {"type": "input_json_delta", "partial_json": '{"query": "fer'}
    found = await ask(sse(body(parts)))
    assert found["stop_reason"] == "max_tokens"
    assert set(found["content"][0]["input"]) <= {"query"}


async def test_an_error_in_mid_stream_is_the_providers() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    start = next(iter(events(message([]))))
    with pytest.raises(ApplicationError, match="busy") as caught:
        await ask(sse(body([start, error])))
    assert caught.value.type == "overloaded_error"


@pytest.mark.parametrize(
    "event", [{"type": "content_block_delta", "index": 4, "delta": {}}, {"type": "message_delta"}]
)
@pytest.mark.parametrize("has_start", [True, False])
async def test_what_makes_no_sense_is_a_broken_answer(event: JsonObject, has_start: bool) -> None:
    start = list(events(message([])))[:1] if has_start else []
    with pytest.raises(ApplicationError) as caught:
        await ask(sse(body([*start, event])))
    assert caught.value.type == "broken_answer"


async def test_pings_are_passed_over() -> None:
    sent = message(BLOCKS["text"])
    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    found = await ask(sse(ping + body(events(sent)) + ping))
    assert found["content"] == sent["content"]
    with pytest.raises(ApplicationError) as caught:
        await ask(sse(ping))
    assert caught.value.type == "broken_answer"


def sparkling(content: list[JsonObject]) -> list[JsonObject]:
    """The events of a message, with things among them that nobody knows yet."""
    known = list(events(message(content)))
    unknown: list[JsonObject] = [
        {"type": "weather", "index": 0},
        {"type": "content_block_start", "index": 90, "content_block": {"type": "hologram"}},
        {"type": "content_block_delta", "index": 90, "delta": {"type": "hologram_delta", "x": 1}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "sparkle_delta"}},
        {"type": "content_block_delta", "index": 77, "delta": {"type": "text_delta", "text": "?"}},
        {"type": "content_block_stop", "index": 90},
        {"type": "message_delta", "delta": {"mood": "fine"}},
    ]
    return [one for event in known for one in (event, *unknown)]


@pytest.mark.parametrize("content", BLOCKS.values(), ids=BLOCKS)
async def test_unknown_events_blocks_and_deltas_are_passed_over(content: list[JsonObject]) -> None:
    found = await ask(sse(body(sparkling(content))))
    assert [block for block in found["content"] if block["type"] != "hologram"] == content
    assert found["stop_reason"] == "end_turn"


@pytest.mark.parametrize("missing", ["message_start", "message_delta"])
async def test_a_server_that_counts_no_tokens_is_understood(missing: str) -> None:
    parts = list(events(message(BLOCKS["text"])))
    for part in parts:
        if part["type"] == missing:
            part.pop("usage", None)
            part.get("message", {}).pop("usage", None)
    assert (await ask(sse(body(parts))))["content"] == BLOCKS["text"]
