"""The values with which claims answer a question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from activities.evidence.conflicts.questions import Question
from activities.evidence.conflicts.statements import Statement, Token, Value
from activities.evidence.quantities.amounts import Quantity, ranks, read
from activities.evidence.quantities.dates import lifespan
from activities.evidence.quantities.units import is_hard
from activities.evidence.text.names import Name
from activities.evidence.text.terms import WORD, term, words

# Shares of a question's terms that a sentence must hold: those of the subject; of the attribute,
# where a date or an amount answers, a name, and where the title names the subject.
_SUBJECT = 0.75
_ATTRIBUTE = 0.5
_NAMED = 0.6
_TITLED = 0.2
_FEWEST = 3
"""Terms a question without a name must have for its answers to be comparable."""
_NEAR = 60
"""Characters between a value and the words it answers."""
_OPENING = 8
_IN = re.compile(r"\b(?:in|at|near)(?: the(?: \w+ of)?)? $", re.I)
_ROOTS = {"birth": "born", "death": "die", "establish": "found", "creat": "found"}
_PRONOUN = re.compile(r"(?:he|she|it|they|his|her|its|their)\b", re.I)
_LABELLED = re.compile(r":? (?=[A-Z])")
_VERSION = re.compile(r"(?:\b(?:version|release|v)|[A-Z]\w+)\W?$")


def answers(question: Question, statements: Sequence[Statement]) -> list[Value]:
    """The value each document answers the question with; where it gives several, the nearest."""
    best: dict[frozenset[str], tuple[float, int, Value]] = {}
    for place, statement in enumerate(statements):
        if nearest := _answer(question, statement):
            distance, value = nearest
            cover = covers(question.terms, statement.terms)
            found = (distance / _NEAR - 2 * cover, place, value)
            known = best.get(statement.origins)
            best[statement.origins] = min(known, found, key=lambda f: f[:2]) if known else found
    return [value for _, _, value in best.values()]


def _answer(question: Question, statement: Statement) -> tuple[int, Value] | None:
    """The value with which a statement answers, and its distance from the question's words."""
    if value := _life_date(question, statement):
        return 0, value
    anchors = _anchors(question, statement)
    return _nearest(_values(question, statement), anchors) if anchors else None


def _life_date(question: Question, statement: Statement) -> Value | None:
    """The birth or death that the lifespan after the subject's name gives."""
    life = lifespan(statement.text) if question.expected == "date" else None
    asked = [_ROOTS.get(one, one) for one in question.attribute]
    if life is None or asked not in (["born"], ["die"]):
        return None
    name = {token.term for token in statement.tokens if token.end < life[0].start}
    if not _names_subject(name, question, statement):
        return None
    moment = life[asked == ["die"]]
    return Value(statement, "date", moment.text, moment.start, moment=moment)


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
    if label := _label(question, statement):
        return [label]
    titled = is_titled(question, statement)
    wanted = question.attribute | question.counted_terms
    if titled and not question.counted:
        wanted = question.terms - statement.title
    elif not titled and not _speaks_of_subject(question, statement):
        return []
    if question.counted and covers(question.counted_terms, statement.terms) < 1:
        return []
    if not question.counted and covers(wanted, statement.terms) < _least(question, titled):
        return []
    return [t for t in statement.tokens if any(akin(t.term, w) for w in wanted)]


def _speaks_of_subject(question: Question, statement: Statement) -> bool:
    """Whether the sentence or its document names what the question is about."""
    if _names_other(question, statement):
        return False
    # Where a title names another thing, the sentence itself must name the subject.
    held = statement.terms | statement.title if statement.title else statement.context
    if question.counted:
        # What is said of the things that are counted may stand in a sentence beside it.
        return covers(question.terms, statement.context) >= _SUBJECT
    if question.subject:
        return covers(question.subject, held) >= (1 if statement.title else _SUBJECT)
    return len(question.terms) >= _FEWEST and question.terms <= statement.terms


def _least(question: Question, titled: bool) -> float:
    """The share of the attribute's terms that must stand in the sentence."""
    if question.expected == "name":
        return _NAMED
    return _TITLED if titled else _ATTRIBUTE


def is_titled(question: Question, statement: Statement) -> bool:
    """Whether the document's title is the question's subject."""
    return bool(statement.headwords) and statement.headwords <= question.words


def _label(question: Question, statement: Statement) -> Token | None:
    """What is asked for as the label of a row that names the subject: "Stadium: Wembley Park"."""
    first = statement.tokens[0] if statement.tokens else None
    labels = (
        first is not None
        and first.term == question.sort
        and bool(_LABELLED.match(statement.text, first.end))
        and covers(question.subject, statement.terms) == 1
    )
    return first if labels else None


def _names_other(question: Question, statement: Statement) -> bool:
    """Whether the sentence opens with something that is not the question's subject."""
    if statement.title and _PRONOUN.match(statement.text):
        return True
    first = statement.names[0] if statement.names else None
    if first is None or first.start >= _OPENING:
        return False
    opening = _terms_of(first, statement)
    if opening <= statement.title:
        return not opening <= question.words
    if covers(question.subject, statement.terms) >= 0.5:
        return False
    known = question.terms | statement.title
    return not any(akin(one, other) for one in opening for other in known)


def _terms_of(name: Name, statement: Statement) -> set[str]:
    end = name.start + len(name.text)
    return {token.term for token in statement.tokens if name.start <= token.start < end}


def _is_of_other(question: Question, statement: Statement, start: int) -> bool:
    """Whether a date in brackets stands behind a name that is not the subject's."""
    bracket = statement.text.rfind("(", 0, start)
    if bracket < 0 or ")" in statement.text[bracket:start]:
        return False
    before = statement.text[:bracket].rstrip()
    named = [n for n in statement.names if n.start + len(n.text) == len(before)]
    if not named:
        return False
    return not _names_subject(_terms_of(named[0], statement), question, statement)


def _names_subject(name: AbstractSet[str], question: Question, statement: Statement) -> bool:
    """Whether a name is the subject's, which may be shortened where the title is the subject."""
    if is_titled(question, statement):
        return bool(name & question.subject)
    return question.subject <= name


def _values(question: Question, statement: Statement) -> list[Value]:
    if question.expected == "date":
        return [
            Value(statement, "date", m.text, m.start, moment=m)
            for m in statement.moments
            if question.asks_whether or all(m.text != asked.text for asked in question.moments)
            if not _is_of_other(question, statement, m.start)
        ]
    if question.expected == "name":
        return list(_named(question, statement)) if question.subject else []
    text = statement.text
    amounts = ranks(text) if question.expected == "rank" else read(text)[1]
    return [
        Value(statement, "number", q.text, q.start, amount=q, counted=_counts(question, q))
        for q in amounts
        if _counts(question, q) or _measures(question, q, text)
    ]


def _named(question: Question, statement: Statement) -> Iterator[Value]:
    """Names of the sort that is asked for, of people, or of places."""
    asked = frozenset(words(question.text))
    for name in statement.names:
        if question.sort:
            found = _of_sort(name, question.sort, statement)
        elif question.asks_place:
            found = name if _is_place(statement.text, name.start) else None
        else:
            found = name if len(name.key) > 1 else None
        if found and not found.key & asked:
            yield Value(statement, "name", found.text, found.start, name=found.key)


def _of_sort(name: Name, sort: str, statement: Statement) -> Name | None:
    """The part of a name that its sort closes, "Wembley" of "Stadium Wembley Stadium Tenants"."""
    begin = 0
    for word in WORD.finditer(name.text):
        if term(word[0].lower(), statement.language) == sort:
            if part := name.text[begin : word.start()].strip():
                return Name(part, name.start + begin)
            begin = word.end() + 1
    after = WORD.search(statement.text, name.start + len(name.text))
    if after and term(after[0], statement.language) == sort:
        return name
    return None


def _is_place(text: str, start: int) -> bool:
    """Whether "in", "at" or "near" stands before the name; "In Oslo, …" opens a topic."""
    return start > _OPENING and _IN.search(text[:start]) is not None


def _counts(question: Question, amount: Quantity) -> bool:
    """Whether an amount counts what the question counts."""
    unit = amount.unit.removeprefix("of ")
    return not is_hard(unit) and any(akin(unit, term) for term in question.counted_terms)


def _measures(question: Question, amount: Quantity, text: str) -> bool:
    """Whether an amount has the unit that is asked for, or follows its label: "Live albums: 3".

    What is counted, as in "two ways", is no extent unless the question names it.
    """
    before = text[: amount.start]
    if question.counted:
        return not amount.unit and before.rstrip(" :").endswith(question.counted.capitalize())
    if amount.label or ("." in amount.text and not amount.unit and _VERSION.search(before)):
        return False
    if question.unit:
        return amount.unit == question.unit
    is_extent = not amount.unit or is_hard(amount.unit)
    return is_extent or any(akin(amount.unit, one) for one in question.terms)


def _nearest(values: Sequence[Value], anchors: Sequence[Token]) -> tuple[int, Value] | None:
    """The value nearest to all anchors, with the number of characters to the nearest of them."""
    found = []
    for value in values:
        apart: dict[str, int] = {}
        for anchor in anchors:
            gap = max(value.start - anchor.end, anchor.start - value.end)
            apart[anchor.term] = min(gap, apart.get(anchor.term, gap))
        found.append((sum(apart.values()), min(apart.values()), value))
    _, gap, best = min(found, default=(0, 0, None), key=lambda one: one[0])
    return (gap, best) if best and gap <= _NEAR else None
