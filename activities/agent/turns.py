"""The next turn of a conversation: from the journal where it is stored, else from the model."""

from __future__ import annotations

import asyncio

from temporalio.exceptions import ApplicationError

from activities.agent.conversation import Conversation, Stop
from activities.agent.interrupts import Interrupt, Interrupts
from activities.agent.messages import FinalAnswerReason, JsonObject
from activities.agent.request_template import RequestTemplate
from activities.llm.client import Models, spend_of
from activities.llm.errors import TOO_LARGE
from activities.storage.journal import Journal, Turn
from activities.telemetry import TurnTelemetry
from workflows.contracts.messages import ControlMessages
from workflows.contracts.spend import Spend

POLL_SECONDS = 30.0
_BATCH_LOST = ("batch_lost", "bad_request", TOO_LARGE)
"""Errors after which a batch will never have an answer; after others it is polled again."""


class TurnSource:
    """Gives one subagent its turns, and adds up what they cost."""

    def __init__(
        self,
        models: Models,
        journal: Journal,
        template: RequestTemplate,
        interrupts: Interrupts,
        telemetry: TurnTelemetry | None = None,
        *,
        in_batches: bool = False,
    ) -> None:
        """`in_batches`: turns are made in the provider's batches, at half the price, up to a day
        later."""
        self._models = models
        self.journal = journal
        self.template = template
        self._interrupts = interrupts
        self._in_batches = in_batches
        self.telemetry = telemetry or TurnTelemetry(template.role, template.model)
        self._last_spend = Spend()
        self.spend = Spend()
        self.is_ahead = False
        """The last turn's call was the first for its request: the journal holds nothing beyond."""

    def reset_spend(self) -> None:
        self.spend = self._last_spend = Spend()

    def request(self, conversation: Conversation) -> JsonObject:
        return self.template.request(conversation.messages, conversation.container)

    async def next_turn(self, conversation: Conversation, has_answer: bool) -> Turn | Stop:
        """The next turn of the conversation. Raises ApplicationError where the job is paused."""
        # 1. The journal: a turn that is stored is used, and nothing is paid.
        request = self.request(conversation)
        if turn := await self._find(request):
            return self._record(turn)

        # 2. Interrupts: before a request that was never sent, a text may be inserted. The journal
        #    keeps it, so that a replay inserts the same at the same place. A request that was sent
        #    is sent again as it was, so that a repeated call is counted.
        controls = await self._interrupts.read_controls()
        if not conversation.ends_with_user:
            # A paused turn of the model takes no interrupt; only the budget ends it.
            if self._interrupts.final_answer_reason(controls, self.spend) == "money":
                return Stop.because("money", closes_attempt=False)
        elif self.is_ahead or not await self.journal.was_sent(request):
            stored = None if self.is_ahead else await self.journal.find_interrupt(request)
            if stored is None:
                new = self._interrupt(controls, conversation, has_answer)
                if isinstance(new, Stop):
                    return new
                if new is not None:
                    # Another attempt may have stored one before.
                    stored = await self.journal.store_interrupt(
                        request, new.model_dump(mode="json")
                    )
            if stored is not None:
                conversation.insert(Interrupt.model_validate(stored))
                request = self.request(conversation)
                if turn := await self._find(request):
                    return self._record(turn)

        # 3. The model.
        return await self._call_model(request)

    async def _find(self, request: JsonObject) -> Turn | None:
        turn = None if self.is_ahead else await self.journal.find(request)
        if turn is not None:
            self.telemetry.found_turn()
        return turn

    def _record(self, turn: Turn) -> Turn:
        self.is_ahead = turn.is_first
        self._last_spend = self._cost(turn)
        if turn.task == self.journal.task:
            self.spend += self._last_spend + Spend(bought_again=turn.repeated_calls)
        return turn

    def _interrupt(
        self, controls: ControlMessages, conversation: Conversation, has_answer: bool
    ) -> Interrupt | Stop | None:
        """What is inserted now; a stop where not even the final answer is requested."""
        # Another turn like the last one must leave enough to pay for the answer.
        expected = self.spend + self._last_spend
        window = self._models.context_window(self.template.model)
        reason = self._interrupts.final_answer_reason(controls, expected, conversation.size, window)
        if reason and (has_answer or self._ends_now(reason, conversation)):
            # Where there is an answer, what is left does not pay for its repair.
            return Stop.because(reason, closes_attempt=False)
        asked = reason if conversation.may_be_cut_short else None
        return self._interrupts.compose(controls, conversation.notes, asked)

    def _ends_now(self, reason: FinalAnswerReason, conversation: Conversation) -> bool:
        if reason == "money":
            return not (conversation.may_be_cut_short and self.spend.turns)
        return reason == "finish" and not conversation.has_started

    async def _call_model(self, request: JsonObject) -> Turn | Stop:
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            with self.telemetry.measure_call(request) as measured:
                if self._in_batches:
                    turn = await self._wait_for_batch(request)
                else:
                    async with self._models.admit(request):
                        turn = await self.journal.call(request, lambda: self._models.send(request))
                measured(turn, self._cost(turn))
            return self._record(turn)
        except ApplicationError as error:
            if error.type != TOO_LARGE:
                raise
            return Stop("context_full", error.message)
        finally:
            self._interrupts.record_turn(clock() - started)

    async def _wait_for_batch(self, request: JsonObject) -> Turn:
        """The journal keeps the id of a batch, so a worker that takes over waits for the same."""
        batch = await self.journal.batch_id(request, lambda: self._models.create_batch(request))
        while True:
            try:
                message = await self._models.fetch_batch(batch)
            except ApplicationError as error:
                if error.type in _BATCH_LOST:
                    await self.journal.delete_batch(request)
                raise
            if message is not None:
                return await self.journal.store(request, message)
            await asyncio.sleep(POLL_SECONDS)

    def _cost(self, turn: Turn) -> Spend:
        return spend_of(self.template.model, turn.message, self._in_batches)
