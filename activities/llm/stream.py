"""Puts a streamed message together from its events.

The provider adds kinds of events, blocks and deltas over time, and other servers leave fields out:
what is not known here is passed over, and never costs the answer it stands in.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from typing import Any, Protocol

JsonObject = dict[str, Any]


class Event(Protocol):
    def to_dict(self, *, mode: Any = ..., warnings: bool = ...) -> dict[str, object]: ...


async def read_message(events: AsyncIterable[Event], on_event: Callable[[], None]) -> JsonObject:
    """The whole message; without a `stop_reason` where the stream ended early."""
    message: JsonObject = {"content": [], "stop_reason": None}
    blocks: dict[int, JsonObject] = {}
    inputs: dict[int, str] = {}
    async for event in events:
        on_event()
        data: JsonObject = event.to_dict(mode="json", warnings=False)
        match data.get("type"):
            case "message_start":
                message = {**message, **_known(data.get("message"))}
            case "content_block_start":
                blocks[data["index"]] = dict(data["content_block"])
            case "content_block_delta" if data.get("index") in blocks:
                delta, at = _known(data.get("delta")), data["index"]
                if delta.get("type") == "input_json_delta":
                    inputs[at] = inputs.get(at, "") + delta["partial_json"]
                else:
                    _apply(blocks[at], delta)
            case "message_delta":
                message |= _known(data.get("delta"))
                message["usage"] = _known(message.get("usage")) | _known(data.get("usage"))
    for at, written in inputs.items():
        if written:
            blocks[at]["input"] = _parse_input(written)
    return {**message, "content": [blocks[at] for at in sorted(blocks)] or message["content"]}


def _apply(block: JsonObject, delta: JsonObject) -> None:
    match delta.get("type"):
        case "text_delta":
            block["text"] = block.get("text", "") + delta["text"]
        case "thinking_delta":
            block["thinking"] = block.get("thinking", "") + delta["thinking"]
        case "signature_delta":
            block["signature"] = delta["signature"]
        case "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]


def _parse_input(written: str) -> object:
    """The input of a tool call, as far as it was written.

    One that is no JSON stays a text: the call is not run, and the model is told.
    """
    from jiter import from_json  # comes with the SDK, which is imported late

    try:
        return from_json(written.encode(), partial_mode=True)
    except ValueError:
        return written


def _known(value: object) -> JsonObject:
    """The fields that have a value: a later event must not clear what an earlier one said."""
    given = value if isinstance(value, dict) else {}
    return {key: inner for key, inner in given.items() if inner is not None}
