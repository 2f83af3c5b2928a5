"""Claims as a summary tells them: the sentence of each that says most on a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from activities.evidence.text.sentences import sentences
from activities.evidence.text.terms import words
from activities.offline.answer_types import holds_answer
from activities.offline.markdown import bare, cited, passage, plain
from activities.offline.passages import announces, leans
from activities.offline.question import FACTS, Question
from activities.offline.request import JsonObject

_SENTENCE_WORDS = 45
_SHORT = 10


@dataclass(frozen=True)
class Claim:
    facet_ids: tuple[str, ...]
    """The facet it belongs to, and those it was found for as well."""
    parts: tuple[str, ...]
    sections: tuple[str, ...]
    cite: tuple[int, ...]
    relevance: float
    order: int
    start: int
    """Where it stands in its document."""

    @property
    def text(self) -> str:
        return " ".join(self.parts)

    @property
    def home(self) -> tuple[int, str]:
        """The document and section it stands in."""
        return self.cite[0], self.sections[0]


@dataclass(frozen=True)
class Lead:
    """A line of the summary, or the passage that it opens with."""

    text: str
    label: str
    claim: Claim
    place: str = ""
    """The document and section of a claim that is shown whole; none of a line."""

    def markdown(self) -> str:
        if self.place:
            return passage(self.claim.parts, self.claim.cite, self.place)
        label = f"**{bare(self.label)}:** " if self.label else ""
        return f"{label}{cited(plain(self.text), self.claim.cite)}"


def read_claim(claim: JsonObject, order: int) -> Claim:
    """A claim with its parts: its quotes where it is made of them, else its text."""
    quotes = [" ".join(text.split()) if "\n" not in text else text for text in claim["quotes"]]
    whole = " ".join(claim["text"].split())
    parts = quotes if words(" ".join(quotes)) == words(whole) else [whole]
    return Claim(
        facet_ids=(claim["facet_id"], *claim.get("also_for", ())),
        parts=tuple(parts),
        sections=tuple(claim.get("sections") or ("",)),
        cite=tuple(claim["cite"]),
        relevance=float(claim.get("relevance", 0.5)),
        order=order,
        start=int(claim.get("start") or 0),
    )


class KeySentence:
    """Finds the sentence of a claim that says most on a question; rare terms count for more."""

    def __init__(self, question: Question, claims: Sequence[Claim]) -> None:
        self._question = question
        held = [question.terms_of(claim.text) for claim in claims]
        self._weights = {
            own: weight * math.log(1 + len(held) / (1 + sum(own in terms for terms in held)))
            for own, weight in question.terms.items()
        }
        self._answer = max(self._weights.values(), default=1.0)
        self.is_fact = question.wants in FACTS

    def answers(self, sentence: str) -> bool:
        return holds_answer(sentence, self._question)

    def of(self, claim: Claim) -> str:
        """The sentence, with a neighbour that it needs."""
        prose = [part for part in claim.parts if "\n" not in part]
        given = [s for part in prose for s in sentences(part)] or [claim.text]
        best = max(range(len(given)), key=lambda i: (self._worth(given[i]), -i))
        sentence = given[best]
        after = [own for own in given[best + 1 : best + 2] if not announces(own)]
        if len(sentence.split()) < _SHORT or sentence.endswith(":"):
            sentence = " ".join([sentence, *after])
        while best and leans(sentence) and not announces(given[best - 1]):
            best -= 1
            sentence = f"{given[best]} {sentence}"
        return sentence

    def _worth(self, sentence: str) -> tuple[bool, bool, float]:
        """First that it reads well, then that it holds a fact that is asked for, then the terms."""
        reads_well = len(sentence.split()) <= _SENTENCE_WORDS and not announces(sentence)
        answers = self.answers(sentence)
        worth = self._covered(sentence) + self._answer * answers
        return reads_well, answers and self.is_fact, worth

    def _covered(self, sentence: str) -> float:
        held = self._question.terms_of(sentence)
        return sum(weight for own, weight in self._weights.items() if own in held)
