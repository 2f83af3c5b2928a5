"""The next turn of a conversation: from the journal where it is stored, else from the model."""

from __future__ import annotations

from temporalio.exceptions import ApplicationError

from activities.agent.conversation import Conversation, Stop
from activities.agent.interrupts import Interrupt, Interrupts
from activities.agent.messages import JsonObject
from activities.agent.request_template import RequestTemplate
from activities.llm.batches import Batches
from activities.llm.client import Models, spend_of
from activities.llm.errors import TOO_LARGE
from activities.storage.journal import Journal, Turn
from activities.telemetry import TurnTelemetry
from workflows.contracts.messages import ControlMessages
from workflows.contracts.spend import Spend


class TurnSource:
    """Gives one subagent its turns, and adds up what they cost."""

    def __init__(
        self,
        models: Models,
        journal: Journal,
        template: RequestTemplate,
        interrupts: Interrupts,
        batches: Batches | None,
        telemetry: TurnTelemetry,
    ) -> None:
        self._models = models
        self._journal = journal
        self._template = template
        self._interrupts = interrupts
        self._batches = batches
        self._telemetry = telemetry
        self._is_ahead = False
        """The last turn's call was the first of all attempts: the journal holds nothing beyond."""
        self._last_spend = Spend()
        self.spend = Spend()

    def reset_spend(self) -> None:
        self.spend = self._last_spend = Spend()

    async def next_turn(self, conversation: Conversation, has_answer: bool) -> Turn | Stop:
        """The next turn of the conversation, from the journal or from the model.

        1. The journal may hold the turn: then nothing is paid.
        2. Before a request that was never sent, an interrupt may be inserted. The journal keeps
           it, so that a replay inserts the same at the same place. A request that was sent is sent
           again as it was, so that a repeated call is counted.
        3. Without money, or told to finish, the subagent stops.
        4. The model is called.
        """
        self._interrupts.start_turn()
        request = self._template.request(conversation.messages)
        turn = None if self._is_ahead else await self._journal.find(request)
        if turn is None and conversation.ends_with_user and not await self._was_sent(request):
            interrupt = await self._next_interrupt(request, conversation, has_answer)
            if isinstance(interrupt, Stop):
                return interrupt
            if interrupt is not None:
                conversation.insert(interrupt)
                request = self._template.request(conversation.messages)
                turn = await self._journal.find(request)
        if turn is not None:
            self._telemetry.found_turn()
            return self._record(turn)
        if await self._must_stop(conversation):
            return Stop.for_final_answer("money")
        called = await self._call_model(request)
        return called if isinstance(called, Stop) else self._record(called)

    def _record(self, turn: Turn) -> Turn:
        self._is_ahead = turn.is_first
        self._last_spend = self._cost(turn)
        self.spend += self._last_spend + Spend(bought_again=turn.repeated_calls)
        return turn

    async def _was_sent(self, request: JsonObject) -> bool:
        return not self._is_ahead and await self._journal.was_sent(request)

    async def _next_interrupt(
        self, request: JsonObject, conversation: Conversation, has_answer: bool
    ) -> Interrupt | Stop | None:
        """The interrupt before this request: the journal's, else a new one, which it stores."""
        stored = None if self._is_ahead else await self._journal.find_interrupt(request)
        if stored is None:
            controls = await self._interrupts.read_controls()
            decision = self._decide(controls, conversation, has_answer)
            if not isinstance(decision, Interrupt):
                return decision
            record = decision.model_dump(mode="json")
            stored = await self._journal.store_interrupt(request, record)
        return Interrupt.model_validate(stored)

    def _decide(
        self, controls: ControlMessages, conversation: Conversation, has_answer: bool
    ) -> Interrupt | Stop | None:
        """Whether the next call is made, and what is inserted before it."""
        # Another turn like the last one must leave enough to pay for the answer.
        expected = self.spend + self._last_spend
        reason = self._interrupts.final_answer_reason(controls, expected, conversation.size)
        if reason and has_answer:
            # The answer is there; what is left does not pay for its repair.
            return Stop.for_final_answer(reason)
        is_new = conversation.has_started and conversation.final_answer is None
        if reason == "money" and not (is_new and self.spend.turns):
            return Stop.for_final_answer(reason)
        if reason == "finish" and not conversation.has_started:
            return Stop.for_final_answer(reason)
        return self._interrupts.compose(controls, conversation.notes, reason if is_new else None)

    async def _must_stop(self, conversation: Conversation) -> bool:
        """Whether no call may be made. Raises where the job is paused.

        A paused turn of the model takes no interrupt: only the budget ends it.
        """
        controls = await self._interrupts.read_controls()
        if conversation.ends_with_user:
            return False
        return self._interrupts.final_answer_reason(controls, self.spend) == "money"

    async def _call_model(self, request: JsonObject) -> Turn | Stop:
        started = self._interrupts.now()
        try:
            with self._telemetry.measure_call(request) as measured:
                if self._batches:
                    turn = await self._batches.turn(self._journal, request)
                else:
                    async with self._models.admit(request) as on_start:
                        turn = await self._journal.call(
                            request, lambda: self._models.ask(request, on_start)
                        )
                measured(turn, self._cost(turn))
            return turn
        except ApplicationError as error:
            if error.type != TOO_LARGE:
                raise
            return Stop("context_full", error.message)
        finally:
            self._interrupts.record_turn(self._interrupts.now() - started)

    def _cost(self, turn: Turn) -> Spend:
        return spend_of(self._template.model, turn.message, self._batches is not None)
