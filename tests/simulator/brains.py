"""What answers a valid request: any callable from the request to a turn.

A brain sees the request as a model would and says its content and why it stopped. Ids, signatures,
usage, caching and delivery are the simulator's business.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.simulator.blocks import as_blocks
from tests.simulator.errors import ApiError

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Turn:
    content: list[JsonObject] = field(default_factory=list)
    stop_reason: str | None = None
    """`tool_use` or `end_turn`, as the content has it, unless said."""
    stop_details: JsonObject | None = None

    @property
    def stopped_for(self) -> str:
        uses = any(block["type"] == "tool_use" for block in self.content)
        return self.stop_reason or ("tool_use" if uses else "end_turn")


Brain = Callable[[JsonObject], Turn | Awaitable[Turn]]


async def think(brain: Brain, body: JsonObject) -> Turn:
    turn = brain(body)
    return await turn if inspect.isawaitable(turn) else turn


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def use(name: str, **arguments: object) -> JsonObject:
    return {"type": "tool_use", "name": name, "input": arguments}


def echo(body: JsonObject) -> Turn:
    """Says what it was told last: enough where only the wire matters."""
    last = [block.get("text") for block in as_blocks(body["messages"][-1]["content"])]
    return Turn([text(f"You said: {' '.join(words for words in last if words) or 'nothing'}")])


Said = Turn | str | JsonObject | list[JsonObject] | Exception | Callable[[JsonObject], Any]


class Scripted:
    """Answers from a list, in order; what it was asked is in `asked`.

    An answer is a turn, a text, a block or blocks, an answer object (see `json_answer`), an
    exception to raise, or a function of the request that gives one of these.
    """

    def __init__(self, answers: Iterable[Said]) -> None:
        self._answers = iter(answers)
        self.asked: list[JsonObject] = []

    def __call__(self, body: JsonObject) -> Turn:
        self.asked.append(body)
        try:
            return said(next(self._answers), body)
        except StopIteration:
            raise ApiError(500, "the script has no answer left; give it one more") from None


def said(scripted: Said, body: JsonObject) -> Turn:
    answer: Any = scripted(body) if callable(scripted) else scripted
    if isinstance(answer, Exception):
        raise answer
    if isinstance(answer, Turn):
        return answer
    if isinstance(answer, str):
        return Turn([text(answer)])
    return Turn(answer if isinstance(answer, list) else [answer])


def json_answer(answer: JsonObject) -> Turn:
    """The text a structured output arrives in."""
    return Turn([text(json.dumps(answer, ensure_ascii=False))])


class ByTitle:
    """One brain for each schema, told apart by its title."""

    def __init__(self, brains: Mapping[str, Brain], otherwise: Brain = echo) -> None:
        self._brains = brains
        self._otherwise = otherwise

    async def __call__(self, body: JsonObject) -> Turn:
        schema = ((body.get("output_config") or {}).get("format") or {}).get("schema") or {}
        brain = self._brains.get(schema.get("title", ""), self._otherwise)
        return await think(brain, body)


class Offline:
    """The project's own extractive engine, asked through its transport."""

    def __init__(self) -> None:
        from activities.offline.transport import SKILLS, OfflineTransport

        self._engine = OfflineTransport(SKILLS)

    async def __call__(self, body: JsonObject) -> Turn:
        plain = {key: value for key, value in body.items() if key != "stream"}
        request = httpx2.Request("POST", "http://offline.invalid/v1/messages", json=plain)
        response = await self._engine.handle_async_request(request)
        answer: JsonObject = json.loads(await response.aread())
        if response.status_code != 200:
            raise ApiError(response.status_code, answer["error"]["message"])
        return Turn(answer["content"], answer["stop_reason"])


BRAINS: dict[str, Callable[[], Brain]] = {"offline": Offline, "echo": lambda: echo}
