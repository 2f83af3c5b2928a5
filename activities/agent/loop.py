"""The turn loop that all roles share: call the model, run tools, call again, until it answers.

The model's stop reason drives the loop:

    end_turn, stop_sequence         the answer; its schema and the role's gate check it
    tool_use                        tools run in parallel, all results go in one message
    pause_turn                      the provider's own tools need another turn
    max_tokens                      the answer was cut off: asked for again, shorter
    refusal                         an outcome
    model_context_window_exceeded   an outcome
    none                            the stream broke off: Temporal retries the activity

`turns.py` decides whether a turn comes from the journal or from the model. After an answer the
conversation can go on with a follow-up; one that nears the context window is
handed over to a new one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from pydantic import ValidationError

from activities.agent import messages as say
from activities.agent.conversation import Answered, Conversation, Stop, Unanswered
from activities.agent.interrupts import Interrupts
from activities.agent.messages import FINAL_ANSWER_REASONS, JsonObject
from activities.agent.request_template import RequestTemplate
from activities.agent.schemas import Answer
from activities.agent.turns import TurnSource
from activities.fleet.heartbeat import show_progress
from activities.llm.batches import Batches
from activities.llm.client import Models
from activities.storage.journal import Journal, Turn
from activities.telemetry import TurnTelemetry
from workflows.contracts.spend import Spend

A = TypeVar("A", bound=Answer)
Gate = Callable[[A], Awaitable[list[str]]]
HandOver = Callable[[Sequence[A], str | None], JsonObject | None]

MAX_REPAIRS = 2
MAX_PAUSES = 8
MAX_HAND_OVERS = 3
LATE_TURNS = 2
"""Turns after the final-answer request; none where the money is spent."""


class Tools(Protocol):
    """Runs the tools of a role."""

    @property
    def sources(self) -> Mapping[str, object]:
        """The documents that came into sight."""

    async def run(self, name: str, tool_input: JsonObject, turn: int) -> JsonObject:
        """A `tool_result`'s content and `is_error`; raises only what the model cannot repair."""

    def record(self, turn: int, name: str, tool_input: JsonObject, result: JsonObject) -> None:
        """Called for every result in order, also for those from the journal."""

    async def observe(self, turn: int, message: JsonObject) -> None:
        """Called for every message of the model, which may hold results of the provider's tools."""

    def forget(self) -> None:
        """A new conversation starts, in which nothing has been shown yet."""


class NoTools:
    sources: Mapping[str, object] = {}

    async def run(self, name: str, tool_input: JsonObject, turn: int) -> JsonObject:
        return say.tool_error(f"there is no tool {name!r}")

    def record(self, turn: int, name: str, tool_input: JsonObject, result: JsonObject) -> None:
        """Nothing to record."""

    async def observe(self, turn: int, message: JsonObject) -> None:
        """Nothing to observe."""

    def forget(self) -> None:
        """Nothing to forget."""


Reviewed = tuple[A, tuple[str, ...]]
"""An answer, and what the gate finds wrong with it."""


@dataclass(frozen=True)
class _Task(Generic[A]):
    """What is asked of the subagent, and what checks its answer."""

    schema: type[A]
    tools: Tools
    gate: Gate[A] | None


@dataclass
class _Progress(Generic[A]):
    """What was needed so far on the way to one answer."""

    reviewed: Reviewed[A] | None = None
    """The newest answer that follows the schema; taken where it cannot be repaired."""
    repairs: int = 0
    pauses: int = 0
    late_turns: int = 0


class Subagent:
    """One subagent in one role, durable turn by turn."""

    def __init__(
        self,
        models: Models,
        journal: Journal,
        template: RequestTemplate,
        interrupts: Interrupts,
        batches: Batches | None = None,
        telemetry: TurnTelemetry | None = None,
    ) -> None:
        """With `batches`, turns are made in the provider's batches: cheaper, and much later."""
        telemetry = telemetry or TurnTelemetry(template.role, template.model)
        self._journal = journal
        self._template = template
        self._source = TurnSource(models, journal, template, interrupts, batches, telemetry)
        self._turns = 0
        facet = {"facet": telemetry.facet} if telemetry.facet else {}
        show_progress(role=telemetry.role, **facet)
        self.answers: list[Any] = []
        """The answers so far, also where the last one never came."""

    @property
    def spend(self) -> Spend:
        """What is new since the last follow-up: the rest was counted when it was asked."""
        return self._source.spend

    async def converse(
        self,
        schema: type[A],
        brief: JsonObject,
        tools: Tools | None = None,
        gate: Gate[A] | None = None,
        follow_ups: Sequence[str] = (),
        hand_over: HandOver[A] | None = None,
    ) -> Answered[A] | Unanswered:
        """The role's answer to the brief, and then to each follow-up.

        `gate` lists what is wrong with an answer, to be sent back. `hand_over` makes the brief of a
        new conversation from the answers so far and the current follow-up; None ends it there.
        """
        task = _Task(schema, tools or NoTools(), gate)
        conversation = Conversation(say.opening(brief))
        question: str | None = None
        remaining = list(follow_ups)
        hand_overs = 0
        while True:
            result = await self._next_answer(task, conversation)
            if isinstance(result, Stop):
                if not self.answers:
                    return Unanswered(result.why, result.detail, self.spend)
                return self._answered(self.answers[-1], (), result.detail)
            answer, complaints = result
            self.answers.append(answer)
            if conversation.final_answer == "context" and hand_over and hand_overs < MAX_HAND_OVERS:
                next_brief = hand_over(self.answers, question)
                if next_brief is not None:
                    hand_overs += 1
                    conversation = Conversation(say.opening(next_brief))
                    task.tools.forget()
                    continue
            if not remaining:
                reason = conversation.final_answer
                return self._answered(
                    answer, complaints, FINAL_ANSWER_REASONS[reason] if reason else ""
                )
            question = remaining.pop(0)
            conversation.add_user(say.follow_up(question))
            conversation.final_answer = None
            if not remaining:
                self._source.reset_spend()

    async def has_conversation(self, brief: JsonObject) -> bool:
        """Whether the journal holds a conversation that opens with this brief."""
        return await self._journal.has_conversation(self._template.request([say.opening(brief)]))

    # --- from turn to answer --------------------------------------------------------------------

    async def _next_answer(self, task: _Task[A], conversation: Conversation) -> Reviewed[A] | Stop:
        """The next answer. One that cannot be repaired is taken with the complaints about it."""
        progress: _Progress[A] = _Progress()
        max_turns = self._template.max_turns
        for number in range(max_turns + MAX_REPAIRS + MAX_PAUSES):
            turn = await self._source.next_turn(conversation, progress.reviewed is not None)
            if isinstance(turn, Stop):
                return progress.reviewed or turn
            await self._receive(turn, conversation, task.tools)
            closed = conversation.final_answer is not None or number >= max_turns
            result = await self._react(turn, conversation, task, progress, closed)
            result = result or _stop_if_late(conversation, progress)
            if result is not None:
                return progress.reviewed or result
        return progress.reviewed or Stop("no_answer", f"no answer after {max_turns} turns")

    async def _receive(self, turn: Turn, conversation: Conversation, tools: Tools) -> None:
        conversation.add_assistant(turn.message)
        await tools.observe(self._turns, turn.message)
        self._turns += 1
        show_progress(turns=self._turns, sources=len(tools.sources))

    async def _react(
        self,
        turn: Turn,
        conversation: Conversation,
        task: _Task[A],
        progress: _Progress[A],
        closed: bool,
    ) -> Reviewed[A] | Stop | None:
        """Do what the stop reason asks for; None where the conversation goes on."""
        message = turn.message
        match message["stop_reason"]:
            case "tool_use":
                conversation.add_user(await self._run_tools(task.tools, turn, closed))
            case "pause_turn" if progress.pauses < MAX_PAUSES:
                progress.pauses += 1
            case "max_tokens" if progress.repairs < MAX_REPAIRS:
                progress.repairs += 1
                conversation.add_user(say.cut_off(message))
            case "end_turn" | "stop_sequence":
                return await self._review(message, conversation, task, progress)
            case _:
                return Stop.for_stop_reason(message)
        return None

    async def _review(
        self,
        message: JsonObject,
        conversation: Conversation,
        task: _Task[A],
        progress: _Progress[A],
    ) -> Reviewed[A] | Stop | None:
        """Check the answer; None where it was sent back with the complaints about it."""
        parsed = _parse(task.schema, message)
        result: Reviewed[A] | Stop
        if isinstance(parsed, str):
            complaints: tuple[str, ...] = (parsed,)
            result = Stop("malformed", parsed)
        else:
            complaints = tuple(await task.gate(parsed)) if task.gate else ()
            result = progress.reviewed = parsed, complaints
        if not complaints or progress.repairs >= MAX_REPAIRS:
            return result
        progress.repairs += 1
        conversation.add_user(say.complaint(complaints))
        return None

    async def _run_tools(self, tools: Tools, turn: Turn, closed: bool) -> JsonObject:
        uses = say.tool_uses(turn.message)
        number = self._turns - 1

        async def run(use: JsonObject) -> JsonObject:
            if closed:
                return say.tool_error("no turns are left; answer now")
            return await tools.run(use["name"], use["input"], number)

        results = await asyncio.gather(
            *(self._journal.tool_result(turn, use["id"], partial(run, use)) for use in uses)
        )
        for use, result in zip(uses, results, strict=True):
            tools.record(number, use["name"], use["input"], result)
        return say.results(uses, results)

    def _answered(self, answer: A, complaints: tuple[str, ...], cut_short: str) -> Answered[A]:
        return Answered(answer, self.spend, complaints, tuple(self.answers), cut_short)


def _stop_if_late(conversation: Conversation, progress: _Progress[A]) -> Stop | None:
    """Stop where the final answer was requested and did not come."""
    reason = conversation.final_answer
    if reason is None:
        return None
    progress.late_turns += 1
    if reason == "money" or progress.late_turns > LATE_TURNS:
        return Stop.for_final_answer(reason)
    return None


def _parse(schema: type[A], message: JsonObject) -> A | str:
    """The answer, or what is wrong with it in words that can be sent back."""
    try:
        return schema.model_validate_json(say.answer_text(message))
    except ValidationError as error:
        faults = [
            f"{'.'.join(str(p) for p in e['loc']) or 'answer'}: {e['msg']}"
            for e in error.errors(include_url=False, include_input=False)[:8]
        ]
        return "The answer does not follow the schema: " + "; ".join(faults)
