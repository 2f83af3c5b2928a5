"""Whether one statement denies another: a negation on one side, or words of opposite direction."""

from __future__ import annotations

import re
from functools import lru_cache

from activities.evidence.conflicts.lexicon import DIRECTION_OF
from activities.evidence.conflicts.values import Value
from activities.evidence.quantities.amounts import read, same_number
from activities.evidence.words import NEGATIONS, STOP, WORD, negated, stem

_VOTED = re.compile(r"\b(?:vot\w+|spoke|spoken|argued|campaigned) (for|in favou?r of|against)\b")
DIRECTIONS = frozenset(stem(word) for word in DIRECTION_OF) | NEGATIONS
"""Words that turn a statement round; whether two are about one thing is told without them."""


NEUTRAL: tuple[bool, tuple[tuple[int, int], ...]] = (False, ())
"""The stance of a statement that neither denies nor points anywhere."""


def opposed(a: Value, b: Value) -> bool:
    """Whether the two statements, taken to be about one thing, contradict each other."""
    (denies_a, sides_a), (denies_b, sides_b) = stance(a.clause), stance(b.clause)
    known = dict(sides_b)
    flips = [side != known[row] for row, side in sides_a if row in known]
    flipped, denied = sum(flips) % 2 == 1, denies_a != denies_b
    if not (flipped or denied) or not _numbers_agree(a.clause, b.clause):
        return False
    if denied and not flipped and a.stems - NEGATIONS != b.stems - NEGATIONS:
        # A lone "not" far from what is shared may deny something else altogether.
        return _denied_word_shared(a, b)
    return flipped != denied


def turning_words(mine: str, theirs: str) -> str:
    """The words of a clause that turn it against the other: "not approved", "approved"."""
    for row, side in stance(mine)[1]:
        if dict(stance(theirs)[1]).get(row, side) != side:
            words: list[str] = WORD.findall(mine)
            said = [w for w in words if DIRECTION_OF.get(w.lower()) == (row, side)]
            voted = _VOTED.search(mine.lower())
            return said[0] if said else str(voted.group()) if voted else ""
    denial = _DENIAL.search(mine)
    if denial is not None and (after := _without_auxiliaries(denial[2])):
        kept = after[:1] if stem(after[0]) in _stems(theirs) else after
        return " ".join([str(denial[1]), *kept])
    other = _DENIAL.search(theirs)
    if other is not None:
        ours: dict[str, str] = {stem(w): w for w in reversed(WORD.findall(mine))}
        for word in _without_auxiliaries(other[2]):
            if stem(word) in ours:
                return ours[stem(word)]
    return ""


_DENIAL = re.compile(
    r"\b((?:(?:did|does|do|will|would|could|can|must|should) )?not|cannot|never|no|"
    r"(?:did|does|do|is|was|were|are|has|have|had|will|would|could|ca|wo)n['\u2019]t|"
    r"fail(?:s|ed) to|without)\s+((?:[A-Za-z'\u2019-]+\s?){1,3})",
    re.IGNORECASE,
)


def _without_auxiliaries(text: str) -> list[str]:
    words = text.split()
    while words and words[0] in ("been", "be", "being", "yet", "to"):
        words.pop(0)
    return words


def _stems(text: str) -> set[str]:
    return {stem(w) for w in WORD.findall(text)}


@lru_cache(maxsize=16384)
def stance(text: str) -> tuple[bool, tuple[tuple[int, int], ...]]:
    """Whether a text denies, and which way its words of direction point."""
    found: dict[int, int] = {}
    lower = _VOTED.sub(lambda hit: "supported" if hit[1] != "against" else "opposed", text.lower())
    for word in WORD.findall(lower):
        if word in DIRECTION_OF:
            row, side = DIRECTION_OF[word]
            found.setdefault(row, side)
    return negated(text), tuple(found.items())


def _denied_word_shared(a: Value, b: Value) -> bool:
    """Whether the word after the negation stands in the other statement."""
    for one, other in ((a, b), (b, a)):
        words = WORD.findall(one.clause.lower().replace("\u2019", "'"))
        for place, word in enumerate(words):
            if word in NEGATIONS or word.endswith("n't"):
                following = [w for w in words[place + 1 :] if w not in STOP][:2]
                if following and all(stem(w) in other.stems for w in following[:1]):
                    return True
    return False


def _numbers_agree(a: str, b: str) -> bool:
    _, mine = read(a)
    _, theirs = read(b)
    return all(any(same_number(x, y) for y in theirs) for x in mine) and all(
        any(same_number(x, y) for x in mine) for y in theirs
    )
