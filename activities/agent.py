"""The turn loop every role shares: ask, journal, run tools, ask again, until there is an answer.

The loop is driven by the model's stop reason:

    end_turn, stop_sequence         the answer, checked by its schema and by the role's own gate
    tool_use                        tools run side by side, all results in one message
    pause_turn                      the provider's own tools need another turn
    max_tokens                      cut off: asked for again, shorter
    refusal                         an outcome
    model_context_window_exceeded   an outcome
    none                            the answer broke off: Temporal asks again

Messages are only ever appended, so every request of a conversation starts with the one before it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import ValidationError
from temporalio import activity

from activities.answers import Answer
from activities.journal import Journal, Turn
from activities.model import Models, spend_of
from activities.roles import Role, request
from workflows.budget import Allowance, Spend

JsonObject = dict[str, Any]
A = TypeVar("A", bound=Answer)

REPAIRS = 2
PAUSES = 8
BEAT_SECONDS = 1.0

Ending = Literal["refused", "cut_off", "malformed", "context_full", "out_of_budget", "no_answer"]


@dataclass(frozen=True)
class Answered(Generic[A]):
    answer: A
    spend: Spend
    complaints: tuple[str, ...] = ()
    """What the gate still has against it after the last repair."""


@dataclass(frozen=True)
class Unanswered:
    why: Ending
    detail: str
    spend: Spend


class Tools(Protocol):
    """What runs the tools a role was given."""

    async def run(self, name: str, tool_input: JsonObject, turn: int) -> JsonObject:
        """A `tool_result`'s content and `is_error`; never raises for what a model may mend."""

    def seen(self, turn: int, name: str, tool_input: JsonObject, result: JsonObject) -> None:
        """Told of every result in order, also of those the journal had kept."""


class NoTools:
    async def run(self, name: str, tool_input: JsonObject, turn: int) -> JsonObject:
        return {"is_error": True, "content": [_text(f"there is no tool {name!r}")]}

    def seen(self, turn: int, name: str, tool_input: JsonObject, result: JsonObject) -> None:
        """Nothing to remember."""


class Subagent:
    """One conversation with a model in one role, durable turn by turn."""

    def __init__(
        self, models: Models, journal: Journal, model: str, allowance: Allowance | None = None
    ) -> None:
        self._models = models
        self._journal = journal
        self._model = model
        self._allowance = allowance or Allowance()
        self.spend = Spend()

    async def converse(
        self,
        role: Role,
        answer: type[A],
        brief: JsonObject,
        tools: Tools | None = None,
        gate: Callable[[A], Awaitable[list[str]]] | None = None,
    ) -> Answered[A] | Unanswered:
        """The role's answer to the brief. `gate` lists what is wrong with it, to be sent back."""
        tools = tools or NoTools()
        messages: list[JsonObject] = [_user(_text(_brief(brief)))]
        repairs = pauses = 0
        for number in range(role.max_turns + REPAIRS + PAUSES):
            if self._allowance.spent_by(self.spend):
                return self._unanswered("out_of_budget", "the budget was reached")
            turn = await self._turn(role, messages)
            message = turn.message
            messages.append({"role": "assistant", "content": message["content"]})
            match message["stop_reason"]:
                case "tool_use":
                    late = number >= role.max_turns
                    messages.append(await self._run_tools(tools, turn, number, late))
                case "pause_turn" if pauses < PAUSES:
                    pauses += 1
                case "refusal":
                    return self._unanswered("refused", _refusal(message))
                case "model_context_window_exceeded":
                    return self._unanswered("context_full", "the conversation outgrew the model")
                case "max_tokens":
                    if repairs >= REPAIRS:
                        return self._unanswered("cut_off", "the answer was cut off at its limit")
                    repairs += 1
                    messages.append(_cut_off(message))
                case "end_turn" | "stop_sequence":
                    parsed = _parse(answer, message)
                    if isinstance(parsed, str):
                        complaints = [parsed]
                        if repairs >= REPAIRS:
                            return self._unanswered("malformed", parsed)
                    else:
                        complaints = await gate(parsed) if gate else []
                        if not complaints or repairs >= REPAIRS:
                            return Answered(parsed, self.spend, tuple(complaints))
                    repairs += 1
                    messages.append(_user(_text(_complaint(complaints))))
                case other:
                    return self._unanswered("no_answer", f"the model stopped for {other!r}")
        return self._unanswered("no_answer", f"no answer after {role.max_turns} turns")

    async def _turn(self, role: Role, messages: list[JsonObject]) -> Turn:
        body = request(role, self._model, messages)
        turn = await self._journal.turn(body, lambda: self._models.ask(body))
        self.spend += spend_of(self._model, turn.message, turn.bought_again)
        return turn

    async def _run_tools(self, tools: Tools, turn: Turn, number: int, late: bool) -> JsonObject:
        uses = [block for block in turn.message["content"] if block["type"] == "tool_use"]

        async def run(use: JsonObject) -> JsonObject:
            if late:
                return {"is_error": True, "content": [_text("no turns are left; answer now")]}
            return await tools.run(use["name"], use["input"], number)

        results = await asyncio.gather(
            *(self._journal.tool_result(turn, use["id"], partial(run, use)) for use in uses)
        )
        for use, result in zip(uses, results, strict=True):
            tools.seen(number, use["name"], use["input"], result)
        return _user(*(
            {"type": "tool_result", "tool_use_id": use["id"], "content": result["content"],
             "is_error": bool(result.get("is_error"))}
            for use, result in zip(uses, results, strict=True)
        ))  # fmt: skip

    def _unanswered(self, why: Ending, detail: str) -> Unanswered:
        return Unanswered(why, detail, self.spend)


@asynccontextmanager
async def beating() -> AsyncIterator[None]:
    """Heartbeats while the body runs: they say this worker lives; progress is in the journal."""

    async def beat() -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(BEAT_SECONDS)

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _brief(brief: JsonObject) -> str:
    return f"<brief>\n{json.dumps(brief, ensure_ascii=False, indent=1)}\n</brief>"


def _user(*blocks: JsonObject) -> JsonObject:
    return {"role": "user", "content": list(blocks)}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _parse(answer: type[A], message: JsonObject) -> A | str:
    """The answer, or what is wrong with it in words that can be sent back."""
    text = "".join(block["text"] for block in message["content"] if block["type"] == "text")
    try:
        return answer.model_validate_json(text)
    except ValidationError as wrong:
        first = [
            f"{'.'.join(str(p) for p in e['loc']) or 'answer'}: {e['msg']}"
            for e in wrong.errors(include_url=False, include_input=False)[:8]
        ]
        return "The answer does not follow the schema: " + "; ".join(first)


def _complaint(complaints: list[str]) -> str:
    listed = "\n".join(f"- {complaint}" for complaint in complaints[:40])
    return f"This answer cannot be used yet. Mend exactly this and answer again:\n{listed}"


def _cut_off(message: JsonObject) -> JsonObject:
    """A tool call that was cut off in mid-air still needs its result."""
    uses = [block for block in message["content"] if block["type"] == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": use["id"], "is_error": True,
         "content": [_text("the call was cut off and not run")]}
        for use in uses
    ]  # fmt: skip
    return _user(*results, _text("You were cut off at the limit. Answer again, and shorter."))


def _refusal(message: JsonObject) -> str:
    details = message.get("stop_details") or {}
    return str(details.get("explanation") or details.get("category") or "the model declined")
