"""Reads the answers of models, whatever the endpoint made of the request.

A streamed message is put together from its events. The provider adds kinds of events, blocks and
deltas over time, and other servers leave fields out: what is not known here is passed over, and
never costs the answer it stands in. Models without structured output write tool calls as text, and
words around JSON: the turn loop sees the message that the request asked for, in which the answer is
a text of JSON and a tool call is a `tool_use` block.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterable, Callable, Collection
from typing import Any, Protocol

from activities.llm.capabilities import ANSWER, text_of

JsonObject = dict[str, Any]

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?[ \t]*```", re.S)
_TAGGED = re.compile(r"<(tool_call|function_call|function)>\s*(.*?)\s*</\1>", re.S)
_NAMES = ("name", "function", "tool", "tool_name")
_INPUTS = ("arguments", "parameters", "input", "args")


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


# --- models without structured output ------------------------------------------------------------


def normalize(message: JsonObject, sent: JsonObject) -> JsonObject:
    """The message in the form that the original request asked for.

    `sent` is the request as it was adapted to the endpoint.
    """
    names = {tool["name"] for tool in sent.get("tools") or ()}
    if not any(block["type"] == "tool_use" for block in message["content"]):
        message = _read_tool_calls(message, names)
    return _unwrap(_take_answer(message))


def _take_answer(message: JsonObject) -> JsonObject:
    """The input of the answer tool as the text of the answer.

    Where other tools are called beside it, the model is not done: their results come first.
    """
    content: list[JsonObject] = message["content"]
    uses = [block for block in content if block["type"] == "tool_use"]
    answers = [block for block in uses if block["name"] == ANSWER]
    if not answers:
        return message
    rest = [block for block in content if block not in answers]
    if len(answers) < len(uses):
        return {**message, "content": rest}
    kept = [block for block in rest if block["type"] != "text"]
    text = json.dumps(answers[0]["input"], ensure_ascii=False)
    stop = "end_turn" if message["stop_reason"] == "tool_use" else message["stop_reason"]
    return {**message, "content": [*kept, {"type": "text", "text": text}], "stop_reason": stop}


def _read_tool_calls(message: JsonObject, names: Collection[str]) -> JsonObject:
    """Tool calls that the model wrote as text, as blocks; an answer is left as it is."""
    text = text_of(message)
    written = [inside for _, inside in _TAGGED.findall(text)] or [*_FENCE.findall(text), text]
    calls = [call for one in written if (call := _read_call(one, names))]
    if not calls:
        return message
    digest = hashlib.sha256(f"{message.get('id')}{text}".encode()).hexdigest()[:16]
    blocks = [
        {"type": "tool_use", "id": f"toolu_{digest}{at}", "name": name, "input": given}
        for at, (name, given) in enumerate(calls)
    ]
    others = [block for block in message["content"] if block["type"] != "text"]
    return {**message, "content": [*others, *blocks], "stop_reason": "tool_use"}


def _read_call(text: str, names: Collection[str]) -> tuple[str, object] | None:
    """Name and input of a tool call written as JSON; None where it is something else."""
    try:
        call = json.loads(text)
    except ValueError:
        return None
    if isinstance(call, dict) and isinstance(call.get("function"), dict):
        call = call["function"]
    if not isinstance(call, dict):
        return None
    name = next((call[key] for key in _NAMES if isinstance(call.get(key), str)), None)
    given = next((call[key] for key in _INPUTS if key in call), None)
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return None
    return (name, given) if name and name in names and isinstance(given, dict) else None


def _unwrap(message: JsonObject) -> JsonObject:
    """The answer without the code fence and the text that models put around JSON."""
    text = text_of(message)
    if _is_json(text):
        return message
    fenced = [inside for inside in _FENCE.findall(text) if _is_json(inside)]
    if len(fenced) != 1:
        return message
    others = [block for block in message["content"] if block["type"] != "text"]
    return {**message, "content": [*others, {"type": "text", "text": fenced[0].strip()}]}


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
