"""Other ways for a model's turn to end than with an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.simulator.blocks import CHARACTERS_PER_TOKEN, output_tokens
from tests.simulator.brains import Turn
from tests.simulator.faults import Fault

JsonObject = dict[str, Any]


def ending(fault: Fault, turn: Turn) -> Turn:
    """The turn as this fault ends it."""
    match fault.kind:
        case "refusal":
            return Turn([], "refusal", {
                "type": "refusal",
                "category": fault.category,
                "explanation": fault.explanation,
            })  # fmt: skip
        case "pause_turn":
            return _paused()
        case "context_window":
            return replace(_half(turn), stop_reason="model_context_window_exceeded")
        case _:
            return replace(_half(turn), stop_reason="max_tokens")


def cut_short(content: list[JsonObject], limit: int) -> tuple[list[JsonObject], bool]:
    """What fits into the limit of tokens, and whether that is everything."""
    kept: list[JsonObject] = []
    left = limit
    for block in content:
        cost = output_tokens([block])
        if cost > left:
            words = block["text"][: left * CHARACTERS_PER_TOKEN] if block["type"] == "text" else ""
            return [*kept, *([{**block, "text": words}] if words.strip() else [])], False
        kept.append(block)
        left -= cost
    return kept, True


def _half(turn: Turn) -> Turn:
    """Cut off in the middle: half a text, or a tool call that never got its input."""
    if not turn.content:
        return turn
    *kept, last = turn.content
    if last["type"] == "text":
        last = {**last, "text": last["text"][: max(1, len(last["text"]) // 2)]}
    elif last["type"] == "tool_use":
        last = {**last, "input": {}}
    return replace(turn, content=[*kept, last])


def _paused() -> Turn:
    """A search of the provider's own that needs another turn."""
    use_id = "srvtoolu_paused"
    return Turn(
        [
            {"type": "server_tool_use", "id": use_id, "name": "web_search",
             "input": {"query": "more"}},
            {"type": "web_search_tool_result", "tool_use_id": use_id, "content": []},
        ],
        "pause_turn",
    )  # fmt: skip
