"""Sentences of two documents that say the same but for one value, or of which one denies the other.

Sentences meet by their rarest terms, so that the work grows with the number of sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from activities.evidence.conflicts.statements import Statement, Value, same_value
from activities.evidence.quantities.units import compatible
from activities.evidence.text.terms import term

_ALIKE = 0.8
_LEAST = 4
"""Terms two sentences must share."""
_KEYS = 4
_CROWD = 24
_OPPOSITES = frozenset(
    frozenset((term(one), term(other)))
    for one, other in (
        pair.split("/")
        for pair in """increase/decrease rise/fall grow/shrink allow/forbid allow/prohibit
        permit/prohibit enable/disable accept/reject support/oppose above/below before/after
        true/false always/never required/optional mandatory/optional mandatory/voluntary open/close
        win/lose include/exclude success/failure safe/unsafe legal/illegal possible/impossible
        alive/dead guilty/innocent""".split()
    )
)

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
    """A name stands on both sides, or the documents have one title."""
    if a.title and a.title == b.title:
        return True
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
            yield tuple(Value(s, "polarity", s.text, 0) for s in (a, b))  # type: ignore[misc]
        return
    if alike(rest_a, rest_b) < _ALIKE or a.is_negated != b.is_negated:
        return
    numbers = [v for v in lone_a if v.amount], [v for v in lone_b if v.amount]
    if len(numbers[0]) == len(numbers[1]) == 1:
        x, y = numbers[0][0], numbers[1][0]
        if x.amount and y.amount and compatible(x.amount.unit, y.amount.unit):
            yield x, y
    elif not any(numbers) and len(lone_a) == len(lone_b) == 1 and min(lone_a[0].start, lone_b[0].start) > 12:
        yield lone_a[0], lone_b[0]


def _figures(statement: Statement) -> list[Value]:
    return [
        *(Value(statement, "date", m.text, m.start, moment=m) for m in statement.moments),
        *(Value(statement, "number", q.text, q.start, amount=q) for q in statement.amounts),
    ]


def _same(a: Value, b: Value) -> bool:
    return a.kind == b.kind and same_value(a, b)


def _rest(statement: Statement, values: Sequence[Value]) -> frozenset[str]:
    """The terms of a sentence outside its figures."""
    return frozenset(
        token.term
        for token in statement.tokens
        if not any(v.start < token.end and token.start < v.end for v in values)
    )


def _opposed(a: Statement, b: Statement, mine: frozenset[str], theirs: frozenset[str]) -> bool:
    swapped = [
        pair for pair in _OPPOSITES if len(pair & mine - theirs) == 1 and len(pair & theirs - mine) == 1
    ]
    words = frozenset[str]().union(*swapped)
    odd = (a.is_negated != b.is_negated) != (len(swapped) % 2 == 1)
    return odd and alike(mine - words, theirs - words) >= _ALIKE
