"""A message as the server-sent events it arrives in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import httpx2

from tests.simulator.history import NOVELTY

JsonObject = dict[str, Any]
Event = JsonObject

_PIECES = 24


def events(message: JsonObject) -> Iterator[Event]:
    """The whole stream, from `message_start` to `message_stop`."""
    usage = message["usage"]
    opening = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    opening.pop("stop_details", None)
    opening.pop("container", None)
    opening["usage"] = {**usage, "output_tokens": min(1, usage["output_tokens"])}
    yield {"type": "message_start", "message": opening}
    yield {"type": "ping"}
    has_novelties = any(block["type"] == NOVELTY for block in message["content"])
    if has_novelties:
        yield {"type": "novelty_event", "value": 1}
    for index, block in enumerate(message["content"]):
        start, deltas = _parts(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        if has_novelties:
            deltas = [{"type": "novelty_delta", "value": 1}, *deltas]
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {key: message.get(key) for key in ("stop_reason", "stop_sequence", "stop_details",
             "container")}  # fmt: skip
    total = {key: value for key, value in usage.items() if key not in ("cache_creation",
             "service_tier")}  # fmt: skip
    yield {"type": "message_delta", "delta": delta, "usage": total}
    yield {"type": "message_stop"}


def streamed(message: JsonObject) -> httpx2.Response:
    """The message as a request with `stream: true` is answered."""
    return httpx2.Response(
        200, headers={"content-type": "text/event-stream"}, content=body(events(message))
    )


def body(parts: Iterable[Event]) -> bytes:
    return b"".join(map(encode, parts))


def encode(event: Event) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def _parts(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """How a block opens, and the deltas that fill it."""
    match block["type"]:
        case "text":
            cited = block.get("citations") or []
            opened = {**block, "text": ""} | ({"citations": []} if "citations" in block else {})
            return opened, [
                *({"type": "text_delta", "text": piece} for piece in _cut(block["text"])),
                *({"type": "citations_delta", "citation": citation} for citation in cited),
            ]
        case "thinking":
            return {**block, "thinking": "", "signature": ""}, [
                *({"type": "thinking_delta", "thinking": piece}
                  for piece in _cut(block["thinking"])),
                {"type": "signature_delta", "signature": block["signature"]},
            ]  # fmt: skip
        case "tool_use" | "server_tool_use":
            written = json.dumps(block["input"], ensure_ascii=False)
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in ("", *_cut(written))
            ]
        case _:
            return block, []


def _cut(text: str) -> list[str]:
    size = max(12, -(-len(text) // _PIECES))
    return [text[at : at + size] for at in range(0, len(text), size)]
