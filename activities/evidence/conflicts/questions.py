"""What a question asks for: the kind of answer, the subject and the attribute."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from activities.evidence.conflicts.statements import locate_terms
from activities.evidence.quantities.amounts import read
from activities.evidence.quantities.dates import Moment
from activities.evidence.text.names import names
from activities.evidence.text.sentences import sentences
from activities.evidence.text.stopwords import detect_language

Expected = Literal["date", "number", "name", "measure", ""]

_DATE = re.compile(
    r"\bwhen\b|\b(?:what|which)(?: \w+){0,4} (?:year|date|day|month|decade|century)\b|\bwann\b",
    re.I,
)
_COUNT = re.compile(r"\bhow many (?P<counted>(?:[\w-]+ ){0,2}?[\w-]+s|people|[\w-]+)\b", re.I)
_EXTENT = re.compile(
    r"\bhow (?:much|long|far|large|big|tall|high|deep|wide|old|heavy|fast)\b", re.I
)
_NAME = re.compile(r"(?:^|, )(?:who|whom|where|wer|wo)\b", re.I)
_PLACE = re.compile(r"(?:^|, )(?:where|wo)\b", re.I)
_MEASURE = re.compile(
    r"\bwhat (?:is|are|was|were) (?:the (?:[\w-]+ ){1,4}(?:of|in|at|for)\b|[\w ]+['’]s? )", re.I
)
_WHETHER = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|may|must|should|will|would)\b", re.I
)
_MANY = re.compile(r"^(?:who|where|what|which) (?:are|were|have)\b|\bwhich of\b", re.I)
# Words that ask for the kind of answer and need not stand beside it.
_ASKING = re.compile(
    r"\b(?:how (?:many|much|long|far|large|big|tall|high|deep|wide|old|heavy|fast)|"
    r"year|date|day|month|decade|century|when|name of|currently|current|take place|took place|"
    r"there|considered|(?:type|kind) of)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question taken apart; `counted` are the terms of what "how many" counts."""

    text: str
    expected: Expected
    subject: frozenset[str]
    attribute: frozenset[str]
    counted: frozenset[str]
    moments: tuple[Moment, ...]
    asks_place: bool
    asks_whether: bool

    @property
    def terms(self) -> frozenset[str]:
        return self.subject | self.attribute | self.counted


def parse_question(text: str) -> Question | None:
    """The last question of a text, or None where it asks for no single value."""
    asked = [part for part in sentences(text) if part.endswith("?")] or [text]
    question = asked[-1]
    expected = _expected(question)
    if not expected or _MANY.search(question):
        return None
    language = detect_language(question)
    subject = {
        token.term for name in names(question) for token in locate_terms(name.text, language)
    }
    counted: set[str] = set()
    if found := _COUNT.search(question):
        counted = {token.term for token in locate_terms(found["counted"], language)} - subject
        if not counted:
            return None
    rest = {token.term for token in locate_terms(_ASKING.sub(" ", question), language)}
    moments, _ = read(question)
    rest -= {t.term for m in moments for t in locate_terms(m.text, language)}
    return Question(
        question,
        expected,
        frozenset(subject),
        frozenset(rest - subject - counted),
        frozenset(counted),
        moments,
        _PLACE.search(question) is not None,
        _WHETHER.match(question) is not None,
    )


def _expected(question: str) -> Expected:
    if _WHETHER.match(question):
        # "Did it open in 1951?" is answered by a date.
        return "date" if read(question)[0] else ""
    if _DATE.search(question):
        return "date"
    if _COUNT.search(question) or _EXTENT.search(question):
        return "number"
    if _NAME.search(question):
        return "name"
    return "measure" if _MEASURE.search(question) else ""
