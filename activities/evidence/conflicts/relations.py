"""How two values of one thing relate: a contradiction, or a difference of another kind."""

from __future__ import annotations

import re
from collections.abc import Sequence

from activities.evidence.conflicts.statements import Statement, Value
from activities.evidence.quantities.dates import Moment, apart
from workflows.evidence import Relation

_INCLUDES = re.compile(
    r"\b(?:includ\w+|exclud\w+|without|net of|gross|before tax|after tax|only|adjusted|unadjusted|"
    r"at constant prices|at current prices|nominal|in real terms)\b",
    re.IGNORECASE,
)
_OLD = re.compile(
    r"\b(?:superseded|outdated|out of date|obsolete|no longer (?:valid|current|applies|in force)|"
    r"replaced by|deprecated|formerly|previously|originally|until recently)\b",
    re.IGNORECASE,
)


def relate(a: Value, b: Value) -> Relation:
    """The relation of two different values of one thing."""
    if _is_old(a.statement) != _is_old(b.statement):
        return "superseded"
    if a.kind != "date" and _other_period(_scope(a), _scope(b)):
        return "other_period"
    if _other_title(a.statement, b.statement):
        return "other_entity"
    if a.kind == "number" and _other_definition(a.statement.text, b.statement.text):
        return "other_definition"
    return "contradicts"


def _is_old(statement: Statement) -> bool:
    return statement.superseded or _OLD.search(statement.text) is not None


def _scope(value: Value) -> list[Moment]:
    """The periods a statement names beside the value."""
    return [m for m in value.statement.moments if m.end <= value.start or m.start >= value.end]


def _other_period(a: Sequence[Moment], b: Sequence[Moment]) -> bool:
    return bool(a and b) and all(apart(x, y) for x in a for y in b)


def _other_title(a: Statement, b: Statement) -> bool:
    """Whether each title has a word of its own: "Springfield (Ohio)" and "Springfield (Texas)"."""
    if not a.title & b.title:
        return False
    return bool(a.title - b.title - b.terms) and bool(b.title - a.title - a.terms)


def _other_definition(a: str, b: str) -> bool:
    """Whether both say what is counted, in different words."""
    first = {found.lower() for found in _INCLUDES.findall(a)}
    second = {found.lower() for found in _INCLUDES.findall(b)}
    return bool(first and second) and first.isdisjoint(second)
