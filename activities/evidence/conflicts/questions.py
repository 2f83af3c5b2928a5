"""What a question asks for: the kind of value that answers it, and the words that stand beside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from activities.evidence.conflicts.statements import locate_terms
from activities.evidence.quantities.amounts import Quantity, ranks, read
from activities.evidence.quantities.dates import Moment
from activities.evidence.quantities.units import is_hard
from activities.evidence.text.names import names
from activities.evidence.text.sentences import sentences
from activities.evidence.text.terms import detect_language, term

Expected = Literal["date", "number", "rank", "name", "measure", ""]

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
_AUXILIARY = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|may|must|should|will|would)\b"
# "In which stadium does …", "What political party was …": a name of that kind answers.
_SORT = re.compile(
    rf"\b(?:which|what) (?:(?!{_AUXILIARY})[a-z-]+ ){{0,2}}?(?P<sort>(?!{_AUXILIARY})[a-z]+)"
    rf"(?= {_AUXILIARY}|\?)",
    re.I,
)
_MEASURE = re.compile(
    r"\bwhat (?:is|are|was|were) (?:the (?:[\w-]+ ){1,4}(?:of|in|at|for)\b|[\w ]+['’]s? )", re.I
)
_WHETHER = re.compile(rf"^{_AUXILIARY}", re.I)
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
    """A question taken apart."""

    text: str
    expected: Expected
    words: frozenset[str]
    """The terms of the whole question."""
    subject: frozenset[str]
    attribute: frozenset[str]
    counted: str
    """What "how many" counts, as the question words it."""
    counted_terms: frozenset[str]
    sort: str
    """The term of the noun after "which": a name of that sort answers."""
    unit: str
    """The unit of the amount or the rank that a yes-or-no question names."""
    moments: tuple[Moment, ...]
    asks_place: bool
    asks_whether: bool

    @property
    def terms(self) -> frozenset[str]:
        return self.subject | self.attribute | self.counted_terms


def parse_question(text: str) -> Question | None:
    """The last question of a text, or None where it asks for no single value."""
    asked = [part for part in sentences(text) if part.endswith("?")] or [text]
    question = asked[-1]
    moments, _ = read(question)
    amount = _asked_amount(question)
    expected = _expected(question, moments, amount)
    if not expected or _MANY.search(question):
        return None
    language = detect_language(question)
    subject = _terms(language, *(name.text for name in names(question)))
    counted = _counted(question, amount)
    counted_terms = _terms(language, counted) - subject
    if counted and not counted_terms:
        return None
    sort = _SORT.search(question) if expected == "name" else None
    rest = _terms(language, _ASKING.sub(" ", question))
    rest -= _terms(language, *(moment.text for moment in moments))
    rest -= _terms(language, amount.text if amount else "")
    return Question(
        text=question,
        expected=expected,
        words=_terms(language, question),
        subject=subject,
        attribute=rest - subject - counted_terms,
        counted=counted,
        counted_terms=counted_terms,
        sort=term(sort["sort"], language) if sort else "",
        unit=amount.unit if amount and not counted else "",
        moments=moments,
        asks_place=_PLACE.search(question) is not None,
        asks_whether=_WHETHER.match(question) is not None,
    )


def _terms(language: str, *texts: str) -> frozenset[str]:
    return frozenset(token.term for text in texts for token in locate_terms(text, language))


def _expected(question: str, moments: tuple[Moment, ...], amount: Quantity | None) -> Expected:
    if _WHETHER.match(question):
        # "Did it open in 1951?" is answered by a date, "Is it the fifth largest?" by a rank.
        if moments or amount is None:
            return "date" if moments else ""
        return "rank" if amount in ranks(question) else "number"
    if _DATE.search(question):
        return "date"
    if _COUNT.search(question) or _EXTENT.search(question):
        return "number"
    if _NAME.search(question):
        return "name"
    if _MEASURE.search(question):
        return "measure"
    return "name" if _SORT.search(question) else ""


def _asked_amount(question: str) -> Quantity | None:
    """The rank, or else the amount, that a yes-or-no question names."""
    if not _WHETHER.match(question):
        return None
    named = [amount for amount in read(question)[1] if amount.unit]
    return next(iter([*ranks(question), *named]), None)


def _counted(question: str, amount: Quantity | None) -> str:
    """What is counted: "live albums" of "how many live albums", or of "Are there two live …?"."""
    if counting := _COUNT.search(question):
        return counting["counted"]
    if amount is None or is_hard(amount.unit) or amount in ranks(question):
        return ""
    return amount.unit
