"""Content blocks: one exact form to compare them by, and a count of tokens.

Four characters are a token. Cache markers and nulls are no content: a client may move the one and
leave out the other without changing what the model reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

JsonObject = dict[str, Any]
CHARACTERS_PER_TOKEN = 4


def as_blocks(content: str | list[JsonObject] | None) -> list[JsonObject]:
    if content is None:
        return []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def exact(value: Any) -> str:
    """The same string for the same content, whatever its markers, nulls and order of keys."""
    return json.dumps(_bare(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _bare(inner)
            for key, inner in value.items()
            if key != "cache_control" and inner is not None
        }
    return [_bare(inner) for inner in value] if isinstance(value, list) else value


def characters(block: JsonObject) -> int:
    """Of what is read in a block: its words, or all of it where it has more than words."""
    words = block.get(block["type"]) if block.get("type") in ("text", "thinking") else None
    return len(words) if isinstance(words, str) else len(exact(block))


def tokens(length: int) -> int:
    return -(-length // CHARACTERS_PER_TOKEN)


def output_tokens(content: list[JsonObject]) -> int:
    """Of what the model wrote; results of server tools are input of the pass after them."""
    written = (block for block in content if not block["type"].endswith("_tool_result"))
    return sum(tokens(characters(block)) for block in written)


def prompt_blocks(body: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Everything the model reads, in the order it reads it: (where it stands, block)."""
    yield from (("tools", tool) for tool in body.get("tools") or ())
    yield from (("system", block) for block in as_blocks(body.get("system")))
    for message in body["messages"]:
        yield from ((message["role"], block) for block in as_blocks(message["content"]))


def nested(block: JsonObject) -> Iterator[JsonObject]:
    """The block and the blocks inside it."""
    yield block
    inner = block.get("content")
    for child in inner if isinstance(inner, list) else ():
        if isinstance(child, dict):
            yield from nested(child)
