"""What a question asks for: its terms, the kind of answer it wants, its kind as a whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from activities.evidence.text.names import names
from activities.evidence.text.sentences import sentences
from activities.evidence.text.terms import (
    STOP_WORDS,
    WORD,
    detect_language,
    term,
    word_terms,
    words,
)
from activities.offline.rule_families import is_on
from workflows.contracts.facets import QuestionKind


class Wants(StrEnum):
    """The kind of answer a question wants."""

    PERSON = "person"
    PLACE = "place"
    DATE = "date"
    NUMBER = "number"
    INSTRUCTION = "instruction"
    MANNER = "manner"
    REASON = "reason"
    RULE = "rule"
    DEFINITION = "definition"
    ANYTHING = "anything"


FACTS = frozenset({Wants.DATE, Wants.NUMBER, Wants.PERSON, Wants.PLACE})
SHORT_ANSWERS = FACTS | {Wants.ANYTHING}
"""What one sentence can answer."""

# How questions open that want each kind of answer, in English and German.
_OPENERS = {
    # "When should I …", "when is it worth …" and "when do I have to …" ask for a condition.
    Wants.DATE: "when(?! (?:should|to|is it)\\b| (?:do|can|must|would) (?:i|we|you)\\b)|since when"
    "|wann|seit wann",
    Wants.NUMBER: "how (?:many|much|long|old|far|big|tall|high|large|often|fast|deep|wide|hot)"
    "|wie ?viele?|wie (?:hoch|lange|alt|weit|groß|teuer|oft)|was kostet|what (?:it|they) costs?"
    r"|what (?:do|does|did|will|would) [^?.,]{1,60} cost",
    Wants.PERSON: "who|whom|whose|(?:by|with|to) whom|wer|wem|wen",
    Wants.PLACE: "where|wo|wohin|woher",
    Wants.REASON: "why|how come|what (?:caused|causes|led to|makes?)|warum|weshalb|wieso",
    Wants.INSTRUCTION: "how (?:do|does|can|could|should|would|to|must|may|might)"
    "|what (?:should|must|do) (?:i|we|you|one|they)|what steps"
    r"|wie (?:kann|können|soll|sollte|muss|macht|\w+e ich|\w+en wir|\w+t man)",
    Wants.MANNER: "how|wie",
    Wants.RULE: "(?:is|are|was|were|do|does|did|can|could|may|must|should|shall|will|would|has"
    "|have|had)(?:n?['’]t)?|won['’]t|ist|sind|war|darf|dürfen|kann|können|muss|müssen|soll|hat"
    "|haben|gibt es|wird|werden",
}
# What a "what …" or "which …" names, where that tells the kind of answer.
_NAMED = {
    Wants.DATE: "year date day month century decade time birthday jahr datum",
    Wants.NUMBER: """percentage percent share number amount cost price fee rate ratio size length
        height width depth weight population age budget deposit limit speed distance duration
        temperature capacity revenue salary interest total average maximum minimum timeout""",
    Wants.PERSON: """person man woman actor actress author writer director singer president player
        king queen founder leader artist musician footballer""",
    Wants.PLACE: """country city town place birthplace state county province river region village
        continent location island district stadt land ort""",
    Wants.REASON: "reason cause grund ursache",
}
_DEFINITION = re.compile(
    r"what (?:is|are|was|were|does) (?:an? |the )?[\w\s'’“”\"`.-]{2,60}(?: mean)?\??$"
    r"|define\b|was (?:ist|sind|bedeutet)\b",
    re.IGNORECASE,
)


def _openings() -> list[tuple[Wants, re.Pattern[str]]]:
    """One pattern for each kind of answer; the first that matches tells it."""
    found = []
    for wants, openers in _OPENERS.items():
        pattern = rf"(?:{openers})\b"
        if nouns := "|".join(_NAMED.get(wants, "").split()):
            asked = r"(?:(?:in|on|at|by|from|of|since) )?(?:what|which|welche\w*)"
            linked = r"(?:(?:is|are|was|were) (?:(?:the|our|its|their) )?)?"
            pattern = rf"{asked} {linked}(?:\w+ ){{0,2}}(?:{nouns})s?\b|{pattern}"
        found.append((wants, re.compile(pattern, re.IGNORECASE)))
    return [*found, (Wants.DEFINITION, _DEFINITION)]


_OPENINGS = _openings()
_AUXILIARY = "is|are|was|were|do|does|did|has|have|had|can|could|may|must|should|shall|will|would"
ASKING = (
    rf"(?:who|whom|whose|what|why|how|which|(?:when|where) (?:{_AUXILIARY})|{_AUXILIARY}"
    r"|wer|wem|wen|was|wann|wo|wie|warum|welche\w*)\b"
)
# What may stand before a question's own opening: "In 2024, …", "If it fails, …", "It fails, so …".
_PREAMBLE = re.compile(
    rf"^(?!{ASKING})[^?]{{0,240}}?[,;:–-]\s+(?:(?:and|but|so|then)\s+)?(?={ASKING})", re.I
)

_LIGHT, _VERB, _MAIN = 0.35, 0.6, 0.5
_DOES = re.compile(r"\b(?:I|we|you|one|they|to) (\w+)", re.I)
_CONTEXT, _MOST_CONTEXT = 0.25, 0.5
"""What a term around the question counts, and all of them together against its own."""

_KINDS = (
    (QuestionKind.COMPARISON, re.compile(
        r"\b(?:compare[ds]?|comparing|comparison|versus|(?-i:vs\.?)|differences? between"
        r"|better than|differs? from|vergleich\w*|unterschied\w*)\b", re.I)),
    (QuestionKind.TIMELINE, re.compile(
        r"\b(?:timeline|chronolog\w+|history of|evolv\w+|evolution of|course of events"
        r"|development of .{1,60} (?:since|over time)|how (?:has|have|did) .{1,80}"
        r"(?:develop|change|evolve)\w*)\b", re.I)),
    (QuestionKind.DECISION, re.compile(
        r"^(?:[^?]{0,160}, )?(?:should (?:we|i|they|our)\b"
        r"|what should (?:we|they|\w+ ){1,4}(?:do|choose)"
        r"|(?:which|what) (?!do|did).{1,60} (?:should|could|can) .{1,60}\b"
        r"|how (?:can|could|should) (?:we|our|(?-i:[A-Z]\w+))\b)", re.I)),
    (QuestionKind.CAUSE, re.compile(
        r"\b(?:why|what caused|what causes|causes? of|reasons? for|effects? of|impact of"
        r"|consequences? of|warum|weshalb)\b", re.I)),
)  # fmt: skip
BROAD = re.compile(
    r"\b(?:what (?:is|do we|do you) know(?:n)?\b|what is known|(?:give (?:me |us )?an )?overview"
    r"|everything (?:about|on)"
    r"|all about|tell (?:me|us) about|state of|landscape|summari[sz]e|introduction to|report on"
    r"|review of|guide to|main (?:aspects|topics|areas|themes|parts|features|concepts)"
    r"|key (?:aspects|topics|areas|themes|concepts)|überblick|what (?:are|is) the situation)\b",
    re.I,
)
# "How high is …" asks for a number: documents need not say "high".
_DEGREE = re.compile(
    r"\b(?:how|wie) (long|old|far|big|tall|high|large|often|fast|deep|wide|hot"
    r"|hoch|lange|alt|weit|groß|teuer|oft)\b",
    re.I,
)
_MANY_TERMS = 15
_ONES_OWN = re.compile(r"\b(?:I|[Mm]e|[Mm]y)\b")
_OPEN_KINDS = frozenset({QuestionKind.DECISION, QuestionKind.TIMELINE})
_FACTUAL = FACTS | {Wants.RULE, Wants.DEFINITION}


@dataclass(frozen=True)
class Question:
    """One question, or one part of a question."""

    text: str
    context: str = ""
    """What the question stands in: its terms count a little."""
    form: str = ""
    """The wording that tells what is wanted, where the text alone does not."""

    @cached_property
    def _language(self) -> str:
        return detect_language(f"{self.text} {self.context}")

    @cached_property
    def wants(self) -> Wants:
        if not is_on("answer_types"):
            return Wants.ANYTHING
        for wording in filter(None, (self.text, self.form)):
            opening = asking_clause(wording)
            for wants, pattern in _OPENINGS:
                if pattern.match(opening):
                    return wants
        return Wants.ANYTHING

    @cached_property
    def terms(self) -> dict[str, float]:
        """The terms asked about, each with the weight its word has in the question."""
        own = self._weighed(self.text)
        around = {t: w for t, w in self._weighed(self.context).items() if t not in own}
        together = _MOST_CONTEXT * max(1.0, sum(own.values()))
        share = min(_CONTEXT, together / max(1.0, sum(around.values())))
        return own | {t: w * share for t, w in around.items()}

    @cached_property
    def main_terms(self) -> frozenset[str]:
        """The terms that say what it is about."""
        return frozenset(own for own, weight in self.terms.items() if weight >= _MAIN)

    @cached_property
    def asked_terms(self) -> frozenset[str]:
        """The main terms of the clause that asks, without those of what is told before it."""
        return self.main_terms & self._weighed(asking_clause(self.text)).keys()

    @cached_property
    def context_terms(self) -> frozenset[str]:
        """The terms that only stand around the question; none where it is the whole question."""
        return frozenset(self.terms) - frozenset(self._weighed(self.text))

    def _weighed(self, text: str) -> dict[str, float]:
        light = dict.fromkeys(self._done, _VERB)
        light |= {word.lower(): _LIGHT for word in _DEGREE.findall(text)}
        asked = content_words(BROAD.sub(" ", text), self._language)
        return {term(word, self._language): light.get(word, 1.0) for word in asked}

    @cached_property
    def surface(self) -> dict[str, str]:
        """Each term as the question writes it."""
        return {
            term(word, self._language): word
            for text in (self.context, self.text)
            for word in content_words(text, self._language)
        }

    @cached_property
    def verbs(self) -> frozenset[str]:
        """What somebody wants to do, as in "how do I turn on …": documents may word it otherwise,
        so that its absence says nothing."""
        return self.terms_of(" ".join(self._done))

    @cached_property
    def _done(self) -> frozenset[str]:
        return frozenset(word.lower() for word in _DOES.findall(self.text))

    @cached_property
    def names(self) -> frozenset[str]:
        """Words of the names in the question and what it stands in, in lower case."""
        asked = f"{self.text} {self.context}"
        return frozenset(word for name in names(asked) for word in name.key)

    def terms_of(self, text: str) -> frozenset[str]:
        """The terms of any text, read as the question is."""
        known = self._read.get(text)
        if known is None:
            read = (word_terms(word, self._language) for word in set(WORD.findall(text)))
            known = frozenset().union(*read)
            self._read[text] = known
        return known

    @cached_property
    def _read(self) -> dict[str, frozenset[str]]:
        """Terms of texts read before: headings and surroundings come again with each passage."""
        return {}

    @property
    def is_broad(self) -> bool:
        return BROAD.search(self.text) is not None

    @cached_property
    def is_open(self) -> bool:
        """Whether many passages of many documents serve it together, as for a strategy; not what
        somebody asks for what he does himself."""
        is_free = self.wants in (Wants.ANYTHING, Wants.MANNER)
        asks_much = is_free and len(self._weighed(self.text)) >= _MANY_TERMS
        is_ones_own = _ONES_OWN.search(self.text) is not None
        return self.is_broad or (not is_ones_own and (self.kind in _OPEN_KINDS or asks_much))

    @property
    def kind(self) -> QuestionKind:
        """The kind of the whole question; the parts of a question are counted elsewhere."""
        for kind, pattern in _KINDS:
            if pattern.search(self.text):
                return kind
        if self.is_broad or self.wants not in _FACTUAL | {Wants.INSTRUCTION}:
            return QuestionKind.OVERVIEW
        return QuestionKind.FACT


def asking_clause(text: str) -> str:
    """The clause that asks."""
    asking = next((s for s in sentences(text) if s.endswith("?")), text)
    return _PREAMBLE.sub("", asking.strip(" \"“'"))


def content_words(text: str, language: str = "en") -> list[str]:
    """The words of a text in lower case, without function words."""
    stop = STOP_WORDS[language]
    return [word for word in dict.fromkeys(words(text)) if word not in stop]
