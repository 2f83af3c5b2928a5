"""What a conversation must look like: blocks well formed, roles in turn, every tool answered."""

from __future__ import annotations

import re
from typing import Any

from tests.simulator.blocks import as_blocks, nested
from tests.simulator.errors import invalid

JsonObject = dict[str, Any]
Turn = tuple[int, str, list[JsonObject]]
"""Where it starts, who speaks, and what: messages that go on after a pause are one turn."""

_RESULTS = ("web_search", "web_fetch", "code_execution", "bash_code_execution",
            "text_editor_code_execution", "tool_search")  # fmt: skip
SERVER_RESULTS = {f"{name}_tool_result" for name in _RESULTS}
_MARKED = {"type", "cache_control"}
NOVELTY = "novelty"
"""Stands for any kind of block that the API learns after a client was written."""
FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "text": ({"text"}, _MARKED | {"citations"}),
    "image": ({"source"}, _MARKED | {"transformations"}),
    "document": ({"source"}, _MARKED | {"citations", "context", "title"}),
    "search_result": ({"content", "source", "title"}, _MARKED | {"citations"}),
    "thinking": ({"thinking", "signature"}, {"type"}),
    "redacted_thinking": ({"data"}, {"type"}),
    "tool_use": ({"id", "name", "input"}, _MARKED | {"caller", "toolset_name"}),
    "tool_result": ({"tool_use_id"}, _MARKED | {"content", "is_error", "toolset_name"}),
    "server_tool_use": ({"id", "name", "input"}, _MARKED | {"caller"}),
    "container_upload": ({"file_id"}, _MARKED),
    NOVELTY: (set(), _MARKED | {"value"}),
    **{kind: ({"tool_use_id", "content"}, _MARKED | {"caller"}) for kind in SERVER_RESULTS},
}
_BY_ROLE = {
    "user": {"text", "image", "document", "search_result", "tool_result", "container_upload"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use",
                  "container_upload", NOVELTY} | SERVER_RESULTS,
}  # fmt: skip
_INSIDE_RESULT = {"text", "image", "document", "search_result"}
_ID = re.compile(r"[a-zA-Z0-9_-]+")


def check_shape(body: JsonObject) -> None:
    """Every message and block by itself."""
    messages = body["messages"]
    if not isinstance(messages, list):
        raise invalid("messages: Input should be a valid list")
    if not messages:
        raise invalid("messages: at least one message is required")
    for m, message in enumerate(messages):
        path = f"messages.{m}"
        if not isinstance(message, dict):
            raise invalid(f"{path}: Input should be a valid dictionary")
        for field in ("role", "content"):
            if field not in message:
                raise invalid(f"{path}.{field}: Field required")
        for field in message.keys() - {"role", "content"}:
            raise invalid(f"{path}.{field}: Extra inputs are not permitted")
        if message["role"] not in _BY_ROLE:
            raise invalid(f'messages: Unexpected role "{message["role"]}". Allowed roles are '
                          '"user" or "assistant".')  # fmt: skip
        if not isinstance(message["content"], str | list):
            raise invalid(f"{path}.content: Input should be a valid string or list")
        if not message["content"]:
            raise invalid(f"{path}: all messages must have non-empty content")
        blocks = as_blocks(message["content"])
        for b, block in enumerate(blocks):
            _check_block(block, _BY_ROLE[message["role"]], f"{path}.content.{b}")
        if blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            raise invalid(f"{path}: The final block in an assistant message cannot be `thinking`.")


def check_system(body: JsonObject) -> None:
    system = body.get("system")
    if system is None:
        return
    if not isinstance(system, str | list):
        raise invalid("system: Input should be a valid string or list")
    for n, block in enumerate([] if system == "" else as_blocks(system)):
        _check_block(block, {"text"}, f"system.{n}")


def _check_block(block: Any, allowed: set[str], path: str) -> None:
    if not isinstance(block, dict) or "type" not in block:
        raise invalid(f"{path}.type: Field required")
    kind = block["type"]
    if kind not in allowed:
        raise invalid(f"{path}: Input tag {kind!r} found using 'type' does not match any of the "
                      f"expected tags: {', '.join(sorted(allowed))}")  # fmt: skip
    required, optional = FIELDS[kind]
    for field in sorted(required - block.keys()):
        raise invalid(f"{path}.{kind}.{field}: Field required")
    for field in sorted(block.keys() - required - optional):
        raise invalid(f"{path}.{kind}.{field}: Extra inputs are not permitted")
    if kind == "text":
        _check_text(block["text"], path)
    if kind in ("tool_use", "server_tool_use"):
        if not isinstance(block["input"], dict):
            raise invalid(f"{path}.{kind}.input: Input should be a valid dictionary")
        if not _ID.fullmatch(str(block["id"])):
            raise invalid(f"{path}.{kind}.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if kind == "server_tool_use" and not block["id"].startswith("srvtoolu_"):
        raise invalid(f"{path}.{kind}.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'")
    if kind == "search_result":
        if not block["content"]:
            raise invalid(f"{path}.search_result.content: at least one text block is required")
        for n, inner in enumerate(block["content"]):
            _check_block(inner, {"text"}, f"{path}.search_result.content.{n}")
    if kind == "document":
        _check_document(block, path)
    if kind == "tool_result":
        _check_tool_result(block, path)


def _check_text(text: Any, path: str) -> None:
    if not isinstance(text, str):
        raise invalid(f"{path}.text.text: Input should be a valid string")
    if not text:
        raise invalid(f"{path}: text content blocks must be non-empty")
    if not text.strip():
        raise invalid(f"{path}: text content blocks must contain non-whitespace text")


def _check_document(block: JsonObject, path: str) -> None:
    source = block["source"]
    kinds = ("base64", "text", "content", "url", "file")
    if not isinstance(source, dict) or source.get("type") not in kinds:
        raise invalid(f"{path}.document.source: Input should be of type {', '.join(kinds)}")
    if source["type"] == "text" and (source.get("media_type") != "text/plain"
                                     or not source.get("data")):  # fmt: skip
        raise invalid(f"{path}.document.source: needs media_type 'text/plain' and non-empty data")


def _check_tool_result(block: JsonObject, path: str) -> None:
    content = block.get("content")
    if content is not None and not isinstance(content, str | list):
        raise invalid(f"{path}.tool_result.content: Input should be a valid string or list")
    if block.get("is_error") and not content:
        raise invalid(f"{path}.tool_result: content cannot be empty if `is_error` is true")
    for n, inner in enumerate(content if isinstance(content, list) else ()):
        _check_block(inner, _INSIDE_RESULT, f"{path}.tool_result.content.{n}")


def check_order(body: JsonObject, own: list[bool], prefill: bool) -> None:
    """Roles, tool results and the end of the conversation.

    `own` says which messages hold a server tool use of the simulator's making: only after such a
    message may the assistant go on speaking.
    """
    messages = body["messages"]
    if messages[0]["role"] != "user":
        raise invalid('messages: first message must use the "user" role')
    turns: list[Turn] = []
    for m, message in enumerate(messages):
        blocks = as_blocks(message["content"])
        if turns and turns[-1][1] == message["role"]:
            if message["role"] == "user" or not own[m - 1]:
                raise invalid('messages: roles must alternate between "user" and "assistant", but '
                              f'found multiple "{message["role"]}" roles in a row')  # fmt: skip
            turns[-1][2].extend(blocks)
        else:
            turns.append((m, message["role"], list(blocks)))
    if turns[-1][1] == "assistant" and not prefill and not own[-1]:
        raise invalid("This model does not support assistant message prefill. The conversation "
                      "must end with a user message.")  # fmt: skip
    _check_tools(turns)


def _check_tools(turns: list[Turn]) -> None:
    seen: set[str] = set()
    waiting: list[str] = []
    for t, (m, role, blocks) in enumerate(turns):
        if role == "user":
            _check_results(blocks, waiting, m)
            waiting = []
            continue
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for used in waiting:
            if used in seen:
                raise invalid("messages: `tool_use` ids must be unique")
            seen.add(used)
        _check_server_results(blocks, m, last=t == len(turns) - 1)
    if waiting:
        raise _unanswered(turns[-1][0], waiting)


def _check_results(blocks: list[JsonObject], waiting: list[str], m: int) -> None:
    answered: list[str] = []
    others = False
    for b, block in enumerate(blocks):
        if block["type"] != "tool_result":
            others = True
            continue
        used = block["tool_use_id"]
        if used not in waiting:
            raise invalid(f"messages.{m}.content.{b}: unexpected `tool_use_id` found in "
                          f"`tool_result` blocks: {used}. Each `tool_result` block must have a "
                          "corresponding `tool_use` block in the previous message.")  # fmt: skip
        if used in answered:
            raise invalid(f"messages.{m}.content.{b}: each tool_use must have a single result. "
                          f"Found multiple `tool_result` blocks with id: {used}")  # fmt: skip
        if others:
            raise invalid(f"messages.{m}.content.{b}: `tool_result` blocks must come first in the "
                          "message, before any other content")  # fmt: skip
        answered.append(used)
    missing = [used for used in waiting if used not in answered]
    if missing:
        raise _unanswered(m - 1, missing)


def _unanswered(m: int, ids: list[str]) -> Exception:
    return invalid(
        f"messages.{m}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` block "
        "in the next message."
    )


def _check_server_results(blocks: list[JsonObject], m: int, last: bool) -> None:
    open_uses: list[str] = []
    for block in blocks:
        if block["type"] == "server_tool_use":
            open_uses.append(block["id"])
        elif block["type"] in SERVER_RESULTS:
            if block["tool_use_id"] not in open_uses:
                raise invalid(f"messages.{m}: unexpected `tool_use_id` found in `{block['type']}` "
                              f"blocks: {block['tool_use_id']}. Each server tool result must have "
                              "a corresponding `server_tool_use` block before it.")  # fmt: skip
            open_uses.remove(block["tool_use_id"])
    if open_uses and not last:
        raise invalid(f"messages.{m}: `server_tool_use` ids were found without a corresponding "
                      f"result block: {', '.join(open_uses)}")  # fmt: skip


def cited(body: JsonObject) -> dict[str, set[bool]]:
    """For documents and search results: whether some have citations on, and some off."""
    found: dict[str, set[bool]] = {"document": set(), "search_result": set()}
    for message in body["messages"]:
        for block in as_blocks(message["content"]):
            if message["role"] != "user":
                continue
            for inner in nested(block):
                if inner["type"] in found:
                    on = bool((inner.get("citations") or {}).get("enabled"))
                    found[inner["type"]].add(on)
    return found
