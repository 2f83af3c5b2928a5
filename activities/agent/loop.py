"""The turn loop every role shares: ask, journal, run tools, ask again, until there is an answer.

The loop is driven by the model's stop reason:

    end_turn, stop_sequence         the answer, checked by its schema and by the role's own gate
    tool_use                        tools run side by side, all results in one message
    pause_turn                      the provider's own tools need another turn
    max_tokens                      cut off: asked for again, shorter
    refusal                         an outcome
    model_context_window_exceeded   an outcome
    none                            the answer broke off: Temporal asks again

After an answer the same conversation can go on with a follow-up; one that nears the model's window
is handed over to a clean one. Messages are only ever appended, so every request of a conversation
starts with the one before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

from pydantic import ValidationError
from temporalio.exceptions import ApplicationError

from activities.agent import messages as say
from activities.agent.conversation import ENDINGS, Answered, Held, Stop, Talk, Unanswered
from activities.agent.interrupts import Aside, Asides
from activities.agent.messages import CALLED_FOR, JsonObject
from activities.agent.request_template import Frame
from activities.agent.schemas import Answer
from activities.fleet.heartbeat import show
from activities.llm.batches import Errands
from activities.llm.client import Models, spend_of
from activities.llm.errors import TOO_LARGE
from activities.storage.journal import Journal, Turn
from activities.telemetry import Watch
from workflows.contracts.messages import ControlMessages
from workflows.contracts.spend import Spend

A = TypeVar("A", bound=Answer)
Gate = Callable[[A], Awaitable[list[str]]]
HandOver = Callable[[Sequence[A], str | None], JsonObject | None]

REPAIRS = 2
PAUSES = 8
HAND_OVERS = 3
LATE_TURNS = 2
"""Turns that may still be bought after the last call; none where it was for money."""


class Tools(Protocol):
    """What runs the tools a role was given."""

    async def run(self, name: str, tool_input: JsonObject, turn: int) -> JsonObject:
        """A `tool_result`'s content and `is_error`; never raises for what a model may mend."""

    def seen(self, turn: int, name: str, tool_input: JsonObject, result: JsonObject) -> None:
        """Told of every result in order, also of those the journal had kept."""


@runtime_checkable
class Observing(Protocol):
    """Tools that also want to see what the provider's own tools brought."""

    async def observe(self, turn: int, message: JsonObject) -> None:
        """Told of every message of the model, kept or new, before its tools run."""


@runtime_checkable
class Forgetting(Protocol):
    """Tools that do not send a passage twice."""

    def forget(self) -> None:
        """A clean conversation begins, which was shown nothing yet."""


class NoTools:
    async def run(self, name: str, tool_input: JsonObject, turn: int) -> JsonObject:
        return say.tool_error(f"there is no tool {name!r}")

    def seen(self, turn: int, name: str, tool_input: JsonObject, result: JsonObject) -> None:
        """Nothing to remember."""


class Subagent:
    """One subagent in one role, durable turn by turn."""

    def __init__(
        self,
        models: Models,
        journal: Journal,
        frame: Frame,
        asides: Asides,
        errands: Errands | None = None,
        watch: Watch | None = None,
    ) -> None:
        """With `errands`, turns are bought in batches: cheaper, and much later."""
        self._models = models
        self._journal = journal
        self._frame = frame
        self._asides = asides
        self._errands = errands
        self._watch = watch or Watch(frame.role, frame.model)
        self._number = -1
        self._first = False
        self._last = Spend()
        self._orders: ControlMessages | None = None
        show(role=self._watch.role, **({"facet": self._watch.facet} if self._watch.facet else {}))
        self.spend = Spend()
        """What is new since the last follow-up: the rest was counted when it was asked."""
        self.answers: list[Any] = []
        """What was answered so far, also where the end never came."""

    async def converse(
        self,
        answer: type[A],
        brief: JsonObject,
        tools: Tools | None = None,
        gate: Gate[A] | None = None,
        follow_ups: Sequence[str] = (),
        hand_over: HandOver[A] | None = None,
    ) -> Answered[A] | Unanswered:
        """The role's answer to the brief, and then to each follow-up.

        `gate` lists what is wrong with an answer, to be sent back. `hand_over` makes the brief of a
        clean conversation from the answers so far and the follow-up in hand; None ends it there.
        """
        tools = tools or NoTools()
        talk = Talk(say.opening(brief))
        asked: str | None = None
        left = list(follow_ups)
        hand_overs = 0
        while True:
            try:
                found, complaints = await self._answer(talk, answer, tools, gate)
            except Stop as stop:
                if not self.answers:
                    return Unanswered(stop.why, stop.detail, self.spend)
                newest = self.answers[-1]
                return self._answered(newest, (), stop.detail)
            self.answers.append(found)
            if talk.call == "context" and hand_over and hand_overs < HAND_OVERS:
                further = hand_over(self.answers, asked)
                if further is not None:
                    hand_overs += 1
                    talk = Talk(say.opening(further))
                    if isinstance(tools, Forgetting):
                        tools.forget()
                    continue
            if not left:
                cut_short = CALLED_FOR[talk.call] if talk.call else ""
                return self._answered(found, complaints, cut_short)
            asked = left.pop(0)
            talk.reply(say.follow_up(asked))
            talk.call = None
            if not left:
                self.spend = self._last = Spend()

    async def began(self, brief: JsonObject) -> bool:
        """Whether the journal holds a conversation that opens with this brief."""
        return await self._journal.began(self._frame.request([say.opening(brief)]))

    async def _answer(
        self, talk: Talk, answer: type[A], tools: Tools, gate: Gate[A] | None
    ) -> tuple[A, tuple[str, ...]]:
        """Turn by turn to the next answer, and what the gate has against it. Raises Stop."""
        held: tuple[A, tuple[str, ...]] | None = None
        repairs = pauses = late = 0
        for number in range(self._frame.max_turns + REPAIRS + PAUSES):
            turn = await self._next(talk, held is not None)
            if turn is None:
                # There is an answer, and no means left to have it mended.
                assert held is not None  # noqa: S101 - what _next was told
                return held
            self._number += 1
            show(turns=self._number + 1, sources=len(getattr(tools, "sources", ())))
            message = turn.message
            talk.take(message)
            if isinstance(tools, Observing):
                await tools.observe(self._number, message)
            match message["stop_reason"]:
                case "tool_use":
                    closed = talk.call is not None or number >= self._frame.max_turns
                    talk.reply(await self._run_tools(tools, turn, closed))
                case "pause_turn" if pauses < PAUSES:
                    pauses += 1
                case "refusal":
                    raise Stop("refused", say.refusal(message))
                case "model_context_window_exceeded":
                    raise Stop("context_full", CALLED_FOR["context"])
                case "max_tokens":
                    if repairs >= REPAIRS:
                        raise Stop("cut_off", "the answer was cut off at its limit")
                    repairs += 1
                    talk.reply(say.cut_off(message))
                case "end_turn" | "stop_sequence":
                    parsed = _parse(answer, message)
                    if isinstance(parsed, str):
                        complaints = [parsed]
                        if repairs >= REPAIRS:
                            raise Stop("malformed", parsed)
                    else:
                        complaints = await gate(parsed) if gate else []
                        held = parsed, tuple(complaints)
                        if not complaints or repairs >= REPAIRS:
                            return held
                    repairs += 1
                    talk.reply(say.complaint(complaints))
                case other:
                    raise Stop("no_answer", f"the model stopped for {other!r}")
            if talk.call is not None:
                late += 1
                if talk.call == "money" or late > LATE_TURNS:
                    if held is not None:
                        return held
                    raise Stop(ENDINGS[talk.call], CALLED_FOR[talk.call])
        raise Stop("no_answer", f"no answer after {self._frame.max_turns} turns")

    async def _next(self, talk: Talk, answered: bool) -> Turn | None:
        """The next turn, kept or bought; None where an answer is there and cannot be mended."""
        body = self._frame.request(talk.messages)
        self._orders = None
        # Whoever bought the turn before this one as the first finds nothing here.
        first = self._first
        turn = None if first else await self._journal.kept(body)
        # What was sent once is sent again as it was, so that what is paid for twice is seen.
        if turn is None and talk.ours and (first or not await self._journal.asked(body)):
            try:
                said = await self._journal.aside(body, partial(self._due, talk, answered), first)
            except Held:
                return None
            if said is not None:
                talk.hear(Aside.model_validate(said))
                body = self._frame.request(talk.messages)
                turn = await self._journal.kept(body)
        if turn is None:
            orders = self._orders or await self._asides.orders()
            if not talk.ours and self._asides.call(orders, self.spend) == "money":
                raise Stop("out_of_budget", CALLED_FOR["money"])
            turn = await self._buy(body)
        else:
            self._watch.kept()
        self._first = turn.first
        self._last = self._cost(turn)
        self.spend += self._last + Spend(bought_again=turn.bought_again)
        return turn

    async def _due(self, talk: Talk, answered: bool) -> JsonObject | None:
        """What is to be said before the next turn is bought, if it is bought at all."""
        orders = self._orders = await self._asides.orders()
        call = self._asides.call(orders, self.spend, self._last, talk.size)
        if call and answered:
            raise Held
        if call == "money" and (talk.call or not talk.begun or not self.spend.turns):
            raise Stop("out_of_budget", CALLED_FOR["money"])
        if call == "finish" and not talk.begun:
            raise Stop("finished", CALLED_FOR["finish"])
        first = talk.begun and talk.call is None
        aside = self._asides.aside(orders, talk.told, call if first else None)
        return None if aside is None else aside.model_dump(mode="json")

    async def _buy(self, body: JsonObject) -> Turn:
        began = self._asides.now()
        try:
            with self._watch.buying(body) as bought:
                if self._errands:
                    turn = await self._errands.turn(self._journal, body)
                else:
                    async with self._models.admitted(body) as warmed:
                        turn = await self._journal.buy(body, lambda: self._models.ask(body, warmed))
                bought(turn, self._cost(turn))
            return turn
        except ApplicationError as error:
            if error.type != TOO_LARGE:
                raise
            raise Stop("context_full", error.message) from error
        finally:
            self._asides.took(self._asides.now() - began)

    def _cost(self, turn: Turn) -> Spend:
        return spend_of(self._frame.model, turn.message, self._errands is not None)

    async def _run_tools(self, tools: Tools, turn: Turn, closed: bool) -> JsonObject:
        uses = say.tool_uses(turn.message)
        number = self._number

        async def run(use: JsonObject) -> JsonObject:
            if closed:
                return say.tool_error("no turns are left; answer now")
            return await tools.run(use["name"], use["input"], number)

        results = await asyncio.gather(
            *(self._journal.tool_result(turn, use["id"], partial(run, use)) for use in uses)
        )
        for use, result in zip(uses, results, strict=True):
            tools.seen(number, use["name"], use["input"], result)
        return say.results(uses, results)

    def _answered(self, answer: A, complaints: tuple[str, ...], cut_short: str) -> Answered[A]:
        return Answered(answer, self.spend, complaints, tuple(self.answers), cut_short)


def _parse(answer: type[A], message: JsonObject) -> A | str:
    """The answer, or what is wrong with it in words that can be sent back."""
    try:
        return answer.model_validate_json(say.said(message))
    except ValidationError as wrong:
        first = [
            f"{'.'.join(str(p) for p in e['loc']) or 'answer'}: {e['msg']}"
            for e in wrong.errors(include_url=False, include_input=False)[:8]
        ]
        return "The answer does not follow the schema: " + "; ".join(first)
