"""Claims as a summary tells them: the sentence of each that says most on a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from activities.evidence.text.sentences import sentences
from activities.evidence.text.terms import words
from activities.offline.answer_types import holds_answer
from activities.offline.markdown import bare, cited, fenced, plain
from activities.offline.passages import announces, leans
from activities.offline.question import FACTS, Question, Wants
from activities.offline.request import JsonObject

_SENTENCE_WORDS = 45
_LEAD_WORDS = 70
_NEARLY_BEST, _ON_TOPIC = 0.8, 0.5
_SHORT, _FEWEST = 10, 5
_EXPLAINED = frozenset({Wants.INSTRUCTION, Wants.REASON, Wants.RULE})


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


@dataclass(frozen=True)
class Lead:
    """A line of the summary."""

    text: str
    label: str
    claim: Claim
    is_shown: bool = False
    """Whether the question asks for what code shows."""

    @property
    def code(self) -> str:
        """The code block that follows the line in its source, as Markdown."""
        for part, after in pairwise(self.claim.parts):
            if self.is_shown and self.text.endswith(part[-30:]) and "\n" in after:
                return fenced(after)
        return ""

    @property
    def reads_alone(self) -> bool:
        """Whether it needs nothing that stands before it or after it."""
        is_led = self.text.endswith(":") and not self.code
        return len(self.text.split()) >= _FEWEST and not is_led and not leans(self.text)

    def markdown(self) -> str:
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
        # The first words of a document may be the answer where no fact is asked for.
        self._may_open = question.wants not in FACTS
        # A section begins with an explanation; others are a phrase that may stand anywhere in it.
        self._is_explained = question.wants in _EXPLAINED

    def opening(self, ranked: Sequence[Claim]) -> Lead:
        """The line a report opens with: where no fact is asked for, how the best section begins.
        What needs another text beside it, or is no answer of the kind asked for, comes last."""
        top = ranked[0]
        good = [c for c in ranked if c.relevance >= _NEARLY_BEST * top.relevance]
        if self._may_open:
            good.sort(key=lambda c: (c.cite[0] != top.cite[0], c.sections != top.sections, c.start))
        is_shown = self._question.wants is Wants.INSTRUCTION
        leads = [Lead(self._lead(claim), "", claim, is_shown) for claim in good]
        return max(leads, key=lambda own: (own.reads_alone, self._decides(own)))

    def _decides(self, lead: Lead) -> bool:
        return bool(lead.code) or holds_answer(lead.text, self._question)

    def _lead(self, claim: Claim) -> str:
        """What a summary opens with: the fact that is asked for, else how the passage opens."""
        opening, key = sentences(claim.parts[0]), self.of(claim)
        if not self._may_open or not opening or "\n" in claim.parts[0]:
            return key
        if not self._is_explained:
            is_short = len(claim.parts[0].split()) <= _LEAD_WORDS
            return claim.parts[0] if is_short and key in claim.parts[0] else key
        if self._covered(opening[0]) < _NEARLY_BEST * self._covered(key):
            return key
        text = opening[0]
        for sentence in opening[1:]:
            if len(text.split()) + len(sentence.split()) > _LEAD_WORDS:
                break
            text = f"{text} {sentence}"
        return text if text in claim.parts[0] else key

    def speaks_of_it(self, text: str) -> bool:
        """Whether a line holds enough of the question to be read without its passage."""
        if self._is_explained:
            return self._covered(text) >= _ON_TOPIC * sum(self._weights.values())
        return self._may_open or holds_answer(text, self._question)

    def of(self, claim: Claim) -> str:
        """The sentence, with a neighbour that it needs."""
        prose = [part for part in claim.parts if "\n" not in part]
        given = [s for part in prose for s in sentences(part)] or [claim.text]
        shown = self._lines_to_code(claim)
        best = max(range(len(given)), key=lambda i: (self._worth(given[i], given[i] in shown), -i))
        sentence = given[best]
        is_cut = len(sentence.split()) < _SHORT or sentence.endswith(":")
        if is_cut and sentence not in shown:
            sentence = " ".join(given[best : best + 2])
        while best and leans(sentence) and not announces(given[best - 1]):
            best -= 1
            sentence = f"{given[best]} {sentence}"
        return sentence

    def _lines_to_code(self, claim: Claim) -> set[str]:
        """The sentences that code follows, which show how to do what is asked."""
        if self._question.wants is not Wants.INSTRUCTION:
            return set()
        return {sentences(part)[-1] for part, after in pairwise(claim.parts)
                if "\n" in after and "\n" not in part and sentences(part)}  # fmt: skip

    def _worth(self, sentence: str, leads_to_code: bool) -> tuple[bool, bool, float]:
        """First that it reads well, then that it holds a fact that is asked for, then the terms."""
        is_short = len(sentence.split()) <= _SENTENCE_WORDS
        reads_well = is_short and (leads_to_code or not announces(sentence))
        answers = leads_to_code or holds_answer(sentence, self._question)
        is_fact = self._question.wants in FACTS
        return reads_well, answers and is_fact, self._covered(sentence) + self._answer * answers

    def _covered(self, sentence: str) -> float:
        held = self._question.terms_of(sentence)
        return sum(weight for own, weight in self._weights.items() if own in held)
