"""Sentences of two documents that say the same but for one value, or of which one denies the other.

Sentences meet by their rarest terms, so that the work grows with the number of sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from activities.evidence.conflicts.statements import (
    Statement,
    Value,
    comparable,
    is_negated,
    same_value,
)
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
_BOUNDARY = re.compile(
    r"[,;:()–—]\s|\s(?:and(?! [A-Z])|but|which|who|that|when|while|because|although)\s"
)
_BY = re.compile(r"\bby (?:the )?$")
_CLAUSE = 3
"""Terms a clause must have to be compared."""
_MORE = 1
"""Terms that the longer of two clauses may have beyond the shorter."""
_NUMERAL = re.compile(r"[ivx]+|\d+")
_OPENING = 12
"""A date this near to the beginning dates the whole sentence: "In 2019, …"."""
_KEYS = 4
_CROWD = 24
_DEFINING = frozenset(map(term, ("include", "exclude", "net", "gross", "nominal")))
"""What tells a definition, not a subject."""
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
    """Whether both name the same thing first, or their documents have one title."""
    if a.title and a.title == b.title:
        return True
    if _POINTS_BACK.match(a.text) or _POINTS_BACK.match(b.text):
        return False
    if not a.names or not b.names or (_opens_entry(a) and _opens_entry(b)):
        return False
    short, long = sorted((a.names[0].key, b.names[0].key), key=len)
    # "Bernhard IV" is not "Bernhard V", and a sequel is not its first part.
    return bool(short) and short <= long and not any(map(_NUMERAL.fullmatch, long - short))


def _opens_entry(statement: Statement) -> bool:
    """Whether the sentence begins with its document's title, as an encyclopedia's entry does."""
    heads = (title.partition(" (")[0] for title in statement.titles)
    return any(head and statement.text.startswith(head) for head in heads)


def _difference(a: Statement, b: Statement) -> Iterator[Pair]:
    mine, theirs = _values(a), _values(b)
    lone_a, lone_b = _unmatched(mine, theirs), _unmatched(theirs, mine)
    if not lone_a and not lone_b:
        if any(_opposed(x, y) for x in _clauses(a) for y in _clauses(b)):
            yield _stance(a, b), _stance(b, a)
        return
    pairs = _of_main_kind([(x, y) for x in lone_a for y in lone_b if comparable(x, y)])
    if len(pairs) == 1 and _same_place(*pairs[0]):
        yield pairs[0]


def _unmatched(values: Iterable[Value], others: Sequence[Value]) -> list[Value]:
    """The values that none of the others repeats."""
    return [x for x in values if not any(_same(x, y) for y in others)]


def _of_main_kind(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs of amounts, or else of names, or else of dates: where an amount differs, a date
    that differs too is its period."""
    if any(x.amount for x, _ in pairs):
        wanted = "number"
    elif any(x.name for x, _ in pairs):
        wanted = "name"
    else:
        wanted = "date"
    return [(x, y) for x, y in pairs if x.kind == wanted]


def _same_place(x: Value, y: Value) -> bool:
    """Whether two values stand in the same place of the same sentence, or of its clause."""
    if x.moment and min(x.start, y.start) <= _OPENING:
        return False
    one, other = _clause_of(x), _clause_of(y)
    if one.negated != other.negated:
        return False
    if alike(_rest(x.statement), _rest(y.statement)) >= _ALIKE:
        return True
    return _repeats(one.terms, other.terms, y.statement) or _repeats(
        other.terms, one.terms, x.statement
    )


def _repeats(clause: frozenset[str], other: frozenset[str], whole: Statement) -> bool:
    """Whether a sentence says all of a clause, and beside its own value hardly more than that."""
    return (
        len(clause) >= _CLAUSE
        and clause <= whole.terms | whole.title
        and bool(clause & whole.subject)
        and bool((other & clause) - whole.subject)
        and len(other - clause) <= _MORE
    )


@dataclass(frozen=True)
class _Clause:
    start: int
    end: int
    terms: frozenset[str]
    negated: bool


def _clauses(statement: Statement) -> list[_Clause]:
    """The clauses of a sentence with their terms, figures apart."""
    text, rest = statement.text, _rest(statement)
    cuts = [0, *(cut for found in _BOUNDARY.finditer(text) for cut in found.span()), len(text)]
    spoken = [(t.term, t.start) for t in statement.tokens]
    spoken += [(term, 0) for term in statement.title if term not in statement.terms]
    return [
        _Clause(
            start,
            end,
            frozenset(term for term, place in spoken if start <= place < end and term in rest),
            is_negated(text[start:end]),
        )
        for start, end in zip(cuts[::2], cuts[1::2], strict=True)
    ]


def _clause_of(value: Value) -> _Clause:
    found = _clauses(value.statement)
    return next((c for c in found if c.start <= value.start < c.end), found[0])


def _stance(statement: Statement, other: Statement) -> Value:
    """What a sentence says to one that opposes it: by a negation, or else in words of its own."""
    if statement.is_negated == other.is_negated:
        return Value(statement, "polarity", statement.text, 0)
    return Value(statement, "polarity", "denied" if statement.is_negated else "stated", 0)


def _values(statement: Statement) -> list[Value]:
    """The dates and amounts of a sentence, and the names that "by" stands before."""
    return [
        *(Value(statement, "date", m.text, m.start, moment=m) for m in statement.moments),
        *(Value(statement, "number", q.text, q.start, amount=q) for q in statement.amounts),
        *(
            Value(statement, "name", name.text, name.start, name=name.key)
            for name in statement.names
            if _BY.search(statement.text[: name.start])
        ),
    ]


def _same(a: Value, b: Value) -> bool:
    return comparable(a, b) and same_value(a, b)


def _rest(statement: Statement) -> frozenset[str]:
    """The terms of a sentence outside its values; the title's where it points back to it."""
    values = _values(statement)
    outside = {
        token.term
        for token in statement.tokens
        if not any(v.start < token.end and token.start < v.end for v in values)
    }
    points_back = _POINTS_BACK.match(statement.text) is not None
    return frozenset(outside - _DEFINING | (statement.title if points_back else set()))


def _opposed(a: _Clause, b: _Clause) -> bool:
    """Whether one clause denies what the other says, and says hardly more."""
    swapped = [
        pair
        for pair in _OPPOSITES
        if len(pair & a.terms - b.terms) == 1 and len(pair & b.terms - a.terms) == 1
    ]
    words = frozenset[str]().union(*swapped)
    short, long = sorted((a.terms - words, b.terms - words), key=len)
    if (a.negated != b.negated) == (len(swapped) % 2 == 1) or not short <= long:
        return False
    return len(short) + len(swapped) >= _CLAUSE and len(long - short) <= _MORE
