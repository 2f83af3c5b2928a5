"""Builds the messages of a subagent's conversation, and reads those of the model.

A brief, a note, a follow-up and the final-answer request each have a tag of their own, so that the
model, and a reader of the journal, can tell who speaks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from workflows.contracts.evidence import Source

JsonObject = dict[str, Any]

FinalAnswerReason = Literal["time", "money", "finish", "context"]
"""Why a subagent is asked for its final answer before it is done."""

FINAL_ANSWER_REASONS: dict[FinalAnswerReason, str] = {
    "time": "the time was up",
    "money": "the budget was reached",
    "finish": "the job was told to finish",
    "context": "the conversation outgrew the model",
}

_LISTED = 40
_LONGEST_REASON = 600
_THINKING = ("thinking", "redacted_thinking")


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def user(*blocks: JsonObject) -> JsonObject:
    return {"role": "user", "content": list(blocks)}


def opening(brief: JsonObject) -> JsonObject:
    # Indented JSON costs tokens, and Python's encoder is many times slower at it.
    return user(text(f"<brief>\n{json.dumps(brief, ensure_ascii=False)}\n</brief>"))


def note(words: str) -> str:
    return f"<note>\n{_untagged(words, 'note')}\n</note>"


def follow_up(question: str) -> JsonObject:
    return user(
        text(
            f"<follow-up>\n{_untagged(question, 'follow-up')}\n</follow-up>\n"
            "You may search one cycle more for this. Answer with what is new; what you have "
            "already answered is kept."
        )
    )


def final_answer_request(why: FinalAnswerReason) -> str:
    if why == "context":
        return (
            "<last-call>\nThis conversation is nearly as long as it can be. Answer now with "
            "everything found so far; another will go on from your answer, and knows nothing "
            "else. Name every open point as missing.\n</last-call>"
        )
    return (
        f"<last-call>\n{FINAL_ANSWER_REASONS[why].capitalize()}: no tool can be called any more. "
        "Answer now with what you have, and name what is missing.\n</last-call>"
    )


def earlier_attempts(reasons: Sequence[str]) -> JsonObject:
    """Tells a fresh attempt what became of those before it."""
    listed = "\n".join(f"- {_untagged(reason[:_LONGEST_REASON], 'attempt')}" for reason in reasons)
    return user(
        text(
            f"<attempt>\nThis is attempt {len(reasons) + 1}. Earlier ones gave no answer that "
            f"could be used:\n{listed}\nStart afresh, and avoid that.\n</attempt>"
        )
    )


def complaint(complaints: Sequence[str]) -> JsonObject:
    listed = "\n".join(f"- {one}" for one in complaints[:_LISTED])
    return user(
        text(f"This answer cannot be used yet. Mend exactly this and answer again:\n{listed}")
    )


def results(uses: Iterable[JsonObject], given: Iterable[JsonObject]) -> JsonObject:
    """All results of a turn's tool calls, in one message."""
    return user(*(
        {"type": "tool_result", "tool_use_id": use["id"], "content": result["content"],
         "is_error": bool(result.get("is_error"))}
        for use, result in zip(uses, given, strict=True)
    ))  # fmt: skip


class Passage(NamedTuple):
    """A part of a source that is shown to a model."""

    source: Source
    start: int
    title: str
    blocks: Sequence[str]


def show_passages(report: JsonObject, passages: Sequence[Passage]) -> JsonObject:
    """What a tool found: the report with a line for each source, then the passages."""
    sources = {passage.source.id: passage.source for passage in passages}
    hits = [
        {"source_id": source.id, **source.model_dump(include={"title", "date", "kind", "uri"})}
        for source in sources.values()
    ]
    found = [
        {
            "type": "search_result",
            "source": passage.source.id,
            "title": passage.title,
            "content": [text(block) for block in passage.blocks],
        }
        for passage in passages
        if passage.blocks
    ]
    return {
        "content": [text(json.dumps({**report, "hits": hits}, ensure_ascii=False)), *found],
        "sources": [source.model_dump(mode="json") for source in sources.values()],
        "passages": [(passage.source.id, passage.start) for passage in passages],
    }


def tool_error(words: str) -> JsonObject:
    return {"is_error": True, "content": [text(words)]}


def cut_off(message: JsonObject) -> JsonObject:
    """Asks again for an answer that was cut off; a tool call that was cut off needs a result."""
    uses = tool_uses(message)
    answered = results(uses, [tool_error("the call was cut off and not run") for _ in uses])
    again = text("You were cut off at the limit. Answer again, and shorter.")
    return user(*answered["content"], again)


def sendable(content: Sequence[JsonObject]) -> list[JsonObject]:
    """The blocks of a model's message as the API takes them back.

    It refuses a message that ends in thinking, a text without words, and a tool input that is no
    object, although models produce all three.
    """
    blocks = [
        {**block, "input": {"input": block["input"]}} if _has_odd_input(block) else block
        for block in content
        if block["type"] != "text" or block["text"].strip()
    ]
    while blocks and blocks[-1]["type"] in _THINKING:
        blocks.pop()
    return blocks


def _has_odd_input(block: JsonObject) -> bool:
    return "input" in block and not isinstance(block["input"], dict)


def tool_uses(message: JsonObject) -> list[JsonObject]:
    return [block for block in message["content"] if block["type"] == "tool_use"]


def answer_text(message: JsonObject) -> str:
    """The text after the last of the provider's own tools: remarks before it are not the answer."""
    content: list[JsonObject] = message["content"]
    used = [at for at, block in enumerate(content) if _is_server_tool(block["type"])]
    last = content[used[-1] + 1 :] if used else content
    return "".join(block["text"] for block in last if block["type"] == "text")


def _is_server_tool(kind: str) -> bool:
    return kind == "server_tool_use" or kind.endswith("_tool_result")


def refusal(message: JsonObject) -> str:
    details = message.get("stop_details") or {}
    explanation = str(details.get("explanation") or "the model declined")
    category = details.get("category")
    return f"{explanation} (category: {category})" if category else explanation


def size(message: JsonObject) -> int:
    """Tokens of the conversation up to and with this message, from what the provider counted.

    An answer with server tools is made in several passes, each of which reads the conversation
    from the cache; the usage has their sum. What one pass read is their average.
    """
    usage = message.get("usage") or {}
    counted = ("input_tokens", "cache_creation_input_tokens", "output_tokens")
    read = int(usage.get("cache_read_input_tokens") or 0)
    return read // _passes(message["content"]) + sum(int(usage.get(name) or 0) for name in counted)


def _passes(content: Sequence[JsonObject]) -> int:
    """One more than there are runs of results: results that follow each other came together."""
    results = [str(block["type"]).endswith("_tool_result") for block in content]
    return 1 + sum(now and not before for before, now in pairwise([False, *results]))


def _untagged(words: str, tag: str) -> str:
    """The text, changed so that it cannot close the tag it stands in."""
    return words.replace(f"</{tag}", f"< /{tag}")
