"""Sentences of two documents that say the same but for one value, or of which one denies the other.

Sentences meet by their rarest terms, so that the work grows with the number of sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from activities.evidence.conflicts.statements import Statement, Value, comparable, same_value
from activities.evidence.text.terms import term

_ALIKE = 0.8
_LEAST = 4
"""Terms two sentences must share."""
# "It was …", "The film was …": what it is, only the document's title tells.
_POINTS_BACK = re.compile(
    r"(?:it|he|she|they|this|these|his|her|its|their)\b|"
    r"(?:the|an?) [a-z-]+ (?:is|are|was|were|has|had|have|will|would|can|[a-z]+ed)\b",
    re.IGNORECASE,
)
_OPENING = 12
"""A date this near to the beginning dates the whole sentence: "In 2019, …"."""
_KEYS = 4
_CROWD = 24
_OPPOSITES = [
    frozenset(map(term, pair))
    for pair in (
        ("increase", "decrease"), ("rise", "fall"), ("grow", "shrink"), ("allow", "forbid"),
        ("allow", "prohibit"), ("permit", "prohibit"), ("enable", "disable"), ("accept", "reject"),
        ("support", "oppose"), ("above", "below"), ("true", "false"), ("always", "never"),
        ("require", "optional"), ("mandatory", "optional"), ("open", "close"), ("win", "lose"),
        ("include", "exclude"), ("safe", "unsafe"), ("legal", "illegal"),
    )
]  # fmt: skip

Pair = tuple[Value, Value]


def aligned(statements: Sequence[Statement]) -> Iterator[Pair]:
    """Pairs of values that stand in the same place of the same sentence of two documents."""
    for x, y in meet([statement.terms for statement in statements]):
        a, b = statements[x], statements[y]
        if a.origins.isdisjoint(b.origins) and _share_subject(a, b):
            yield from _difference(a, b)


def meet(texts: Sequence[frozenset[str]]) -> list[tuple[int, int]]:
    """Places of texts, given by their terms, that share two of their rarest terms."""
    counts = Counter(term for terms in texts for term in terms)
    blocks: dict[tuple[str, ...], list[int]] = {}
    for place, terms in enumerate(texts):
        rare = sorted((counts[t], t) for t in terms if counts[t] > 1)[:_KEYS]
        for key in combinations(sorted(t for _, t in rare), 2):
            blocks.setdefault(key, []).append(place)
    return sorted(
        {
            (x, y)
            for places in blocks.values()
            for n, x in enumerate(places)
            for y in places[n + 1 : n + 1 + _CROWD]
        }
    )


def alike(a: Iterable[str], b: Iterable[str]) -> float:
    """The share of terms in common; 0 where there are too few to tell."""
    a, b = frozenset(a), frozenset(b)
    shared = len(a & b)
    return shared / len(a | b) if shared >= _LEAST else 0.0


def _share_subject(a: Statement, b: Statement) -> bool:
    """Whether both name one thing, or their documents have one title."""
    if a.title and a.title == b.title:
        return True
    if _POINTS_BACK.match(a.text) or _POINTS_BACK.match(b.text):
        return False
    first = frozenset[str]().union(*(name.key for name in a.names))
    second = frozenset[str]().union(*(name.key for name in b.names))
    return bool(first & second)


def _difference(a: Statement, b: Statement) -> Iterator[Pair]:
    mine, theirs = _figures(a), _figures(b)
    lone_a = [x for x in mine if not any(_same(x, y) for y in theirs)]
    lone_b = [y for y in theirs if not any(_same(x, y) for x in mine)]
    rest_a, rest_b = _rest(a, mine), _rest(b, theirs)
    if not lone_a and not lone_b:
        if _opposed(a, b, rest_a, rest_b):
            yield _stance(a, b), _stance(b, a)
    elif alike(rest_a, rest_b) >= _ALIKE and a.is_negated == b.is_negated:
        yield from _lone_values(lone_a, lone_b)


def _lone_values(mine: Sequence[Value], theirs: Sequence[Value]) -> Iterator[Pair]:
    """The one amount that differs; else the one date, unless a sentence opens with it."""
    x, y = [v for v in mine if v.amount], [v for v in theirs if v.amount]
    if not x and not y and min(v.start for v in (*mine, *theirs)) > _OPENING:
        x, y = list(mine), list(theirs)
    if len(x) == len(y) == 1 and comparable(x[0], y[0]):
        yield x[0], y[0]


def _stance(statement: Statement, other: Statement) -> Value:
    """What a sentence says to one that opposes it: by a negation, or else in words of its own."""
    if statement.is_negated == other.is_negated:
        return Value(statement, "polarity", statement.text, 0)
    return Value(statement, "polarity", "denied" if statement.is_negated else "stated", 0)


def _figures(statement: Statement) -> list[Value]:
    return [
        *(Value(statement, "date", m.text, m.start, moment=m) for m in statement.moments),
        *(Value(statement, "number", q.text, q.start, amount=q) for q in statement.amounts),
    ]


def _same(a: Value, b: Value) -> bool:
    return comparable(a, b) and same_value(a, b)


def _rest(statement: Statement, values: Sequence[Value]) -> frozenset[str]:
    """The terms of a sentence outside its figures."""
    return frozenset(
        token.term
        for token in statement.tokens
        if not any(v.start < token.end and token.start < v.end for v in values)
    )


def _opposed(a: Statement, b: Statement, mine: frozenset[str], theirs: frozenset[str]) -> bool:
    swapped = [
        pair
        for pair in _OPPOSITES
        if len(pair & mine - theirs) == 1 and len(pair & theirs - mine) == 1
    ]
    words = frozenset[str]().union(*swapped)
    odd = (a.is_negated != b.is_negated) != (len(swapped) % 2 == 1)
    return odd and alike(mine - words, theirs - words) >= _ALIKE
