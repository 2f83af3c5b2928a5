"""What interrupts a subagent between two turns: notes from people, and the final-answer request.

Control messages are read before every model call. A paused job makes no call. A job that is to
finish, time or money that runs out, and a conversation that nears the context window all lead to
one request: give the final answer now, with what you have.
"""

from __future__ import annotations

import asyncio

from temporalio.exceptions import ApplicationError

from activities.agent.messages import FinalAnswerReason, final_answer_request, note
from activities.storage.store import Store
from workflows.config.policies import PAUSED
from workflows.config.store_keys import control_key
from workflows.contracts.evidence import Record
from workflows.contracts.messages import ControlMessages
from workflows.contracts.spend import Allowance, Spend

TIME_RESERVE = 0.25
"""The share of a subagent's time that is kept for its answer."""
WINDOW_LIMIT = 0.75
"""The share of the context window after which a conversation is handed over."""


class Interrupt(Record):
    """Texts that are inserted before a turn."""

    texts: tuple[str, ...]
    notes: tuple[str, ...] = ()
    final_answer: FinalAnswerReason | None = None
    """Why the final answer is requested, where it is."""


class Interrupts:
    """Decides what one subagent is told, and when."""

    def __init__(
        self,
        store: Store,
        job: str,
        task: str,
        allowance: Allowance | None = None,
        seconds: float | None = None,
        finishes: bool = False,
    ) -> None:
        """`finishes`: whether the subagent ends when the job is told to finish."""
        self._store = store
        self._key = control_key(job)
        self._task = task
        self._allowance = allowance or Allowance()
        self._seconds = seconds
        self._finishes = finishes
        self._clock = asyncio.get_running_loop().time
        self._started = self._clock()
        self._turn_seconds: list[float] = []

    async def read_controls(self) -> ControlMessages:
        """The control messages of the job; raises ApplicationError where it is paused."""
        stored = await self._store.get(self._key)
        controls = ControlMessages.model_validate_json(stored) if stored else ControlMessages()
        if controls.paused:
            raise ApplicationError(
                "the job is paused; resume it to go on", type=PAUSED, non_retryable=True
            )
        return controls

    def compose(
        self, controls: ControlMessages, known: set[str], final_answer: FinalAnswerReason | None
    ) -> Interrupt | None:
        """The notes that are not known yet, and the final-answer request; None for neither."""
        notes = tuple(
            dict.fromkeys(
                n.text
                for n in controls.notes
                if n.task in (None, self._task) and n.text not in known
            )
        )
        texts = [note(words) for words in notes]
        if final_answer:
            texts.append(final_answer_request(final_answer))
        if not texts:
            return None
        return Interrupt(texts=tuple(texts), notes=notes, final_answer=final_answer)

    def final_answer_reason(
        self, controls: ControlMessages, spend: Spend, size: int = 0, window: int = 0
    ) -> FinalAnswerReason | None:
        """Why the final answer is due, the hardest reason first.

        `spend` includes what the next turn is expected to cost. `size` is the conversation's and
        `window` the model's, in tokens; the window is 0 where it is not known.
        """
        if self._allowance.spent_by(spend):
            return "money"
        if controls.finishing and self._finishes:
            return "finish"
        if self._is_late():
            return "time"
        if window and size > window * WINDOW_LIMIT:
            return "context"
        return None

    def record_turn(self, seconds: float) -> None:
        """How long a model call took."""
        self._turn_seconds.append(seconds)

    def _is_late(self) -> bool:
        """True when an average turn and the answer after it would not both fit in the time left."""
        if self._seconds is None:
            return False
        left = self._started + self._seconds - self._clock()
        turns = self._turn_seconds
        average = sum(turns) / len(turns) if turns else 0.0
        return left < max(TIME_RESERVE * self._seconds, 2 * average)
