"""Two wordings of one sentence that differ in a single place.

Versions of a document, copies of a release and edited pages repeat a sentence and change one phrase
of it. What stands in that place is then a value on both sides, whatever kind of word it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from workflows.words import STOP, stem, tokens

_LONGEST = 5  # words; a longer change rewrites the sentence rather than one value in it
_LEAD = 4  # words the wordings share before the change, so that the subject is not what changed


@dataclass(frozen=True, slots=True)
class Substitution:
    """The phrase each wording has where the other has another, with its place."""

    mine: tuple[int, int]
    theirs: tuple[int, int]
    before: int
    """Number of words shared directly before the change."""


def substitutions(a: str, b: str) -> Iterator[Substitution]:
    """Places where one phrase stands for another, shared words on both sides of it."""
    mine, theirs = list(tokens(a)), list(tokens(b))
    keys = [w.lower() for w, _, _ in mine], [w.lower() for w, _, _ in theirs]
    steps = SequenceMatcher(None, *keys, autojunk=False).get_opcodes()
    for place, (step, i, j, k, m) in enumerate(steps):
        if step != "replace" or max(j - i, m - k) > _LONGEST:
            continue
        if not (0 < place and steps[place - 1][0] == "equal"):
            continue
        before = steps[place - 1][2] - steps[place - 1][1]
        last = place + 1 == len(steps)
        after = 0 if last or steps[place + 1][0] != "equal" else 1
        if not (last or after):
            continue
        ours = {stem(w) for w in keys[0][i:j] if w not in STOP and len(w) > 1}
        others = {stem(w) for w in keys[1][k:m] if w not in STOP and len(w) > 1}
        if ours - others and others - ours:
            yield Substitution(
                (mine[i][1], mine[j - 1][2]), (theirs[k][1], theirs[m - 1][2]), before
            )


def lone_substitution(a: str, b: str) -> Substitution | None:
    """The one phrase in which two wordings of a sentence differ, if it is one, past the subject."""
    found = list(substitutions(a, b))
    if len(found) != 1 or found[0].before < _LEAD:
        return None
    one = found[0]
    rest_a = a[: one.mine[0]].split() + a[one.mine[1] :].split()
    rest_b = b[: one.theirs[0]].split() + b[one.theirs[1] :].split()
    shared = SequenceMatcher(None, rest_a, rest_b, autojunk=False).ratio()
    return one if shared >= 0.85 else None
