"""Whether statements that differ can all be true as they stand: then they contradict nothing.

A conflict is found by words: the same thing with another value. A reader knows more. Two
instructions are two steps, what one page gives twice is two things, "the film" is another film in
another film's entry, and Tuesday's price is not Thursday's. A false contradiction costs more trust
than a missed one, so what may well hold together is not set against each other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from activities.offline.language import capitalised, content_terms, similarity
from activities.offline.leaning import leans
from activities.offline.predicates import is_order
from activities.offline.residue import plain

_SAME_MATTER = 0.5
_OPEN = re.compile(
    r"\b(?:can|may|might|could|includ(?:e|es|ing)|such as|for example|for instance|e\.g\.|one of|"
    r"some|among)\b",
    re.I,
)
_CONDITION = re.compile(r"^(?:if|when|where|unless|until|in case|for) [^,]{3,80}", re.I)
_DENIED = re.compile(r"\b(?:not|no|never|without|un(?:less|til))\b|n['’]t\b", re.I)
# What a day's or an hour's figure is told with.
_MOMENT = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|yesterday|tonight|this (?:week|morning|"
    r"month)|last (?:week|night|month)|(?:early|late|midday|morning|afternoon|closing)"
    r"(?:[ -](?:morning|afternoon|trading|on))?|\d{3,4} GMT|on the (?:day|month|week))\b",
    re.I,
)
# "The film was released …": which one, the entry knows whose name is its title.
_ONE_OF_MANY = re.compile(
    r"^(?:The|An?|Their|Our|Your) (?:[a-z-]+ )?[a-z-]+ (?:is|are|was|were|has|have|had|will|would|"
    r"can|\w{3,}ed|made|won|took|sold|lost|began|ran|held|rose|fell)\b"
)
# A name and nothing else: "Port Ellery", "Night Train (film)"; a report's title says more.
_ENTRY = re.compile(
    r"(?:The |An? )?[A-Z][\w.'’-]*(?: (?:of|the|and|in|de|on|[A-Z][\w.'’-]*)){0,5}(?: \([^)]*\))?"
)
_JOINING = re.compile(
    r"^(?:and|or|but|of|on|in|at|to|for|with|by|from|as|that|which|who|is|are|was|were|you)\b"
    r"|\b(?:and|or|of|on|in|at|to|for|with|by|from|as|the|a|an)$",
    re.I,
)


@dataclass(frozen=True)
class Side:
    """One side of a conflict: what it says, the value it gives, and the sources that say so."""

    text: str
    value: str
    sources: frozenset[str]
    titles: frozenset[str] = frozenset()


def coexist(kind: str, sides: Sequence[Side]) -> bool:
    """Whether every two sides may both be true, as far as their words tell."""
    return all(_both_hold(kind, a, b) for a, b in combinations(sides, 2))


def _both_hold(kind: str, a: Side, b: Side) -> bool:
    one, other = plain(a.text), plain(b.text)
    if a.sources == b.sources and len(a.sources) == 1:
        return True  # a page seldom contradicts itself: what it gives twice is two things
    if leans(one) or leans(other):
        return True  # who knows of what
    if is_order(one) and is_order(other) and kind in {"name", "polarity"}:
        return True
    if _other_condition(one, other) or _other_moment(one, other):
        return True
    if kind == "name":
        return _no_names(a.value, b.value) or bool(_OPEN.search(one) and _OPEN.search(other))
    if kind in {"number", "date"}:
        unnamed = bool(_ONE_OF_MANY.match(one) and _ONE_OF_MANY.match(other))
        return (unnamed and _other_entries(a, b)) or _other_subject(one, other)
    # One that denies the other says the same otherwise.
    return kind == "polarity" and similarity(one, other) < _SAME_MATTER


def _other_entries(a: Side, b: Side) -> bool:
    """Whether each stands in the entry of a thing of its own, as an encyclopedia has them."""
    named = all(_ENTRY.fullmatch(title) for title in a.titles | b.titles)
    return named and bool(a.titles and b.titles) and not a.titles & b.titles


def _other_condition(one: str, other: str) -> bool:
    """ "If it is on, … 8", "If it is not on, … 15"."""
    first, second = _CONDITION.match(one), _CONDITION.match(other)
    if not first or not second:
        return False
    denied = bool(_DENIED.search(first[0])) != bool(_DENIED.search(second[0]))
    return denied or set(content_terms(first[0])) != set(content_terms(second[0]))


def _other_moment(one: str, other: str) -> bool:
    """Each has a day or an hour of its own, and it is not the same."""
    first = {m.group().lower() for m in _MOMENT.finditer(one)}
    second = {m.group().lower() for m in _MOMENT.finditer(other)}
    return bool(first and second) and not first & second


def _other_subject(one: str, other: str) -> bool:
    """Each names somebody that the other does not, before it comes to its verb."""
    first, second = _leading_names(one), _leading_names(other)
    return bool(first - second) and bool(second - first) and not first & second


def _leading_names(text: str) -> frozenset[str]:
    """The words of the names that a sentence opens with."""
    head = " ".join(text.split()[:8])
    names = [name for name in capitalised(f"So {head}") if name.start < 40]
    return frozenset(t for name in names[:1] for t in content_terms(name.text))


def _no_names(one: str, other: str) -> bool:
    """Whether what differs is a turn of phrase, not two things that exclude each other."""
    low, high = sorted((one.lower(), other.lower()), key=len)
    return low in high or bool(_JOINING.search(one.strip()) or _JOINING.search(other.strip()))
