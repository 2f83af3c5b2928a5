"""One conversation with a model so far, and how it can end."""

from __future__ import annotations

from dataclasses import dataclass
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

    @classmethod
    def for_final_answer(cls, reason: FinalAnswerReason) -> Stop:
        return cls(ENDINGS[reason], say.FINAL_ANSWER_REASONS[reason])

    @classmethod
    def for_stop_reason(cls, message: JsonObject) -> Stop:
        match message["stop_reason"]:
            case "refusal":
                return cls("refused", say.refusal(message))
            case "model_context_window_exceeded":
                return cls.for_final_answer("context")
            case "max_tokens":
                return cls("cut_off", "the answer was cut off at its limit")
            case other:
                return cls("no_answer", f"the model stopped for {other!r}")


class Conversation:
    """The messages so far. They are only ever appended to, so that prompt caching works."""

    def __init__(self, opening: JsonObject) -> None:
        self.messages: list[JsonObject] = [opening]
        self.notes: set[str] = set()
        """Notes that were inserted."""
        self.final_answer: FinalAnswerReason | None = None
        """Why the final answer was requested, once it was."""
        self.size = 0
        """In tokens."""

    @property
    def has_started(self) -> bool:
        return len(self.messages) > 1

    @property
    def ends_with_user(self) -> bool:
        """False after a paused turn of the model, which is sent back as it is."""
        return bool(self.messages[-1]["role"] == "user")

    def add_assistant(self, message: JsonObject) -> None:
        """Append the model's message; one that was cut off before its first word is empty."""
        if message["content"]:
            self.messages.append({"role": "assistant", "content": message["content"]})
        self.size = say.size(message)

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
