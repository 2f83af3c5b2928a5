"""Two wordings of one sentence that differ in a single place.

Versions of a document, copies of a release and edited pages repeat a sentence and change one phrase
of it. What stands in that place is then a value on both sides, whatever kind of word it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from activities.evidence.words import STOP, stem, tokens

_LONGEST = 5  # words; a longer change rewrites the sentence rather than one value in it
LEAD = 4  # words the wordings share before the change, so that the subject is not what changed
_TAIL = 2  # words shared after the change, unless so much is shared before it that it is a copy
_LONG = 10


@dataclass(frozen=True, slots=True)
class Substitution:
    """The phrase each wording has where the other has another, with its place."""

    mine: tuple[int, int]
    theirs: tuple[int, int]
    before: int
    """Number of words shared directly before the change."""


def substitutions(a: str, b: str) -> Iterator[Substitution]:
    """Places where one phrase stands for another, shared words on both sides of it."""
    mine, theirs = _words(a), _words(b)
    keys = [w for w, _, _ in mine], [w for w, _, _ in theirs]
    steps = SequenceMatcher(None, *keys, autojunk=False).get_opcodes()
    for place, (step, i, j, k, m) in enumerate(steps):
        if step != "replace" or max(j - i, m - k) > _LONGEST:
            continue
        if not place or steps[place - 1][0] != "equal":
            continue
        before = steps[place - 1][2] - steps[place - 1][1]
        last = place + 1 == len(steps)
        after = 0 if last or steps[place + 1][0] != "equal" else 1
        if not (last or after):
            continue
        if _exchanged(keys[0][i:j], keys[1][k:m]):
            yield Substitution(
                (mine[i][1], mine[j - 1][2]), (theirs[k][1], theirs[m - 1][2]), before
            )


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[tuple[str, int, int], ...]:
    return tuple((word.lower(), start, end) for word, start, end in tokens(text))


def lone_substitution(a: str, b: str) -> Substitution | None:
    """The one phrase in which two wordings of a sentence differ, if it is one, past the subject."""
    mine, theirs = _words(a), _words(b)
    least = min(len(mine), len(theirs))
    lead = 0
    while lead < least and mine[lead][0] == theirs[lead][0]:
        lead += 1
    if lead < LEAD:
        return None
    tail = 0
    while tail < least - lead and mine[-1 - tail][0] == theirs[-1 - tail][0]:
        tail += 1
    ours, others = mine[lead : len(mine) - tail], theirs[lead : len(theirs) - tail]
    if max(len(ours), len(others)) > _LONGEST or lead + tail < 2 * max(len(ours), len(others)):
        return None
    if tail < _TAIL and lead + tail < _LONG:
        return None  # "is electric" and "is blue" end alike sentences and can both be true
    if not _exchanged([w for w, _, _ in ours], [w for w, _, _ in others]):
        return None
    return Substitution((ours[0][1], ours[-1][2]), (others[0][1], others[-1][2]), lead)


def _exchanged(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether each side has a content word the other lacks."""
    ours = {stem(w) for w in mine if w not in STOP and len(w) > 1}
    others = {stem(w) for w in theirs if w not in STOP and len(w) > 1}
    return bool(ours - others and others - ours)
