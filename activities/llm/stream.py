"""Assembles a streamed answer from its events, as the SDK would, but as plain JSON.

The SDK builds typed objects for each of a thousand events, which would be most of the work of a
worker with forty subagents.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
from jiter import from_json

from activities.llm.lazy_sdk import anthropic

JsonObject = dict[str, Any]
_IGNORED = (None, "ping")


async def assemble_message(
    response: httpx2.Response, on_start: Callable[[], None] = lambda: None
) -> JsonObject | None:
    """The message of a stream; None where it has none. `on_start` is called at the first event."""
    message: JsonObject | None = None
    inputs: dict[int, str] = {}
    async for sent in anthropic.AsyncStream.raw_events(response):
        if sent.event == "error":
            raise _failed(sent.data, response)
        if sent.event in _IGNORED or not sent.data:
            continue
        event: JsonObject = json.loads(sent.data)
        try:
            if message is not None:
                _add(message, event, inputs)
            elif event["type"] == "message_start":
                message = {**event["message"], "content": []}
                on_start()
            else:
                raise ValueError(f"{event['type']} came before message_start")
        except (KeyError, IndexError, TypeError, AttributeError) as wrong:
            raise ValueError(f"an event makes no sense ({wrong!r}): {sent.data[:200]}") from None
    return message


def _add(message: JsonObject, event: JsonObject, inputs: dict[int, str]) -> None:
    match event["type"]:
        case "content_block_start":
            message["content"].append({**event["content_block"]})
        case "content_block_delta":
            _fill(message["content"][event["index"]], event["delta"], inputs, event["index"])
        case "content_block_stop" if written := inputs.pop(event["index"], ""):
            # Input that was cut off at the limit is incomplete JSON; its part is kept.
            read = from_json(written.encode(), partial_mode=True)
            message["content"][event["index"]]["input"] = read
        case "message_delta":
            message |= {k: v for k, v in event["delta"].items() if v is not None}
            # Counts are totals: they replace the first ones.
            counts = {k: v for k, v in (event.get("usage") or {}).items() if v is not None}
            message["usage"] = {**(message.get("usage") or {}), **counts}


def _fill(block: JsonObject, delta: JsonObject, inputs: dict[int, str], index: int) -> None:
    match delta["type"]:
        case "text_delta" if block["type"] == "text":
            block["text"] += delta["text"]
        case "input_json_delta":
            inputs[index] = inputs.get(index, "") + delta["partial_json"]
        case "citations_delta" if block["type"] == "text":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        case "thinking_delta" if block["type"] == "thinking":
            block["thinking"] += delta["thinking"]
        case "signature_delta" if block["type"] == "thinking":
            block["signature"] = delta["signature"]


def _failed(data: str, response: httpx2.Response) -> anthropic.APIStatusError:
    """An error in the stream, after the status was sent."""
    try:
        body: object = json.loads(data)
    except ValueError:
        body = data
    return anthropic.APIStatusError(f"{body}", response=response, body=body)
