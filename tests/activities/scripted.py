"""The fake at the wire: answers from a list, and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import httpx2

from activities.agent.conversation import Answered, Unanswered
from activities.agent.interrupts import Interrupts
from activities.agent.loop import Subagent, Tools
from activities.agent.request_template import SEARCH as SEARCH_TOOL
from activities.agent.request_template import build_template
from activities.agent.schemas import PlanReview
from activities.agent.turns import TurnSource
from activities.llm.client import Models
from activities.storage.journal import Journal
from activities.storage.store import Store
from workflows.config.roles import REVIEWER
from workflows.config.store_keys import control_key
from workflows.contracts.messages import ControlMessages
from workflows.contracts.spend import Allowance

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


Scripted = JsonObject | httpx2.Response | Exception | Callable[[JsonObject], Any]


class ScriptedTransport(httpx2.AsyncBaseTransport):
    """Gives its answers in order; what was asked is in `requests`."""

    def __init__(self, answers: Iterable[Scripted]) -> None:
        self._answers = iter(answers)
        self.requests: list[JsonObject] = []

    def script(self, *answers: Scripted) -> None:
        """From now on these."""
        self._answers = iter(answers)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(await request.aread())
        self.requests.append(body)
        answer = next(self._answers)
        if callable(answer):
            answer = answer(body)
            if isinstance(answer, Awaitable):
                answer = await answer
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx2.Response) else httpx2.Response(200, json=answer)


GOOD = message(text('{"changes": []}'))
SEARCH = message(use("search", query="a"), stop="tool_use")


def searching(*queries: str) -> JsonObject:
    """A turn that searches; every query a use of its own."""
    uses = (use("search", f"toolu_{query}", query=query) for query in queries)
    return message(*uses, stop="tool_use")


def reviewed(reason: str) -> JsonObject:
    """An answer that can be told from others."""
    change = {"action": "drop", "facet_ids": ["f"], "reason": reason}
    return message(text(json.dumps({"changes": [change]})))


def plain(messages: list[JsonObject]) -> list[JsonObject]:
    """Messages without the marks for the prompt cache, which move with the conversation."""
    return [
        {**m, "content": [{k: v for k, v in b.items() if k != "cache_control"}
                          for b in m["content"]]}
        for m in messages
    ]  # fmt: skip


def words(request: JsonObject) -> str:
    """What our last message of a request says."""
    return "\n".join(b["text"] for b in request["messages"][-1]["content"] if b["type"] == "text")


class Notebook(Tools):
    """Tools that answer, and remember."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[int, str]] = []
        self.observed: list[tuple[int, list[str]]] = []
        self.forgot = 0

    async def run(self, name: str, tool_input: JsonObject, turn: int) -> JsonObject:
        return {"content": [text(f"result of {tool_input['query']}")]}

    def record(self, turn: int, name: str, tool_input: JsonObject, result: JsonObject) -> None:
        self.told.append((turn, tool_input["query"]))

    async def observe(self, turn: int, message: JsonObject) -> None:
        self.observed.append((turn, [block["type"] for block in message["content"]]))

    def start_over(self, *, is_new_attempt: bool) -> None:
        if is_new_attempt:
            self.told.clear()
        else:
            self.forgot += 1


class Setting:
    """A store, a scripted model, and subagents that talk to it."""

    def __init__(self, folder: Path, answers: Iterable[Scripted], max_turns: int = 3) -> None:
        self.wire = ScriptedTransport(answers)
        self.tools = Notebook()
        self.store = Store.open(str(folder))
        self.models = Models(self.wire)
        made = build_template(REVIEWER, "offline", "high", [{**SEARCH_TOOL}])
        self.template = made.model_copy(update={"max_turns": max_turns})

    async def post(self, **orders: Any) -> None:
        data = ControlMessages.model_validate(orders).model_dump_json().encode()
        await self.store.replace(control_key("job"), data)

    def subagent(self, allowance: Allowance | None = None, **limits: Any) -> Subagent:
        interrupts = Interrupts(self.store, "job", "task", allowance, finishes=True, **limits)
        journal = Journal(self.store, "job")
        return Subagent(TurnSource(self.models, journal, self.template, interrupts))

    async def talk(
        self,
        allowance: Allowance | None = None,
        gate: Any = None,
        follow_ups: tuple[str, ...] = (),
        hand_over: Any = None,
        attempts: int = 1,
        window: int = 0,
        **limits: Any,
    ) -> Answered[PlanReview] | Unanswered:
        self.models = Models(self.wire, context_window=window)
        subagent = self.subagent(allowance, **limits)
        return await subagent.converse(
            PlanReview, {"question": "?"}, self.tools, gate, follow_ups, hand_over, attempts
        )
