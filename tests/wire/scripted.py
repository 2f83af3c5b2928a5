"""The fake at the wire: answers from a list, and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import httpx2

JsonObject = dict[str, Any]


def message(*content: JsonObject, stop: str | None = "end_turn", **extra: object) -> JsonObject:
    return {
        "id": "msg_test",
        "type": "message",
        "role": "assistant",
        "model": "test",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
        **extra,
    }


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def use(name: str, use_id: str = "toolu_1", **arguments: object) -> JsonObject:
    return {"type": "tool_use", "id": use_id, "name": name, "input": arguments}


def failure(status: int, kind: str, says: str = "no", **headers: str) -> httpx2.Response:
    return httpx2.Response(
        status,
        json={"type": "error", "error": {"type": kind, "message": says}},
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


Scripted = JsonObject | httpx2.Response | Exception | Callable[[JsonObject], JsonObject]


class ScriptedTransport(httpx2.AsyncBaseTransport):
    """Gives its answers in order; what was asked is in `requests`."""

    def __init__(self, answers: Iterable[Scripted]) -> None:
        self._answers = iter(answers)
        self.requests: list[JsonObject] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(await request.aread())
        self.requests.append(body)
        answer = next(self._answers)
        if callable(answer):
            answer = answer(body)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx2.Response) else httpx2.Response(200, json=answer)
