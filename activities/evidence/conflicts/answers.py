"""The values with which claims answer a question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from activities.evidence.conflicts.questions import Question
from activities.evidence.conflicts.statements import Statement, Token, Value
from activities.evidence.quantities.amounts import Quantity
from activities.evidence.quantities.units import family, is_hard
from activities.evidence.text.terms import words

_SUBJECT = 0.75
_ATTRIBUTE = 0.6
_UNNAMED = 0.8
_NEAR = 60
_FAR = 160
"""Characters between a value and the words it answers."""
_BREAK = re.compile(r"[;:•|]| and | but | while | which | who ")
_BREAK_COST = 25
_VERSION = re.compile(r"(?:version|release|python|v)\W?$", re.IGNORECASE)
_LIVED = re.compile(r"\(\s*$")
_AGENT = re.compile(r"\bby (?:the )?$", re.IGNORECASE)


def answers(question: Question, statements: Sequence[Statement]) -> list[Value]:
    """The value each statement answers the question with; statements that do not are left out."""
    found = []
    for statement in statements:
        anchors = _anchors(question, statement)
        if anchors is None:
            continue
        value = _nearest(_values(question, statement), anchors, statement.text)
        if value is not None:
            found.append(value)
    return found


def akin(one: str, other: str) -> bool:
    """Whether two terms have one root: `direct` and `director`, `write` and `writer`."""
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


def _anchors(question: Question, statement: Statement) -> list[Token] | None:
    """The places where a statement takes up the question's attribute; None where it does not."""
    wanted = question.attribute | question.counted
    if question.subject:
        if covers(question.subject, statement.terms | statement.context) < _SUBJECT:
            return None
        if covers(wanted, statement.terms) < _ATTRIBUTE:
            return None
    elif covers(wanted, statement.terms | statement.title) < _UNNAMED:
        return None
    anchors = [t for t in statement.tokens if any(akin(t.term, w) for w in wanted)]
    if anchors or wanted:
        return anchors or None
    return [t for t in statement.tokens if t.term in question.subject]


def _values(question: Question, statement: Statement) -> list[Value]:
    if question.expected == "date":
        return [
            Value(statement, "date", m.text, m.start, moment=m)
            for m in statement.moments
            if not any(m.text == asked.text for asked in question.moments)
        ]
    if question.expected in ("number", "measure"):
        return [
            Value(statement, "number", q.text, q.start, amount=q)
            for q in statement.amounts
            if _measures(question, q, statement.text)
        ]
    if question.expected == "name":
        return [
            Value(statement, "name", name.text, name.start, name=name.key)
            for name in statement.names
            if not name.key <= frozenset(words(question.text)) and name.key
        ]
    return []


def _measures(question: Question, amount: Quantity, text: str) -> bool:
    """Whether an amount has the unit that is asked for."""
    if _VERSION.search(text[: amount.start]):
        return False
    if question.counted:
        unit = amount.unit.removeprefix("of ")
        return not is_hard(unit) and any(akin(unit, term) for term in question.counted)
    if question.units:
        return family(amount.unit) in question.units
    return True


def _nearest(values: Sequence[Value], anchors: Sequence[Token], text: str) -> Value | None:
    best = min(
        ((_distance(value, anchor, text), value.start, value) for value in values for anchor in anchors),
        default=None,
        key=lambda found: found[:2],
    )
    return best[2] if best and best[0] <= _NEAR else None


def _distance(value: Value, anchor: Token, text: str) -> int:
    start, end = sorted((value.end, anchor.start)) if value.start < anchor.start else (anchor.end, value.start)
    between = text[start:end]
    return len(between) + _BREAK_COST * len(_BREAK.findall(between))
