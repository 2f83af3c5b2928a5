"""The things a question compares, in its own words.

"Compare A, B and C on cost", "A versus B", "how do A and B differ", "which is better, A or B?".
"""

from __future__ import annotations

import re

from activities.offline.grammar import trimmed
from activities.offline.language import content_terms
from activities.offline.lexicon import HOMOGRAPHS

_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_SIDES = (
    re.compile(
        r"\bhow (?:do|does|did|would|have|has) (?P<sides>.+?) (?:compare|differ|stack up)", re.I
    ),
    re.compile(
        r"\b(?:compar(?:e|ing|ison of)|contrast(?:ing)?|differences? between|between)\s+"
        r"(?P<sides>.+?)(?=\s+(?:on|in|by|for|regarding|when|as|along|across|over|at|from|under)\b"
        r"|[?.:;]|$)",
        re.I,
    ),
    re.compile(
        r"(?P<sides>(?:[\w'’-]+ ){0,3}[\w'’-]+ (?:versus|vs\.?) (?:[\w'’-]+ ?){1,4}"
        r"(?:,? (?:versus|vs\.?|and|or) [\w'’-]+)*)",
        re.I,
    ),
    re.compile(r"^(?P<sides>[^;:?]+ or [^,;:?]+):\s+which\b", re.I),
    re.compile(r":\s+(?P<sides>[^;:?]+,? or [^;:?]+)\?", re.I),
    re.compile(
        r"(?:,|:|\bbetter,?|\bcheaper,?|\bfaster,?|\bsafer,?)\s+(?P<sides>[^,;:?]+ or [^,;:?]+)\?",
        re.I,
    ),
)
_BETWEEN_SIDES = re.compile(
    r"\s*,\s*(?:and|or)?\s*|\s+(?:and|or|with|to|versus|vs\.?|against|than)\s+"
)


def _qualifies(word: str, noun: str) -> bool:
    """Whether a word waits for the last side's noun: "diesel and battery-electric ferries"."""
    return "-" in word or (noun.endswith("s") and word.islower() and not word.endswith("s"))


def compared(text: str) -> tuple[str, ...]:
    """The sides, at least two; empty where nothing is compared."""
    for form in _SIDES:
        found = form.search(text)
        if not found:
            continue
        # "compare the cost and noise of A and B": what stands before "of" is a criterion.
        _, _, after = found["sides"].rpartition(" of ")
        named = after if len(_BETWEEN_SIDES.split(after)) > 1 else found["sides"]
        sides = [trimmed(side) for side in _BETWEEN_SIDES.split(named) if side.strip()]
        shared = sides[-1].split()[1:] if sides else []
        if shared and all(" " not in s and _qualifies(s, shared[-1]) for s in sides[:-1]):
            sides[:-1] = [" ".join([side, *shared]) for side in sides[:-1]]
        sides = [re.sub(r"^(?:\w+ly|the|both|either)\s+", "", side) for side in sides]
        sides = [f"the {side}" if side in HOMOGRAPHS else side for side in sides]
        sides = [s for s in sides if content_terms(s) and not _YEAR.fullmatch(s)]
        if len(sides) > 1 and all(len(side.split()) < 7 for side in sides):
            return tuple(dict.fromkeys(sides))
    return ()
