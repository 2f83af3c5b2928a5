"""MCP tools in the Messages API's form: their definitions, and what they return.

The API refuses a whole request for one bad definition, so a definition is checked before it is
shown to a model: one bad definition must not cost a subagent its other tools. What a tool returned
is kept under its hash before a model sees it, split into sentences and fenced as data, so a quote
is checked letter for letter against what the server really said. What cannot be quoted is left out,
and the result says so.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import quote

from activities.agent.messages import JsonObject, Passage, show_passages, tool_error
from activities.evidence.quotes import sketch
from activities.sources.chunks import sentences
from activities.sources.documents import text_hash
from activities.storage.store import Store
from workflows.contracts.evidence import Source

if TYPE_CHECKING:
    from mcp import ClientSession, Tool
    from mcp.types import CallToolResult

PREFIX = "mcp__"
LONGEST_NAME = 64
LARGEST_DEFINITION = 20_000
"""Characters of a definition, which is sent with every turn of a conversation."""
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_COMBINERS = ("oneOf", "anyOf", "allOf")
_ID_DIGITS = 10
_LONGEST_ERROR = 2000
_LONGEST_TITLE = 120


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


async def result(
    store: Store,
    server: str,
    tool: str,
    arguments: JsonObject,
    answer: CallToolResult,
    max_characters: int,
) -> JsonObject:
    """The `tool_result` for an answer, with the source its text became."""
    text, left_out = _text(answer)
    where = f"the tool {tool!r} of the MCP server {server!r}"
    if answer.is_error:
        # Quoted as a JSON string: an error's words are the server's, and no instruction.
        said = json.dumps(text[:_LONGEST_ERROR], ensure_ascii=False)
        return tool_error(f"{where} reported an error, in its own words: {said}")
    report: JsonObject = {"server": server, "tool": tool, "characters": len(text)}
    if left_out:
        report["left_out"] = left_out
    if len(text) > max_characters:
        report["cut"] = f"only the first {max_characters} characters are here; ask for less"
        text = text[:max_characters]
    spans = await asyncio.to_thread(sentences, text)
    if not spans and left_out:
        return tool_error(f"{where} returned nothing that can be quoted; left out: {left_out}")
    if not spans:
        report["note"] = "the tool answered, and its answer holds no words"
        return show_passages(report, [])
    source = await _kept(store, server, tool, arguments, text)
    blocks = [text[span.start : span.end] for span in spans]
    return show_passages(report, [Passage(source, 0, source.title, blocks)])


async def _kept(store: Store, server: str, tool: str, arguments: JsonObject, text: str) -> Source:
    sha256 = text_hash(text)
    await store.keep_text(sha256, text)
    uri = f"mcp://{server}/{quote(tool, safe='')}#{sha256[:16]}"
    asked = ", ".join(str(value) for value in arguments.values())
    title = " ".join(f"{server}: {tool} ({asked})".split() if asked else [f"{server}: {tool}"])
    return Source(
        id="m" + hashlib.sha256(f"{uri}\0{sha256}".encode()).hexdigest()[:_ID_DIGITS],
        uri=uri,
        title=title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…",
        kind="tool",
        sha256=sha256,
        sketch=await asyncio.to_thread(sketch, text),
    )


def _text(answer: CallToolResult) -> tuple[str, str]:
    """The answer's text, and what it held besides."""
    from anthropic.lib.tools.mcp import UnsupportedMCPValueError, mcp_content

    texts: list[str] = []
    others: Counter[str] = Counter()
    # Block by block: the SDK converts a whole result or, for one odd block, none of it.
    for block in answer.content:
        try:
            converted: JsonObject = {**mcp_content(block)}
        except (UnsupportedMCPValueError, ValueError):
            converted = {"type": block.type}
        source: JsonObject = converted.get("source") or {}
        if converted["type"] == "text":
            texts.append(converted["text"])
        elif source.get("type") == "text":
            texts.append(source["data"])
        else:
            others[str(source.get("media_type") or block.type)[:60]] += 1
    if not texts and answer.structured_content is not None:
        texts.append(json.dumps(answer.structured_content, ensure_ascii=False, indent=1))
    # A lone surrogate can be neither stored nor sent.
    text = "\n\n".join(texts).encode("utf-8", "replace").decode()
    return text, ", ".join(f"{count} × {kind}" for kind, count in others.items())
