"""A stream read as plain JSON gives the message the provider's own client would have given."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

from activities.llm.stream import assemble_message
from activities.offline.stream import body, events, streamed

JsonObject = dict[str, Any]
ASKED: Any = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "hello"}]}
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


def message(content: list[JsonObject], stop: str = "end_turn") -> JsonObject:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": stop, "stop_sequence": None, "usage": USAGE,
    }  # fmt: skip


@pytest.mark.parametrize("content", BLOCKS.values(), ids=BLOCKS)
async def test_it_is_the_message_the_client_itself_would_give(content: list[JsonObject]) -> None:
    sent = message(content)

    async def answer(_: httpx2.Request) -> httpx2.Response:
        return streamed(sent)

    http = DefaultAsyncHttpxClient(transport=httpx2.MockTransport(answer))
    async with (
        AsyncAnthropic(api_key="k", http_client=http) as client,
        client.messages.stream(**ASKED) as stream,
    ):
        theirs = (await stream.get_final_message()).to_dict(mode="json", warnings=False)
    ours = await assemble_message(streamed(sent))
    assert ours is not None
    assert ours["content"] == theirs["content"] == content
    assert ours["stop_reason"] == theirs["stop_reason"]
    assert {k: v for k, v in ours["usage"].items() if v is not None} == USAGE


async def test_a_tool_call_that_was_cut_off_keeps_what_was_written_of_it() -> None:
    parts = list(events(message([{"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}],
                                "max_tokens")))  # fmt: skip
    for part in parts:
        if part["type"] == "content_block_delta":
            part["delta"] = {"type": "input_json_delta", "partial_json": '{"query": "fer'}
    found = await assemble_message(httpx2.Response(200, content=body(parts)))
    assert found is not None
    assert found["stop_reason"] == "max_tokens"
    assert set(found["content"][0]["input"]) <= {"query"}


async def test_an_error_in_mid_stream_is_the_providers() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    start = next(iter(events(message([]))))
    request = httpx2.Request("POST", "http://provider.invalid/v1/messages")
    response = httpx2.Response(200, content=body([start, error]), request=request)
    with pytest.raises(anthropic.APIStatusError, match="busy") as caught:
        await assemble_message(response)
    assert caught.value.type == "overloaded_error"


@pytest.mark.parametrize(
    "event", [{"type": "content_block_delta", "index": 4, "delta": {}}, {"type": "message_delta"}]
)
async def test_what_makes_no_sense_is_a_broken_answer(event: JsonObject) -> None:
    start = next(iter(events(message([]))))
    with pytest.raises(ValueError, match="makes no sense"):
        await assemble_message(httpx2.Response(200, content=body([start, event])))
    with pytest.raises(ValueError, match="before message_start"):
        await assemble_message(httpx2.Response(200, content=body([event])))


async def test_pings_are_passed_over_and_the_first_event_is_heard() -> None:
    heard: list[bool] = []
    sent = message(BLOCKS["text"])
    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    response = httpx2.Response(200, content=ping + body(events(sent)) + ping)
    found = await assemble_message(response, lambda: heard.append(True))
    assert heard == [True]
    assert found is not None
    assert json.dumps(found["content"]) == json.dumps(sent["content"])
    assert await assemble_message(httpx2.Response(200, content=ping)) is None
