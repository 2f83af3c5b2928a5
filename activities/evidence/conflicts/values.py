"""A value as comparison sees it: what it is, and what it stands among."""

from __future__ import annotations

from typing import NamedTuple

from activities.evidence.conflicts.tables import Cell, Row
from activities.evidence.quantities.amounts import Quantity
from activities.evidence.quantities.dates import Moment
from activities.evidence.words import STOP, WORD


class Value(NamedTuple):
    """A number, date, name or statement in its clause; `claim` is its claim's place."""

    claim: int
    kind: str
    unit: str
    text: str
    clause: str
    sentence: str
    amount: Quantity | None = None
    moment: Moment | None = None
    name: tuple[str, ...] = ()
    slot: str = ""
    stems: frozenset[str] = frozenset()
    near: frozenset[str] = frozenset()
    names: tuple[tuple[str, ...], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    periods: tuple[Moment, ...] = ()
    contrasts: tuple[tuple[int, int], ...] = ()
    measures: frozenset[int] = frozenset()
    parts: frozenset[str] = frozenset()
    """What the figure is of, where its clause says so."""
    leans: bool = False
    """The clause has no subject of its own."""
    row: Row | None = None
    cell: Cell | None = None


def phrase(statement: Value, text: str) -> Value:
    """A phrase of a statement taken as its value."""
    key = tuple(word.lower() for word in WORD.findall(text) if word.lower() not in STOP)
    return statement._replace(kind="name", text=text, name=key, names=(), contrasts=())
