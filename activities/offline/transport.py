"""The offline model at the wire: an `httpx2` transport that answers the Messages API.

The real client, its request building and its response parsing stay in use; only the network is
not. A skill per output schema makes the answer, whole or as a stream, as it is asked for.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx2

from activities.offline.conversation import Conversation, JsonObject, read_request
from activities.offline.stream import streamed


@dataclass(frozen=True)
class UseTools:
    """The next turn calls tools: (name, input) each."""

    calls: tuple[tuple[str, JsonObject], ...]


@dataclass(frozen=True)
class Reply:
    """The next turn is the answer."""

    answer: JsonObject


log = logging.getLogger(__name__)

Skill = Callable[[Conversation], UseTools | Reply]


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
    # Ids follow from what is asked, so the same conversation reads the same on every run, however
    # it is sent.
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
