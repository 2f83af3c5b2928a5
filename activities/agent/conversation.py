"""One conversation with a model so far, and how it can end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeVar

from activities.agent import messages as say
from activities.agent.interrupts import Interrupt
from activities.agent.messages import FinalAnswerReason, JsonObject
from activities.agent.schemas import Answer
from workflows.contracts.spend import Spend

A = TypeVar("A", bound=Answer)

Ending = Literal[
    "refused", "cut_off", "malformed", "context_full", "out_of_budget", "finished", "no_answer"
]
ENDINGS: dict[FinalAnswerReason, Ending] = {
    "money": "out_of_budget", "finish": "finished", "time": "no_answer", "context": "context_full",
}  # fmt: skip
_ACCIDENTS: tuple[Ending, ...] = ("cut_off", "malformed", "context_full", "no_answer")


@dataclass(frozen=True)
class Answered(Generic[A]):
    answer: A
    """The newest."""
    spend: Spend
    complaints: tuple[str, ...] = ()
    """What the gate still finds wrong with it after the last repair."""
    answers: tuple[A, ...] = ()
    """All of them in order: before a hand-over, and to each follow-up."""
    cut_short: str = ""
    """Why there is no more, where the subagent would have gone on."""


@dataclass(frozen=True)
class Unanswered:
    why: Ending
    detail: str
    spend: Spend


@dataclass(frozen=True)
class Stop:
    """There is no next turn."""

    why: Ending
    detail: str
    closes_attempt: bool = True
    """False where no call was made: then the journal holds nothing that a retry would replay."""

    @property
    def is_worth_another_attempt(self) -> bool:
        """Whether a fresh conversation may succeed, without anything else having changed."""
        return self.closes_attempt and self.why in _ACCIDENTS

    @classmethod
    def because(cls, reason: FinalAnswerReason, closes_attempt: bool = True) -> Stop:
        return cls(ENDINGS[reason], say.FINAL_ANSWER_REASONS[reason], closes_attempt)


@dataclass
class Conversation:
    messages: list[JsonObject]
    """They are only ever appended to, so that prompt caching works."""
    notes: set[str] = field(default_factory=set)
    """Notes that were inserted."""
    final_answer: FinalAnswerReason | None = None
    """Why the final answer was requested, once it was."""
    size: int = 0
    """In tokens."""
    container: str | None = None
    """Where the provider runs code for this conversation."""

    def copy(self) -> Conversation:
        return replace(self, messages=list(self.messages), notes=set(self.notes))

    @property
    def has_started(self) -> bool:
        return len(self.messages) > 1

    @property
    def may_be_cut_short(self) -> bool:
        """Whether the final answer can be requested: there is something to answer from."""
        return self.has_started and self.final_answer is None

    @property
    def ends_with_user(self) -> bool:
        """False after a paused turn of the model, which is sent back as it is."""
        return bool(self.messages[-1]["role"] == "user")

    def add_assistant(self, message: JsonObject) -> bool:
        """Append the model's message; False where it holds nothing that can be sent back."""
        content = say.sendable(message["content"])
        if content:
            self.messages.append({"role": "assistant", "content": content})
        self.size = max(self.size, say.size(message))
        self.container = (message.get("container") or {}).get("id") or self.container
        return bool(content)

    def add_user(self, message: JsonObject) -> None:
        """Append our message; it joins the last one where the model said nothing in between."""
        if self.ends_with_user:
            last = self.messages.pop()
            message = {**last, "content": [*last["content"], *message["content"]]}
        self.messages.append(message)

    def insert(self, interrupt: Interrupt) -> None:
        self.add_user(say.user(*(say.text(words) for words in interrupt.texts)))
        self.notes.update(interrupt.notes)
        self.final_answer = self.final_answer or interrupt.final_answer
