"""A Messages API request as the offline model reads it: the brief, the tool calls, the hits.

The engine keeps nothing between requests. Whatever it knows stands in the request, so a replayed
conversation gives the same answer on any worker.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]

_BRIEF = re.compile(r"<brief>\s*(\{.*\})\s*</brief>", re.S)
# What is said beside tool results and complaints, each in a text of its own.
_ASIDE = re.compile(r"<(note|follow-up|last-call)>\s*(.*?)\s*</\1>", re.S)


@dataclass(frozen=True)
class Hit:
    """A passage a tool returned: one document, some of its paragraphs, items, rows and headings."""

    source_id: str
    title: str
    section: str
    """The headings above the passage, outermost first."""
    date: str | None
    blocks: tuple[str, ...]


@dataclass(frozen=True)
class ToolCall:
    """A tool use of an earlier turn with what came back."""

    turn: int
    name: str
    input: JsonObject
    hits: tuple[Hit, ...]
    report: JsonObject
    """The tool's own account: cycle, cycles_left, terms {word: documents that hold it}."""
    error: str | None


@dataclass(frozen=True)
class Conversation:
    """What one request says."""

    wanted: str
    """The title of the schema the answer must follow."""
    brief: JsonObject
    tools: frozenset[str]
    calls: tuple[ToolCall, ...] = ()
    complaints: tuple[str, ...] = ()
    """What the caller sent back about answers to the question in hand, newest last."""
    answers: tuple[JsonObject, ...] = ()
    notes: tuple[str, ...] = ()
    """What people had to say, to all or to this one."""
    follow_ups: tuple[str, ...] = ()
    """Further questions after an answer; the last is the one in hand."""
    since: int = 0
    """The turn the question in hand was asked before."""
    last_call: bool = False
    """Whether the answer is wanted now."""

    @property
    def hits(self) -> tuple[Hit, ...]:
        """All that tools returned, each passage once."""
        return tuple(dict.fromkeys(hit for call in self.calls for hit in call.hits))

    def searches(self) -> tuple[ToolCall, ...]:
        return tuple(call for call in self.calls if call.name == "search")


@dataclass(frozen=True)
class UseTools:
    """The next turn calls tools: (name, input) each."""

    calls: tuple[tuple[str, JsonObject], ...]


@dataclass(frozen=True)
class Reply:
    """The next turn is the answer."""

    answer: JsonObject


def read_request(body: JsonObject) -> Conversation:
    """Raises ValueError where the request holds no brief or asks for no schema."""
    schema = body.get("output_config", {}).get("format", {}).get("schema", {})
    wanted = schema.get("title")
    if not isinstance(wanted, str):
        raise ValueError("the offline model answers only requests with an output schema")
    messages = body["messages"]
    found = _BRIEF.search(next(_texts(messages[0]["content"]), ""))
    if not found:
        raise ValueError("the first message holds no <brief>")
    return Conversation(
        wanted=wanted,
        brief=json.loads(found.group(1)),
        tools=frozenset(tool["name"] for tool in body.get("tools", ())),
        calls=tuple(_calls(messages)),
        answers=tuple(_answers(messages)),
        **_said(messages),
    )


def _said(messages: list[JsonObject]) -> JsonObject:
    """What our messages say beside the brief and the tools' results."""
    complaints: list[str] = []
    notes: list[str] = []
    follow_ups: list[str] = []
    turns, since, last_call = 0, 0, False
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            turns += 1
            continue
        plain: list[str] = []
        for text in _texts(message["content"]):
            aside = _ASIDE.match(text)
            if aside is None:
                plain.append(text)
            elif aside[1] == "note":
                notes.append(aside[2])
            elif aside[1] == "follow-up":
                follow_ups.append(aside[2])
                # Another question: what was held against answers to the last one is settled.
                complaints, since, last_call = [], turns, False
            else:
                last_call = True
        if plain and at:
            complaints.append("\n".join(plain))
    return {"complaints": tuple(complaints), "notes": tuple(notes), "since": since,
            "follow_ups": tuple(follow_ups), "last_call": last_call}  # fmt: skip


def _texts(content: str | list[JsonObject]) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    else:
        yield from (block["text"] for block in content if block["type"] == "text")


def _calls(messages: list[JsonObject]) -> Iterator[ToolCall]:
    results = {
        block["tool_use_id"]: block
        for message in messages
        for block in _blocks(message, "tool_result")
    }
    assistants = (m for m in messages if m["role"] == "assistant")
    for turn, message in enumerate(assistants):
        for block in _blocks(message, "tool_use"):
            if block["id"] in results:
                yield _call(turn, block, results[block["id"]])


def _blocks(message: JsonObject, kind: str) -> list[JsonObject]:
    content = message["content"]
    return [] if isinstance(content, str) else [b for b in content if b["type"] == kind]


def _call(turn: int, use: JsonObject, result: JsonObject) -> ToolCall:
    content = result.get("content", "")
    texts = list(_texts(content)) if content else []
    if result.get("is_error"):
        return ToolCall(turn, use["name"], use["input"], (), {}, "\n".join(texts))
    report: JsonObject = json.loads(texts[0]) if texts else {}
    about = {entry["source_id"]: entry for entry in report.get("hits", ())}
    hits = tuple(
        _hit(block, about.get(block["source"], {}))
        for block in content
        if isinstance(block, dict) and block["type"] == "search_result"
    )
    return ToolCall(turn, use["name"], use["input"], hits, report, None)


def _hit(block: JsonObject, about: JsonObject) -> Hit:
    title = str(about.get("title") or block["title"])
    section = str(block["title"]).removeprefix(title).removeprefix(" › ")
    return Hit(
        source_id=block["source"],
        title=title,
        section=section,
        date=about.get("date"),
        blocks=tuple(_texts(block["content"])),
    )


def _answers(messages: list[JsonObject]) -> Iterator[JsonObject]:
    """The answers given so far; text that is none is left out."""
    for message in messages:
        if message["role"] == "assistant" and (text := "".join(_texts(message["content"]))):
            try:
                answer = json.loads(text)
            except ValueError:
                continue
            if isinstance(answer, dict):
                yield answer
