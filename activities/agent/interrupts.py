"""What comes between a subagent's turns: notes from people, and the call for its answer.

Orders are looked up before every purchase. A paused job buys nothing. A job that is to finish, a
clock that runs out, money that is spent and a conversation that grows too long all lead to one last
call: answer now, with what you have. What was said is kept in the journal by whoever says it, so
that a replay says it again at the same place.
"""

from __future__ import annotations

import asyncio

from temporalio.exceptions import ApplicationError

from activities.agent.messages import Call, last_call, note
from activities.storage.store import Store
from workflows.config.policies import PAUSED
from workflows.config.store_keys import control_key
from workflows.contracts.evidence import Record
from workflows.contracts.messages import ControlMessages
from workflows.contracts.spend import Allowance, Spend

_NOTHING = Spend()
TIME_KEPT = 0.25
"""The share of a subagent's time that is kept for its answer."""
WINDOW_USED = 0.75
"""The share of the model's window after which a conversation is handed over."""


class Aside(Record):
    """Words that were put in before a turn."""

    texts: tuple[str, ...]
    notes: tuple[str, ...] = ()
    call: Call | None = None


class Asides:
    """What one subagent is to be told, and when."""

    def __init__(
        self,
        store: Store,
        job: str,
        task: str,
        allowance: Allowance | None = None,
        seconds: float | None = None,
        window: int = 0,
        finishes: bool = False,
    ) -> None:
        """`window` is the model's in tokens, 0 for none; `finishes`: whether to end on a finish."""
        self._store = store
        self._key = control_key(job)
        self._task = task
        self._allowance = allowance or Allowance()
        self._seconds = seconds
        self._window = window
        self._finishes = finishes
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()
        self._turns: list[float] = []

    async def orders(self) -> ControlMessages:
        """What people want of this job. Raises where it is paused."""
        kept = await self._store.get(self._key)
        orders = ControlMessages() if kept is None else ControlMessages.model_validate_json(kept)
        if orders.paused:
            raise ApplicationError(
                "the job is paused; resume it to go on", type=PAUSED, non_retryable=True
            )
        return orders

    def aside(self, orders: ControlMessages, told: set[str], call: Call | None) -> Aside | None:
        """The notes that are new, and the call; None where there is nothing to say."""
        notes = tuple(
            dict.fromkeys(
                n.text for n in orders.notes if n.task in (None, self._task) and n.text not in told
            )
        )
        texts = [note(words) for words in notes]
        if call:
            texts.append(last_call(call))
        return Aside(texts=tuple(texts), notes=notes, call=call) if texts else None

    def call(
        self, orders: ControlMessages, spend: Spend, last: Spend = _NOTHING, size: int = 0
    ) -> Call | None:
        """Why the answer is due now, the hardest reason first."""
        if self._allowance.spent_by(spend + last):
            # Another turn like the last would leave nothing to pay the answer with.
            return "money"
        if orders.finishing and self._finishes:
            return "finish"
        if self._late():
            return "time"
        if self._window and size > self._window * WINDOW_USED:
            return "context"
        return None

    def took(self, seconds: float) -> None:
        """How long a turn was waited for."""
        self._turns.append(seconds)

    def now(self) -> float:
        return self._clock()

    def _late(self) -> bool:
        """An ordinary turn and the answer after it would not both fit into what is left."""
        if self._seconds is None:
            return False
        left = self._began + self._seconds - self._clock()
        typical = sum(self._turns) / len(self._turns) if self._turns else 0.0
        return left < max(TIME_KEPT * self._seconds, 2 * typical)
