"""One conversation with a model as far as it has come, and the ways it can end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from activities.agent import messages as say
from activities.agent.interrupts import Aside
from activities.agent.messages import Call, JsonObject
from activities.agent.schemas import Answer
from workflows.contracts.spend import Spend

A = TypeVar("A", bound=Answer)

Ending = Literal[
    "refused", "cut_off", "malformed", "context_full", "out_of_budget", "finished", "no_answer"
]
ENDINGS: dict[Call, Ending] = {
    "money": "out_of_budget", "finish": "finished", "time": "no_answer", "context": "context_full",
}  # fmt: skip


@dataclass(frozen=True)
class Answered(Generic[A]):
    answer: A
    """The newest."""
    spend: Spend
    complaints: tuple[str, ...] = ()
    """What the gate still has against it after the last repair."""
    answers: tuple[A, ...] = ()
    """All of them in order: before a hand-over, and to each follow-up."""
    cut_short: str = ""
    """Why there is no more, where the subagent would have gone on."""


@dataclass(frozen=True)
class Unanswered:
    why: Ending
    detail: str
    spend: Spend


class Talk:
    """One conversation as far as it has come."""

    def __init__(self, opening: JsonObject) -> None:
        self.messages: list[JsonObject] = [opening]
        self.told: set[str] = set()
        self.call: Call | None = None
        self.size = 0

    @property
    def begun(self) -> bool:
        return len(self.messages) > 1

    @property
    def ours(self) -> bool:
        """Whether our message is the last; a paused one of the model's goes back as it is."""
        return bool(self.messages[-1]["role"] == "user")

    def take(self, message: JsonObject) -> None:
        """The model's message. One cut off before its first word has nothing to be put down."""
        if message["content"]:
            self.messages.append({"role": "assistant", "content": message["content"]})
        self.size = say.size(message)

    def reply(self, message: JsonObject) -> None:
        """Our next message; it joins the last one where the model said nothing in between."""
        if self.ours:
            last = self.messages.pop()
            message = {**last, "content": [*last["content"], *message["content"]]}
        self.messages.append(message)

    def hear(self, aside: Aside) -> None:
        self.reply(say.user(*(say.text(words) for words in aside.texts)))
        self.told.update(aside.notes)
        self.call = self.call or aside.call


class Stop(Exception):
    """There is no next turn."""

    def __init__(self, why: Ending, detail: str) -> None:
        super().__init__(detail)
        self.why = why
        self.detail = detail


class Held(Exception):
    """An answer is there already, and no means to have it mended."""
