"""A finished message as the event stream the Messages API would have sent it in.

`streamed(message)` is a whole response, `events(message)` its events and `body(events)` their
bytes, so that whoever stands at the wire can also break a stream off where it likes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import httpx2

JsonObject = dict[str, Any]
_PIECE = 400
"""Characters in one delta."""


def streamed(message: JsonObject) -> httpx2.Response:
    """The message as a `stream: true` request is answered."""
    return httpx2.Response(
        200, headers={"content-type": "text/event-stream"}, content=body(events(message))
    )


def body(parts: Iterable[JsonObject]) -> bytes:
    return b"".join(
        f"event: {part['type']}\ndata: {json.dumps(part, ensure_ascii=False)}\n\n".encode()
        for part in parts
    )


def events(message: JsonObject) -> Iterator[JsonObject]:
    """`message_start` to `message_stop`; put together again they are the message."""
    usage = message.get("usage") or {}
    ending = {key: message.get(key) for key in ("stop_reason", "stop_sequence", "stop_details")}
    start = {**message, "content": [], **dict.fromkeys(ending)}
    if usage:
        start["usage"] = {**usage, "output_tokens": 0}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message.get("content") or ()):
        empty, deltas = _taken_apart(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {key: value for key, value in ending.items() if value is not None}
    # A reader may count on these two being there.
    delta.setdefault("stop_reason", None)
    delta.setdefault("stop_sequence", None)
    counts = {"output_tokens": usage.get("output_tokens", 0)}
    if usage.get("server_tool_use"):
        counts["server_tool_use"] = usage["server_tool_use"]
    yield {"type": "message_delta", "delta": delta, "usage": counts}
    yield {"type": "message_stop"}


def _taken_apart(block: JsonObject) -> tuple[JsonObject, Iterator[JsonObject]]:
    """A block as it starts, and the deltas that fill it; other kinds arrive whole."""
    match block["type"]:
        case "text":
            citations = (
                {"type": "citations_delta", "citation": citation}
                for citation in block.get("citations") or ()
            )
            words = ({"type": "text_delta", "text": piece} for piece in _pieces(block["text"]))
            return {**block, "text": "", **_without(block, "citations")}, _chain(words, citations)
        case "tool_use" | "server_tool_use":
            written = json.dumps(block["input"], ensure_ascii=False)
            return {**block, "input": {}}, (
                {"type": "input_json_delta", "partial_json": piece} for piece in _pieces(written)
            )
        case "thinking":
            thought = (
                {"type": "thinking_delta", "thinking": piece}
                for piece in _pieces(block["thinking"])
            )
            signed = ({"type": "signature_delta", "signature": block.get("signature", "")},)
            return {**block, "thinking": "", "signature": ""}, _chain(thought, signed)
        case _:
            return block, iter(())


def _chain(*parts: Iterable[JsonObject]) -> Iterator[JsonObject]:
    for part in parts:
        yield from part


def _without(block: JsonObject, key: str) -> JsonObject:
    return {key: None} if key in block else {}


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
