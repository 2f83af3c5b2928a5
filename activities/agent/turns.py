"""The next turn of a conversation: from the journal where it is stored, else from the model."""

from __future__ import annotations

from temporalio.exceptions import ApplicationError

from activities.agent.conversation import Conversation, Stop
from activities.agent.interrupts import Interrupt, Interrupts
from activities.agent.messages import FinalAnswerReason, JsonObject
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
        self._last_spend = Spend()
        self.spend = Spend()
        self.is_ahead = False
        """The last turn's call was the first for its request: the journal holds nothing beyond."""

    def reset_spend(self) -> None:
        self.spend = self._last_spend = Spend()

    def request(self, conversation: Conversation) -> JsonObject:
        return self._template.request(conversation.messages, conversation.container)

    async def next_turn(self, conversation: Conversation, has_answer: bool) -> Turn | Stop:
        """The next turn of the conversation. Raises ApplicationError where the job is paused."""
        self._interrupts.start_turn()

        # 1. The journal: a turn that is stored is used, and nothing is paid.
        request = self.request(conversation)
        if turn := await self._find(request):
            return self._record(turn)

        # 2. Interrupts: before a request that was never sent, a text may be inserted. The journal
        #    keeps it, so that a replay inserts the same at the same place. A request that was sent
        #    is sent again as it was, so that a repeated call is counted.
        if conversation.ends_with_user and not await self._was_sent(request):
            interrupt = await self._find_interrupt(request)
            if interrupt is None:
                controls = await self._interrupts.read_controls()
                reason = self._final_answer_reason(controls, conversation)
                if reason and self._ends_now(reason, conversation, has_answer):
                    return Stop.before_call(reason)
                interrupt = await self._new_interrupt(request, controls, conversation, reason)
            if interrupt is not None:
                conversation.insert(interrupt)
                request = self.request(conversation)
                if turn := await self._find(request):
                    return self._record(turn)

        # 3. The budget: a paused turn of the model takes no interrupt; only the budget ends it.
        controls = await self._interrupts.read_controls()
        if not conversation.ends_with_user:
            reason = self._interrupts.final_answer_reason(controls, self.spend)
            if reason == "money":
                return Stop.before_call(reason)

        # 4. The model.
        called = await self._call_model(request)
        return called if isinstance(called, Stop) else self._record(called)

    # --- the journal ----------------------------------------------------------------------------

    async def _find(self, request: JsonObject) -> Turn | None:
        turn = None if self.is_ahead else await self._journal.find(request)
        if turn is not None:
            self._telemetry.found_turn()
        return turn

    def _record(self, turn: Turn) -> Turn:
        self.is_ahead = turn.is_first
        self._last_spend = self._cost(turn)
        if turn.task == self._journal.task:
            self.spend += self._last_spend + Spend(bought_again=turn.repeated_calls)
        return turn

    async def _was_sent(self, request: JsonObject) -> bool:
        return not self.is_ahead and await self._journal.was_sent(request)

    # --- interrupts -----------------------------------------------------------------------------

    async def _find_interrupt(self, request: JsonObject) -> Interrupt | None:
        stored = None if self.is_ahead else await self._journal.find_interrupt(request)
        return None if stored is None else Interrupt.model_validate(stored)

    async def _new_interrupt(
        self,
        request: JsonObject,
        controls: ControlMessages,
        conversation: Conversation,
        reason: FinalAnswerReason | None,
    ) -> Interrupt | None:
        """What is inserted now, stored; another attempt may have stored something before."""
        asked = reason if conversation.may_be_cut_short else None
        interrupt = self._interrupts.compose(controls, conversation.notes, asked)
        if interrupt is None:
            return None
        record = interrupt.model_dump(mode="json")
        return Interrupt.model_validate(await self._journal.store_interrupt(request, record))

    def _final_answer_reason(
        self, controls: ControlMessages, conversation: Conversation
    ) -> FinalAnswerReason | None:
        # Another turn like the last one must leave enough to pay for the answer.
        expected = self.spend + self._last_spend
        window = self._models.context_window(self._template.model)
        return self._interrupts.final_answer_reason(controls, expected, conversation.size, window)

    def _ends_now(
        self, reason: FinalAnswerReason, conversation: Conversation, has_answer: bool
    ) -> bool:
        """Whether not even the final answer is requested."""
        if has_answer:
            # The answer is there; what is left does not pay for its repair.
            return True
        if reason == "money":
            return not (conversation.may_be_cut_short and self.spend.turns)
        return reason == "finish" and not conversation.has_started

    # --- the model ------------------------------------------------------------------------------

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
