"""What a question asks for, and the values with which claims answer it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from activities.evidence.conflicts.statements import Statement, Token, Value, locate_terms
from activities.evidence.quantities.amounts import Quantity, read
from activities.evidence.quantities.dates import Moment
from activities.evidence.quantities.units import is_hard
from activities.evidence.text.names import names
from activities.evidence.text.sentences import sentences
from activities.evidence.text.terms import detect_language, words

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
    subject = _terms(language, *(name.text for name in names(question)))
    counting = _COUNT.search(question)
    counted = _terms(language, counting["counted"]) - subject if counting else frozenset[str]()
    if counting and not counted:
        return None
    moments, _ = read(question)
    rest = _terms(language, _ASKING.sub(" ", question))
    rest -= _terms(language, *(moment.text for moment in moments))
    return Question(
        question,
        expected,
        subject,
        rest - subject - counted,
        counted,
        moments,
        _PLACE.search(question) is not None,
        _WHETHER.match(question) is not None,
    )


def _terms(language: str, *texts: str) -> frozenset[str]:
    return frozenset(token.term for text in texts for token in locate_terms(text, language))


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


# Shares of a question's terms that a sentence must hold: those of the subject; of the attribute,
# where a date or an amount answers, a name, and where the title names the subject.
_SUBJECT = 0.75
_ATTRIBUTE = 0.5
_NAMED = 0.6
_TITLED = 0.2
_TITLE = 0.75
"""The share of a title's terms that a question about its subject holds."""
_FEWEST = 3
"""Terms a question without a name must have for its answers to be comparable."""
_NEAR = 60
"""Characters between a value and the words it answers."""
_OPENING = 8
_IN = re.compile(r"\b(?:in|at|near)(?: the(?: \w+ of)?)? $", re.I)
_ROOTS = {"birth": "born", "death": "die", "establish": "found", "creat": "found"}
_VERSION = re.compile(r"(?:\b(?:version|release|v)|[A-Z]\w+)\W?$")


def answers(question: Question, statements: Sequence[Statement]) -> list[Value]:
    """The value each document answers the question with; where it gives several, the nearest."""
    best: dict[frozenset[str], tuple[float, int, Value]] = {}
    for place, statement in enumerate(statements):
        anchors = _anchors(question, statement)
        nearest = anchors and _nearest(_values(question, statement), anchors)
        if nearest:
            distance, value = nearest
            cover = covers(question.terms, statement.terms)
            found = (distance / _NEAR - 2 * cover, place, value)
            known = best.get(statement.origins)
            best[statement.origins] = min(known, found, key=lambda f: f[:2]) if known else found
    return [value for _, _, value in best.values()]


@lru_cache(maxsize=65536)
def akin(one: str, other: str) -> bool:
    """Whether two terms have one root: `direct` and `director`, `born` and `birth`."""
    one, other = _ROOTS.get(one, one), _ROOTS.get(other, other)
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return len(short) >= 4 and len(long) - len(short) <= 3 and long.startswith(short)


def covers(wanted: Iterable[str], held: Iterable[str]) -> float:
    """The share of the wanted terms that stand among those held."""
    wanted, held = frozenset(wanted), frozenset(held)
    if not wanted:
        return 1.0
    met = sum(one in held or any(akin(one, other) for other in held) for one in wanted)
    return met / len(wanted)


def _anchors(question: Question, statement: Statement) -> list[Token]:
    """The places where a statement takes up the question's attribute; none where it does not."""
    titled = is_titled(question, statement)
    wanted = question.attribute | question.counted
    if titled and not question.counted:
        wanted = question.terms - statement.title
    elif not titled and not _speaks_of_subject(question, statement):
        return []
    if question.counted and covers(question.counted, statement.terms) < 1:
        return []
    if not question.counted and covers(wanted, statement.terms) < _least(question, titled):
        return []
    return [t for t in statement.tokens if any(akin(t.term, w) for w in wanted)]


def _speaks_of_subject(question: Question, statement: Statement) -> bool:
    """Whether the sentence or its document names what the question is about."""
    if _names_other(question, statement):
        return False
    if question.counted:
        # What is said of the things that are counted may stand in a sentence beside it.
        return covers(question.terms, statement.context) >= _SUBJECT
    if question.subject:
        return covers(question.subject, statement.context) >= _SUBJECT
    return len(question.terms) >= _FEWEST and question.terms <= statement.terms


def _least(question: Question, titled: bool) -> float:
    """The share of the attribute's terms that must stand in the sentence."""
    if question.expected == "name":
        return _NAMED
    return _TITLED if titled else _ATTRIBUTE


def is_titled(question: Question, statement: Statement) -> bool:
    """Whether the document's title is the question's subject."""
    return bool(statement.title) and covers(statement.title, question.terms) >= _TITLE


def _names_other(question: Question, statement: Statement) -> bool:
    """Whether the sentence opens with the name of something that is not the question's subject."""
    if covers(question.subject, statement.terms) >= 0.5 or not statement.names:
        return False
    first = statement.names[0]
    opening = {
        t.term for t in statement.tokens if first.start <= t.start < first.start + len(first.text)
    }
    return first.start < _OPENING and not any(
        akin(one, other) for one in opening for other in question.subject | statement.title
    )


def _values(question: Question, statement: Statement) -> list[Value]:
    if question.expected == "date":
        return [
            Value(statement, "date", m.text, m.start, moment=m)
            for m in statement.moments
            if question.asks_whether or all(m.text != asked.text for asked in question.moments)
        ]
    if question.expected in ("number", "measure"):
        return [
            Value(statement, "number", q.text, q.start, amount=q, counted=bool(question.counted))
            for q in statement.amounts
            if _measures(question, q, statement.text)
        ]
    if question.expected == "name":
        return _named(question, statement) if question.subject else []
    return []


def _named(question: Question, statement: Statement) -> list[Value]:
    """People, or the places that "in", "at" or "near" stands before."""
    asked = frozenset(words(question.text))
    return [
        Value(statement, "name", name.text, name.start, name=name.key)
        for name in statement.names
        if not name.key & asked
        and (_is_place(statement.text, name.start) if question.asks_place else len(name.key) > 1)
    ]


def _is_place(text: str, start: int) -> bool:
    """Whether "in", "at" or "near" stands before the name; "In Oslo, …" opens a topic."""
    return start > _OPENING and _IN.search(text[:start]) is not None


def _measures(question: Question, amount: Quantity, text: str) -> bool:
    """Whether an amount has the unit that is asked for."""
    if "." in amount.text and not amount.unit and _VERSION.search(text[: amount.start]):
        return False
    if question.counted:
        unit = amount.unit.removeprefix("of ")
        return not is_hard(unit) and any(akin(unit, term) for term in question.counted)
    return True


def _nearest(values: Sequence[Value], anchors: Sequence[Token]) -> tuple[int, Value] | None:
    """The value nearest to an anchor, with the number of characters between them."""
    found = [(min(max(v.start - t.end, t.start - v.end) for t in anchors), v) for v in values]
    best = min(found, default=None, key=lambda pair: (pair[0], pair[1].start))
    return best if best and best[0] <= _NEAR else None
