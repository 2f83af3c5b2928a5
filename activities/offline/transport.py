"""The offline model at the wire: an `httpx2` transport that answers the Messages API.

The real client, its request building and its response parsing stay in use; only the network is
not. A skill per output schema makes the answer, whole or as a stream, as it is asked for.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping

import httpx2

from activities.offline.asking import answer, clarify
from activities.offline.judge import (
    evaluate,
    judge_claims,
    judge_draft,
    judge_gaps,
    judge_relations,
)
from activities.offline.planner import plan, review
from activities.offline.request import Conversation, JsonObject, Reply, UseTools, read_request
from activities.offline.researcher import research
from activities.offline.writer import write

log = logging.getLogger(__name__)

Skill = Callable[[Conversation], UseTools | Reply]
SKILLS: dict[str, Skill] = {
    "PlanDraft": plan,
    "PlanReview": review,
    "ClarifyAnswer": clarify,
    "ResearchAnswer": research,
    "EntailmentAnswer": judge_claims,
    "RelationsAnswer": judge_relations,
    "GapRulingsAnswer": judge_gaps,
    "DraftAnswer": write,
    "DraftJudgement": judge_draft,
    "EvaluationAnswer": evaluate,
    "AskAnswer": answer,
}


class OfflineTransport(httpx2.AsyncBaseTransport):
    """Answers `POST /v1/messages` by extraction; anything else is not found."""

    def __init__(self, skills: Mapping[str, Skill]) -> None:
        self._skills = skills

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path != "/v1/messages":
            return _error(404, "not_found_error", f"no such path: {request.url.path}")
        raw = await request.aread()
        try:
            body: JsonObject = json.loads(raw)
            wants_stream = bool(body.pop("stream", False))
            conversation = await asyncio.to_thread(read_request, body)
            skill = self._skills[conversation.wanted]
        except (ValueError, KeyError) as wrong:
            return _error(400, "invalid_request_error", f"offline model: {wrong}")
        # The engine computes for up to a second; other subagents' heartbeats must go on meanwhile.
        try:
            turn = await asyncio.to_thread(skill, conversation)
        except Exception as fault:
            log.exception("the offline engine failed on %s", conversation.wanted)
            return _error(500, "api_error", f"offline model: {type(fault).__name__}: {fault}")
        message = _message(body, turn)
        return streamed(message) if wants_stream else httpx2.Response(200, json=message)


def _message(body: JsonObject, turn: UseTools | Reply) -> JsonObject:
    # Ids follow from what is asked, so that a conversation reads the same on every run.
    asked = json.dumps(body, sort_keys=True, ensure_ascii=False).encode()
    digest = hashlib.sha256(asked).hexdigest()
    content: list[JsonObject]
    if isinstance(turn, UseTools):
        content = [
            {"type": "tool_use", "id": f"toolu_{digest[:16]}{i:02d}", "name": name, "input": args}
            for i, (name, args) in enumerate(turn.calls)
        ]
        stop_reason = "tool_use"
    else:
        content = [{"type": "text", "text": json.dumps(turn.answer, ensure_ascii=False)}]
        stop_reason = "end_turn"
    return {
        "id": f"msg_{digest[:24]}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        # No tokens are bought offline; the counts are of characters at four to a token.
        "usage": {
            "input_tokens": len(asked) // 4,
            "output_tokens": len(json.dumps(content)) // 4,
        },
    }


def _error(status: int, kind: str, message: str) -> httpx2.Response:
    return httpx2.Response(
        status, json={"type": "error", "error": {"type": kind, "message": message}}
    )


def streamed(message: JsonObject) -> httpx2.Response:
    """The message as a `stream: true` request is answered."""
    return httpx2.Response(
        200, headers={"content-type": "text/event-stream"}, content=body(events(message))
    )


def body(parts: Iterable[JsonObject]) -> bytes:
    return b"".join(
        f"event: {part['type']}\ndata: {json.dumps(part, ensure_ascii=False)}\n\n".encode()
        for part in parts
    )


def events(message: JsonObject) -> Iterator[JsonObject]:
    """`message_start` to `message_stop`; put together again they are the message."""
    ending = {key: message.get(key) for key in ("stop_reason", "stop_sequence")}
    counts = {"output_tokens": message["usage"]["output_tokens"]}
    usage = {**message["usage"], "output_tokens": 0}
    start = {**message, "content": [], **dict.fromkeys(ending), "usage": usage}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            given = json.dumps(block["input"], ensure_ascii=False)
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": given}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": ending, "usage": counts}
    yield {"type": "message_stop"}
