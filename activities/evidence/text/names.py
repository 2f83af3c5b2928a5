"""Capitalised names of people, places, organisations and works; the names of the months."""

from __future__ import annotations

import re
from dataclasses import dataclass

from activities.evidence.text.terms import STOP_WORDS, words

_NAMES = (
    "january jan januar",
    "february feb februar",
    "march mar märz",
    "april apr",
    "may mai",
    "june jun juni",
    "july jul juli",
    "august aug",
    "september sept sep",
    "october oct oktober okt",
    "november nov",
    "december dec dezember dez",
)
MONTHS: dict[str, int] = {
    name: number for number, names in enumerate(_NAMES, 1) for name in names.split()
}
MONTH_PATTERN = "|".join(sorted(MONTHS, key=len, reverse=True))
"""For a regular expression with `re.IGNORECASE`."""

# A full stop belongs to an initial or a short title (St. John, J. R. Smith), not to the name's end.
_CAPITAL = r"(?:[^\W\d_a-zß-öø-ÿ][a-z]{0,2}\.(?= [^\W\d_])|[^\W\d_a-zß-öø-ÿ][\w'’&-]*(?:\.\w+)*)"
# Words inside a name that are not capitalised: Bank of England, Ludwig van Beethoven.
_INNER = r"of|the|de|del|della|di|da|do|du|des|la|le|von|van|der|den|bin|ibn|al|el|&"
_NAME = re.compile(rf"{_CAPITAL}(?: (?:(?:{_INNER}) ){{0,2}}(?:{_CAPITAL}|\d{{1,4}}\b))*")
_OPENERS = {
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "according",
    "although", "despite", "however", "meanwhile", "moreover", "today", "tomorrow", "yes",
    "yesterday",
}  # fmt: skip
_NO_NAMES = STOP_WORDS["en"] | STOP_WORDS["de"] | _OPENERS | frozenset(MONTHS)


@dataclass(frozen=True, slots=True)
class Name:
    """A run of capitalised words and where it begins."""

    text: str
    start: int

    @property
    def key(self) -> frozenset[str]:
        """The words that carry the name, in lower case."""
        return frozenset(words(self.text)) - STOP_WORDS["en"]


def names(text: str) -> list[Name]:
    """The names of a text in order; a function word that only begins a sentence is none."""
    found: list[Name] = []
    for run in _NAME.finditer(text):
        start, name = run.start(), run[0]
        while name and name.split(" ", 1)[0].rstrip(".,").lower() in _NO_NAMES:
            first, _, name = name.partition(" ")
            start += len(first) + 1
        name = name.rstrip(".'’-&").removesuffix("'s").removesuffix("’s")
        if len(name) > 1 and name[:1].isupper():
            found.append(Name(name, start))
    return found
