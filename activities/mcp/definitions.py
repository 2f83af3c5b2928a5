"""Tool definitions of MCP servers in the Messages API's form, or why one cannot be used.

The API refuses a whole request for one bad definition, so a definition is checked before it is
shown to a model: one bad definition must not cost a subagent its other tools.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp import ClientSession, Tool

JsonObject = dict[str, Any]
PREFIX = "mcp__"
LONGEST_NAME = 64
LARGEST_DEFINITION = 20_000
"""Characters of a definition, which is sent with every turn of a conversation."""
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_COMBINERS = ("oneOf", "anyOf", "allOf")


def tool_name(server: str, tool: str) -> str:
    """The tool's name for the model; a name that had to be changed has a hash to stay unique."""
    exact = f"{PREFIX}{server}__{tool}"
    bent = _FOREIGN.sub("_", exact)
    if bent == exact and len(exact) <= LONGEST_NAME:
        return exact
    mark = hashlib.sha256(exact.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{bent[: LONGEST_NAME - 9]}_{mark}"


def definition(server: str, tool: Tool, session: ClientSession) -> JsonObject | str:
    """The definition, or what is wrong with it."""
    from anthropic.lib.tools.mcp import async_mcp_tool

    try:
        # The helper converts the definition. Its call() is not used: it raises for the whole result
        # where one block of it is of a kind the API does not know, and it has no time limit.
        converted: JsonObject = {**async_mcp_tool(tool, session).to_dict()}
        converted["name"] = tool_name(server, tool.name)
        converted["description"] = tool.description or f"{tool.name}, a tool of {server}"
        size = len(json.dumps(converted, ensure_ascii=False).encode())
        wrong = _wrong(converted["input_schema"]) if size <= LARGEST_DEFINITION else None
    except Exception as odd:  # any definition may be malformed; it costs this tool only
        return f"its definition cannot be sent ({type(odd).__name__})"
    if size > LARGEST_DEFINITION:
        return f"its definition is {size} bytes long; {LARGEST_DEFINITION} are allowed"
    return wrong or converted


def _wrong(schema: JsonObject) -> str | None:
    from jsonschema import Draft202012Validator, SchemaError

    if schema.get("type") != "object":
        return f"its input schema is of type {str(schema.get('type'))[:40]!r}, not an object"
    if combined := [word for word in _COMBINERS if word in schema]:
        return f"its input schema has {combined[0]} at its top, which models are not given"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as broken:
        return f"its input schema is no JSON schema: {broken.message[:200]}"
    if odd := [name for name in schema.get("properties", {}) if not _PROPERTY.fullmatch(name)]:
        return f"its input schema has a field with the name {odd[0][:40]!r}"
    return None
