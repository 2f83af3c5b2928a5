"""What an MCP tool returned, in the toolbox's form: stored, split into sentences, fenced as data.

The text is kept under its hash before a model sees it, so a quote is checked letter for letter
against what the server really said. What cannot be quoted is left out, and the result says so.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from activities.agent.messages import tool_error
from activities.evidence.quotes import sketch
from activities.sources.documents import text_hash
from activities.sources.sentence_spans import sentences
from activities.storage.store import Store
from workflows.contracts.evidence import Source

if TYPE_CHECKING:
    from mcp.types import CallToolResult

JsonObject = dict[str, Any]
_ID_DIGITS = 10
_LONGEST_ERROR = 2000
_LONGEST_TITLE = 120


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
        return {"content": [_block(report)], "sources": [], "passages": []}
    source = await _kept(store, server, tool, arguments, text)
    report["hits"] = [source.model_dump(include={"title", "date", "kind", "uri"})]
    report["hits"][0]["source_id"] = source.id
    return {
        "content": [
            _block(report),
            {
                "type": "search_result",
                "source": source.id,
                "title": source.title,
                "content": [{"type": "text", "text": text[s.start : s.end]} for s in spans],
            },
        ],
        "sources": [source.model_dump(mode="json")],
        "passages": [(source.id, 0)],
    }


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


def _block(report: JsonObject) -> JsonObject:
    return {"type": "text", "text": json.dumps(report, ensure_ascii=False)}
