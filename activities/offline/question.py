"""What a question asks for: its terms, the kind of answer it wants, its kind as a whole."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from activities.evidence.text.names import names
from activities.evidence.text.stopwords import STOP_WORDS, detect_language
from activities.evidence.text.terms import term, words
from activities.offline.families import is_on
from workflows.plan import QuestionKind


class Wants(StrEnum):
    """The kind of answer a question wants."""

    PERSON = "person"
    PLACE = "place"
    DATE = "date"
    NUMBER = "number"
    INSTRUCTION = "instruction"
    REASON = "reason"
    RULE = "rule"
    DEFINITION = "definition"
    ANYTHING = "anything"


_OPENINGS = tuple(
    (wants, re.compile(pattern, re.IGNORECASE))
    for wants, pattern in (
        (Wants.DATE, r"when\b|(?:in |on |since |by )?(?:what|which) (?:\w+ )?(?:year|date|day|month"
                     r"|century|decade|time)\b|what (?:is|was|are|were) the (?:date|year|day|birthday)\b|wann\b|in welchem jahr\b|seit wann\b"),
        (Wants.NUMBER, r"how (?:many|much|long|old|far|big|tall|high|large|often|fast|deep|wide|hot)\b"
                       r"|(?:what|which) (?:\w+ )?(?:percentage|percent|share|number|amount|cost|price"
                       r"|fee|rate|ratio|size|length|height|width|depth|weight|population|age|budget"
                       r"|deposit|limit|speed|distance|duration|temperature|capacity|revenue|salary"
                       r"|interest|total|average|maximum|minimum|default value|timeout)s?\b"
                       r"|what (?:is|are|was|were) (?:the |our |its |their )?(?:\w+ ){0,2}(?:percentage"
                       r"|share|number|amount|cost|price|fee|rate|budget|deposit|population|size|length"
                       r"|height|limit|speed|distance|duration|capacity|revenue|total|average|salary)s?\b"
                       r"|wie ?viele?\b|wie (?:hoch|lange|alt|weit|groß|teuer|oft)\b|was kostet"),
        (Wants.PERSON, r"who(?:m|se)?\b|(?:by|with|to) whom\b|(?:what|which) (?:\w+ )?(?:person|man|woman"
                       r"|actor|actress|author|writer|director|singer|president|player|king|queen"
                       r"|founder|leader|artist|musician|footballer)\b|wer\b|wem\b|wen\b"),
        (Wants.PLACE, r"where\b|(?:in |at |from |of )?(?:what|which) (?:\w+ )?(?:country|city|town|place"
                      r"|state|county|province|river|region|village|continent|location|island"
                      r"|district)\b|what (?:is|was) the (?:place|birthplace|location)\b|wo(?:hin|her)?\b|in welche[rms]? (?:stadt|land|ort)\b"),
        (Wants.REASON, r"why\b|how come\b|what (?:is|are|was|were) the (?:\w+ )?(?:reasons?|causes?)\b"
                       r"|what (?:caused|causes|led to|makes?)\b|warum\b|weshalb\b|wieso\b"),
        (Wants.INSTRUCTION, r"how (?:do|does|can|could|should|would|to|must|may|might)\b"
                            r"|what (?:should|must|do) (?:i|we|you|one|they)\b|what steps\b"
                            r"|wie (?:kann|können|soll|sollte|muss|macht|\w+e ich|\w+en wir|\w+t man)\b"),
        (Wants.RULE, r"(?:is|are|was|were|do|does|did|can|could|may|must|should|shall|will|would|has"
                     r"|have|had)\b|(?:ist|sind|war|darf|dürfen|kann|können|muss|müssen|soll|hat|haben"
                     r"|gibt es|wird|werden)\b"),
        (Wants.DEFINITION, r"what (?:is|are|was|were|does) (?:an? |the )?[\w\s'’“”\"`.-]{2,60}"
                           r"(?: mean)?\??$|define\b|was (?:ist|sind|bedeutet)\b"),
    )
)  # fmt: skip
# What may stand before a question's own opening: "In 2024, …", "According to the report, …".
_PREAMBLE = re.compile(
    r"^(?:[^?]{0,160}?,\s+(?:and\s+)?)(?=(?:who|what|when|where|why|how|which)\b)", re.I
)

# Words that carry the form of a question or of any sentence, rather than its subject.
_LIGHT = frozenset(
    ["use", "make", "get", "find", "work", "happen", "know", "tell", "need", "want", "way", "thing", "kind", "type", "name", "number", "year", "date", "time", "example", "different", "difference", "main", "major", "important", "good", "well", "possible", "explain", "describe", "people", "person", "place", "give", "take", "go", "come", "do", "have", "be", "say", "see", "show", "mean", "call", "include", "provide", "recommend"]
)  # fmt: skip
_LIGHT_WEIGHT = 0.35

_KINDS = (
    (QuestionKind.COMPARISON, re.compile(
        r"\b(?:compare[ds]?|comparing|comparison|versus|vs\.?|differences? between|better than"
        r"|differs? from|vergleich\w*|unterschied\w*)\b", re.I)),
    (QuestionKind.TIMELINE, re.compile(
        r"\b(?:timeline|chronolog\w+|history of|evolv\w+|evolution of|course of events"
        r"|development of .{1,60} (?:since|over time)|how (?:has|have|did) .{1,80}"
        r"(?:develop|change|evolve)\w*)\b", re.I)),
    (QuestionKind.DECISION, re.compile(
        r"^(?:[^?]{0,160}, )?(?:should (?:we|i|they|our)\b|what should (?:we|they|\w+ ){1,4}(?:do|choose)"
        r"|(?:which|what) .{1,60} (?:should|could|can) .{1,60}\b|how (?:can|could|should) (?:we|our"
        r"|(?-i:[A-Z]\w+))\b)", re.I)),
    (QuestionKind.CAUSE, re.compile(
        r"\b(?:why|what caused|what causes|causes? of|reasons? for|effects? of|impact of"
        r"|consequences? of|warum|weshalb)\b", re.I)),
)  # fmt: skip
_BROAD = re.compile(
    r"\b(?:what (?:is|do we|do you) know(?:n)?\b|what is known|overview|everything (?:about|on)"
    r"|all about|tell (?:me|us) about|state of|landscape|summari[sz]e|introduction to|report on"
    r"|review of|guide to|main (?:aspects|topics|areas|themes|parts|features|concepts)"
    r"|key (?:aspects|topics|areas|themes|concepts)|überblick|what (?:are|is) the situation)\b",
    re.I,
)
_FACTUAL = frozenset(
    {Wants.PERSON, Wants.PLACE, Wants.DATE, Wants.NUMBER, Wants.RULE, Wants.DEFINITION}
)


@dataclass(frozen=True)
class Question:
    """One question, or one part of a question."""

    text: str
    context: str = ""
    """The whole question around a part: its terms count a little."""
    language: str = field(default="", compare=False)

    @cached_property
    def _language(self) -> str:
        return self.language or detect_language(f"{self.text} {self.context}")

    @cached_property
    def wants(self) -> Wants:
        if not is_on("answer_types"):
            return Wants.ANYTHING
        opening = _PREAMBLE.sub("", self.text.strip(" \"“'"))
        return next((w for w, pattern in _OPENINGS if pattern.match(opening)), Wants.ANYTHING)

    @cached_property
    def terms(self) -> dict[str, float]:
        """The terms asked about, each with the weight its word has in the question."""
        found: dict[str, float] = {}
        for text, weight in ((self.text, 1.0), (self.context, 0.25)):
            for word in content_words(text, self._language):
                own = term(word, self._language)
                light = is_on("light_words") and own in _LIGHT_TERMS
                found.setdefault(own, weight * (_LIGHT_WEIGHT if light else 1.0))
        return found

    @cached_property
    def surface(self) -> dict[str, str]:
        """Each term as the question writes it."""
        return {
            term(word, self._language): word
            for text in (self.context, self.text)
            for word in content_words(text, self._language)
        }

    @cached_property
    def names(self) -> frozenset[str]:
        """Words of the names in the question, in lower case."""
        return frozenset(word for name in names(self.text) for word in name.key)

    def terms_of(self, text: str) -> frozenset[str]:
        """The terms of any text, read in the language of the question."""
        return frozenset(term(word, self._language) for word in words(text))

    @property
    def is_broad(self) -> bool:
        return _BROAD.search(self.text) is not None

    @property
    def kind(self) -> QuestionKind:
        """The kind of the whole question; the parts of a question are counted elsewhere."""
        for kind, pattern in _KINDS:
            if pattern.search(self.text):
                return kind
        if self.is_broad or self.wants not in _FACTUAL | {Wants.INSTRUCTION}:
            return QuestionKind.OVERVIEW
        return QuestionKind.FACT


def content_words(text: str, language: str = "en") -> list[str]:
    """The words of a text in lower case, without function words."""
    stop = STOP_WORDS[language]
    return [word for word in dict.fromkeys(words(text)) if word not in stop]


_LIGHT_TERMS = frozenset(term(word) for word in _LIGHT)
