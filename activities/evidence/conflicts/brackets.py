"""Asides in brackets: what a sentence adds without stating it.

What two wordings have in brackets is beside the point of both, so it is no side of a contradiction;
a name in brackets after another is most often the same thing by its other name. A figure in
brackets can still differ from one that is stated outright.
"""

from __future__ import annotations

import re

from activities.evidence.conflicts.values import Value

_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")


def in_aside(sentence: str, place: tuple[int, int]) -> bool:
    """Whether the stretch of the sentence lies within brackets."""
    return any(m.start() < place[0] and place[1] < m.end() for m in _ASIDE.finditer(sentence))


def both_aside(a: Value, b: Value) -> bool:
    """Whether two values are beside the point: both in brackets, or one name beside the other."""
    if a.name and b.name:
        return _named_aside(a, b) or _named_aside(b, a)
    return _only_aside(a) and _only_aside(b)


def _named_aside(told: Value, other: Value) -> bool:
    return any(other.text in m.group() for m in _ASIDE.finditer(told.sentence))


def _only_aside(value: Value) -> bool:
    """Whether the value stands nowhere in its sentence but in brackets."""
    if value.text not in value.sentence or not _ASIDE.search(value.sentence):
        return False
    return value.text not in _ASIDE.sub(" ", value.sentence)
