"""The turn loop that all roles share: call the model, run tools, call again, until it answers.

The model's stop reason drives the loop:

    end_turn, stop_sequence         the answer; its schema and the role's gate check it
    tool_use                        tools run in parallel, all results go in one message
    pause_turn                      the provider's own tools need another turn
    max_tokens                      the answer was cut off: asked for again, shorter
    refusal                         an outcome
    model_context_window_exceeded   an outcome
    any other                       the answer, if it can be used
    none                            the stream broke off: Temporal retries the activity

`turns.py` decides whether a turn comes from the journal or from the model. After an answer the
conversation can go on with a follow-up; one that nears the context window is handed over to a new
one. Turns that lead to no usable answer close the attempt in the journal: the next one goes back to
the question and says what went wrong, so that no retry replays what failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from activities.agent import messages as say
from activities.agent.conversation import Answered, Conversation, Stop, Unanswered
from activities.agent.messages import FINAL_ANSWER_REASONS, JsonObject
from activities.agent.schemas import Answer
from activities.agent.turns import TurnSource
from activities.fleet.heartbeat import show_progress
from activities.storage.journal import Turn
from workflows.contracts.evidence import Source
from workflows.contracts.spend import Spend

A = TypeVar("A", bound=Answer)
Gate = Callable[[A], Awaitable[list[str]]]
HandOver = Callable[[Sequence[A], str | None], JsonObject | None]

ATTEMPTS = 2
"""At one answer, in one call of the activity."""
MAX_REPAIRS = 2
MAX_PAUSES = 8
MAX_HAND_OVERS = 3
MAX_TOOL_CALLS = 24
"""In one turn. Every call is answered, those above the limit with an error."""
LATE_TURNS = 2
"""Turns after the final-answer request; none where the money is spent."""


class Tools:
    """The tools of a role; this one has none."""

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}
        """The documents that came into sight."""

    async def run(self, name: str, tool_input: JsonObject, turn: int) -> JsonObject:
        """A `tool_result`'s content and `is_error`; raises only what the model cannot repair."""
        return say.tool_error(f"there is no tool {name!r}")

    def record(self, turn: int, name: str, tool_input: JsonObject, result: JsonObject) -> None:
        """Called for every result in order, also for those from the journal."""

    async def observe(self, turn: int, message: JsonObject) -> None:
        """Called for every message of the model, which may hold results of the provider's tools."""

    def start_over(self, *, is_new_attempt: bool) -> None:
        """A new conversation starts, in which nothing has been shown yet.

        A new attempt may search as much as the one before; a hand-over continues.
        """


_CUT_OFF = ("max_tokens", "model_context_window_exceeded")

Reviewed = tuple[A, tuple[str, ...]]
"""An answer, and what the gate finds wrong with it."""


@dataclass(frozen=True)
class _Task(Generic[A]):
    """What is asked of the subagent, and what checks its answer."""

    schema: type[A]
    tools: Tools
    gate: Gate[A] | None
    attempts: int


@dataclass
class _Attempt(Generic[A]):
    """One attempt at one answer, and what was needed on the way to it."""

    task: _Task[A]
    conversation: Conversation
    reviewed: Reviewed[A] | None = None
    """The newest answer that follows the schema; taken where it cannot be repaired."""
    repairs: int = 0
    pauses: int = 0
    late_turns: int = 0

    def stop_if_late(self) -> Stop | None:
        """Stop where the final answer was requested and did not come."""
        reason = self.conversation.final_answer
        if reason is None:
            return None
        self.late_turns += 1
        is_over = reason == "money" or self.late_turns > LATE_TURNS
        return Stop.because(reason) if is_over else None


class Subagent:
    """One subagent in one role, durable turn by turn."""

    def __init__(self, source: TurnSource) -> None:
        self._source = source
        self._journal = source.journal
        self._turns = 0
        facet = {"facet": source.telemetry.facet} if source.telemetry.facet else {}
        show_progress(role=source.telemetry.role, **facet)
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
        attempts: int = ATTEMPTS,
    ) -> Answered[A] | Unanswered:
        """The role's answer to the brief, and then to each follow-up.

        `gate` lists what is wrong with an answer, to be sent back. `hand_over` makes the brief of a
        new conversation from the answers so far and the current follow-up; None ends it there.
        """
        task = _Task(schema, tools or Tools(), gate, attempts)
        conversation = Conversation([say.opening(brief)])
        question: str | None = None
        remaining = list(follow_ups)
        hand_overs = 0
        while True:
            conversation, result = await self._next_answer(task, conversation)
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
                    conversation = Conversation([say.opening(next_brief)])
                    task.tools.start_over(is_new_attempt=False)
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
        request = self._source.request(Conversation([say.opening(brief)]))
        return await self._journal.has_conversation(request)

    # --- attempts at an answer ------------------------------------------------------------------

    async def _next_answer(
        self, task: _Task[A], question: Conversation
    ) -> tuple[Conversation, Reviewed[A] | Stop]:
        """The answer to a conversation's last message, and the conversation with it."""
        request = self._source.request(question)
        closed = [] if self._source.is_ahead else await self._journal.closed_attempts(request)
        for attempt in closed:
            # Their turns are not replayed, and were paid all the same.
            self._source.spend += Spend.model_validate(attempt["spend"])
        for left in reversed(range(task.attempts)):
            conversation, spent = question.copy(), self._source.spend
            if closed:
                conversation.add_user(say.earlier_attempts([one["reason"] for one in closed]))
            result = await self._attempt(_Attempt(task, conversation))
            if not (isinstance(result, Stop) and result.closes_attempt):
                break
            spend = (self._source.spend - spent).model_dump(mode="json")
            closed.append({"reason": f"{result.why}: {result.detail}", "spend": spend})
            await self._journal.close_attempt(request, len(closed) - 1, closed[-1])
            if not (left and result.is_worth_another_attempt):
                break
            task.tools.start_over(is_new_attempt=True)
        return conversation, result

    async def _attempt(self, attempt: _Attempt[A]) -> Reviewed[A] | Stop:
        """One answer. One that cannot be repaired is taken with the complaints about it."""
        max_turns = self._source.template.max_turns
        for number in range(max_turns + MAX_REPAIRS + MAX_PAUSES):
            conversation = attempt.conversation
            turn = await self._source.next_turn(conversation, attempt.reviewed is not None)
            if isinstance(turn, Stop):
                return attempt.reviewed or turn
            is_closed = conversation.final_answer is not None or number >= max_turns
            result = await self._react(turn, attempt, is_closed) or attempt.stop_if_late()
            if result is not None:
                return attempt.reviewed or result
        return attempt.reviewed or Stop("no_answer", f"no answer after {max_turns} turns")

    # --- from turn to answer --------------------------------------------------------------------

    async def _react(
        self, turn: Turn, attempt: _Attempt[A], is_closed: bool
    ) -> Reviewed[A] | Stop | None:
        """Do what the message asks for; None where the conversation goes on."""
        message, tools = turn.message, attempt.task.tools
        said_something = attempt.conversation.add_assistant(message)
        await tools.observe(self._turns, message)
        self._turns += 1
        show_progress(turns=self._turns, sources=len(tools.sources))
        stop_reason = message["stop_reason"]
        if stop_reason == "refusal":
            return Stop("refused", say.refusal(message))
        if stop_reason == "pause_turn":
            attempt.pauses += 1
            if attempt.pauses > MAX_PAUSES or not said_something:
                return Stop("no_answer", "the model paused again and again without an answer")
            return None
        if say.tool_uses(message) and stop_reason not in _CUT_OFF:
            attempt.conversation.add_user(await self._run_tools(tools, turn, is_closed))
            return None
        return await self._review(message, attempt)

    async def _review(self, message: JsonObject, attempt: _Attempt[A]) -> Reviewed[A] | Stop | None:
        """Check the answer; None where it was sent back with the complaints about it."""
        parsed = _parse(attempt.task.schema, message)
        result: Reviewed[A] | Stop
        if isinstance(parsed, Stop):
            result, back = parsed, say.complaint([parsed.detail])
            if parsed.why == "cut_off":
                back = say.cut_off(message)
            elif parsed.why == "context_full":
                return result
        else:
            gate = attempt.task.gate
            complaints = tuple(await gate(parsed)) if gate else ()
            result = attempt.reviewed = parsed, complaints
            if not complaints:
                return result
            back = say.complaint(complaints)
        if attempt.repairs >= MAX_REPAIRS:
            return result
        attempt.repairs += 1
        attempt.conversation.add_user(back)
        return None

    async def _run_tools(self, tools: Tools, turn: Turn, is_closed: bool) -> JsonObject:
        uses = say.tool_uses(turn.message)
        number = self._turns - 1

        async def run(at: int, use: JsonObject) -> JsonObject:
            if is_closed:
                return say.tool_error("no turns are left; answer now")
            if at >= MAX_TOOL_CALLS:
                return say.tool_error(
                    f"not run: {MAX_TOOL_CALLS} calls are run in a turn; repeat what you still need"
                )
            if not isinstance(use["input"], dict):
                return say.tool_error(f"{use['name']} was not run: its input is not an object")
            return await tools.run(use["name"], use["input"], number)

        results = await asyncio.gather(
            *(
                self._journal.tool_result(turn, use["id"], partial(run, at, use))
                for at, use in enumerate(uses)
            )
        )
        for use, result in zip(uses, results, strict=True):
            if isinstance(use["input"], dict):
                tools.record(number, use["name"], use["input"], result)
        return say.results(uses, results)

    def _answered(self, answer: A, complaints: tuple[str, ...], cut_short: str) -> Answered[A]:
        return Answered(answer, self.spend, complaints, tuple(self.answers), cut_short)


def _parse(schema: type[A], message: JsonObject) -> A | Stop:
    """The answer; where it cannot be used, how that ends and what to say about it."""
    words = say.answer_text(message)
    parsed = _validate(schema, words)
    if not isinstance(parsed, str) and not say.tool_uses(message):
        return parsed
    match message["stop_reason"]:
        case "max_tokens":
            return Stop("cut_off", "the answer was cut off at its limit")
        case "model_context_window_exceeded":
            return Stop("context_full", say.FINAL_ANSWER_REASONS["context"])
        case "end_turn" | "stop_sequence" | "tool_use" if words.strip():
            return Stop("malformed", f"The answer does not follow the schema: {parsed}")
        case "end_turn" | "stop_sequence" | "tool_use":
            return Stop("no_answer", "The answer has no text: write it out after thinking.")
        case other:
            return Stop("no_answer", f"The answer ended with {other!r}, unusable: {parsed}")


def _validate(schema: type[A], words: str) -> A | str:
    """The answer, or what is wrong with it in words that can be sent back."""
    try:
        return schema.model_validate_json(words)
    except ValidationError as error:
        return "; ".join(
            f"{'.'.join(str(p) for p in e['loc']) or 'answer'}: {e['msg']}"
            for e in error.errors(include_url=False, include_input=False)[:8]
        )
