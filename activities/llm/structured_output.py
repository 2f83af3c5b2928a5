"""Reads the answers of models that have no structured output, or write tool calls as text.

Whatever an endpoint made of the request, the turn loop sees the message that the request asked for:
the answer is a text of JSON, and a tool call is a `tool_use` block.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from typing import Any

from activities.llm.capabilities import ANSWER, text_of

JsonObject = dict[str, Any]

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?[ \t]*```", re.S)
_TAGGED = re.compile(r"<(tool_call|function_call|function)>\s*(.*?)\s*</\1>", re.S)
_NAMES = ("name", "function", "tool", "tool_name")
_INPUTS = ("arguments", "parameters", "input", "args")


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
