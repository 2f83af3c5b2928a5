"""Whether one statement denies another: a negation on one side, or words of opposite direction."""

from __future__ import annotations

import re
from functools import lru_cache

from workflows.conflicts.values import Value
from workflows.quantities.amounts import read, same_number
from workflows.words import NEGATIONS, STOP, WORD, negated, stem

# Left and right are opposite; a statement holds one or the other, never both.
_PAIRS = (
    "rise rises rose risen rising increase increases increased increasing grow grows grew growth up"
    "|fall falls fell fallen falling decrease decreases decreased decline declines declined drop "
    "drops dropped shrank down",
    "approve approves approved accept accepts accepted|reject rejects rejected",
    "allow allows allowed permit permits permitted|ban bans banned forbid forbids forbidden "
    "prohibit prohibits prohibited",
    "support supports supported|oppose opposes opposed",
    "above exceed exceeds exceeded|below",
    "profit profitable|loss unprofitable",
    "safe|unsafe",
    "mandatory compulsory required|optional voluntary",
    "higher|lower",
    "faster|slower",
    "cheaper|dearer costlier",
    "before|after",
    "possible feasible|impossible infeasible",
    "legal lawful|illegal unlawful",
    "improve improves improved improving|worsen worsens worsened worsening",
    "successful succeeded|unsuccessful",
    "likely|unlikely",
    "true|false",
    "guilty|innocent",
    "alive|dead",
    "include includes included including|exclude excludes excluded excluding",
)
_SIDE_OF = {
    word: (row, side)
    for row, pair in enumerate(_PAIRS)
    for side, words in enumerate(pair.split("|"))
    for word in words.split()
}


DIRECTIONS = frozenset(stem(word) for word in _SIDE_OF) | NEGATIONS
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
            return next(w for w in words if _SIDE_OF.get(w.lower()) == (row, side))
    denial = _DENIAL.search(mine)
    if denial is not None and (after := [w for w in denial[2].split() if w]):
        kept = after[:1] if stem(after[0]) in _stems(theirs) else after
        return " ".join([str(denial[1]), *kept])
    other = _DENIAL.search(theirs)
    if other is not None:
        ours: dict[str, str] = {stem(w): w for w in reversed(WORD.findall(mine))}
        for word in str(other[2]).split():
            if stem(word) in ours:
                return ours[stem(word)]
    return ""


_DENIAL = re.compile(
    r"\b((?:(?:did|does|do|will|would|could|can|must|should) )?not|cannot|never|no|"
    r"(?:did|does|do|is|was|were|are|has|have|had|will|would|could|ca|wo)n['\u2019]t|"
    r"fail(?:s|ed) to|without)\s+((?:[A-Za-z'\u2019-]+\s?){1,3})",
    re.IGNORECASE,
)


def _stems(text: str) -> set[str]:
    return {stem(w) for w in WORD.findall(text)}


@lru_cache(maxsize=16384)
def stance(text: str) -> tuple[bool, tuple[tuple[int, int], ...]]:
    """Whether a text denies, and which way its words of direction point."""
    found: dict[int, int] = {}
    for word in WORD.findall(text.lower()):
        if word in _SIDE_OF:
            row, side = _SIDE_OF[word]
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
