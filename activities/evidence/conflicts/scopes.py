"""What a value holds for: whether two are explicitly about different things.

`different` never says that two values are about the same thing; it says when their own words rule
that out: another entity, period, direction or measure.
"""

from __future__ import annotations

from collections.abc import Sequence

from activities.evidence.conflicts.tables import same_row
from activities.evidence.conflicts.values import Value
from activities.evidence.quantities.dates import apart
from activities.evidence.quantities.units import compatible, family


def different(a: Value, b: Value) -> bool:
    """Whether the two are explicitly about different things."""
    if a.row is not None or b.row is not None:
        return not (a.row and b.row and a.cell and same_row(a.row, b.row, a.cell))
    if a.measures and b.measures and not a.measures & b.measures:
        return True
    if a.parts and b.parts and a.parts.isdisjoint(b.parts):
        return True
    dated = a.kind != "date" and a.periods and b.periods
    if dated and all(apart(x, y) for x in a.periods for y in b.periods):
        return True
    for row in dict.fromkeys(row for row, _ in a.contrasts):
        ours = {c for r, c in a.contrasts if r == row}
        theirs = {c for r, c in b.contrasts if r == row}
        if theirs and not ours & theirs:
            return True
    return _labels_differ(a.labels, b.labels) or names_differ(a.names, b.names)


def names_differ(a: Sequence[tuple[str, ...]], b: Sequence[tuple[str, ...]]) -> bool:
    """Whether two sets of names speak of different things.

    A name matches another it contains. Names left over on both sides that share a word (two lines,
    two people of one family) are different things; where no name matches, so are all.
    """
    if not a or not b:
        return False
    left_a, left_b = names_left(a, b), names_left(b, a)
    if len(left_a) == len(a) or len(left_b) == len(b):
        return True
    return any(set(x) & set(y) for x in left_a for y in left_b)


def names_left(a: Sequence[tuple[str, ...]], b: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The names of the first that match none of the second."""
    return [x for x in a if not any(name_matches(x, y) for y in b)]


def name_matches(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether one name is the other in fewer words or in initials."""
    if set(a) <= set(b) or set(b) <= set(a):
        return True
    short, long = (a, b) if len(a) < len(b) else (b, a)
    return len(short) == 1 and len(long) > 1 and short[0] == "".join(word[0] for word in long)


def _labels_differ(a: Sequence[tuple[str, str]], b: Sequence[tuple[str, str]]) -> bool:
    for kind in dict.fromkeys(k for k, _ in a):
        ours = {v for k, v in a if k == kind}
        theirs = {v for k, v in b if k == kind}
        if theirs and not ours & theirs:
            return True
    return False


def comparable(a: Value, b: Value) -> bool:
    """Whether the units allow the two to be held against each other in this context."""
    if a.kind != b.kind or a.slot != b.slot:
        return False
    if a.amount is None or b.amount is None:
        return a.kind != "number"
    if a.row is not None and b.row is not None:
        return compatible(a.amount.unit, b.amount.unit)
    if not compatible(a.unit, b.unit):
        return False
    if a.unit and b.unit:
        return True
    # A bare figure is compared with a count only where its sentence names the thing counted.
    noun = (a.unit or b.unit).partition("/")[0]
    return not noun or noun in (b.stems if a.unit else a.stems)


def scope(value: Value) -> object:
    """All that `different` looks at: values of one scope need to be asked only once."""
    periods = tuple((m.first, m.last) for m in value.periods)
    return (
        value.kind, value.names, value.labels, periods, value.contrasts, value.measures,
        value.parts, value.row,
    )  # fmt: skip


def block(value: Value) -> tuple[str, str]:
    """Values are only ever compared within one block."""
    if value.kind != "number" or value.row is not None:
        return value.kind, value.slot
    return value.kind, family(value.unit)


def share_entity(a: Value, b: Value) -> bool:
    """Whether a name or a numbered thing stands in both."""
    mine = {word for name in a.names for word in name}
    return any(word in mine for name in b.names for word in name) or bool(
        set(a.labels) & set(b.labels)
    )
