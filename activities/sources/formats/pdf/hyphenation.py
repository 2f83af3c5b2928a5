"""Words broken at line ends: `impor-/tant` is joined, `zero-/emission` keeps its hyphen.

No dictionary is needed: the rest of the document shows how the word is written, and whether its
program hyphenates at all. Many only break at hyphens that were there before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

HYPHEN = "\ufffe"  # what pdfium writes for a hyphen at the end of a line

_WORD = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*")
_BROKEN = re.compile(rf"([\w-]*){HYPHEN}(\w*)")
_COMPOUNDS = frozenset(
    {
        "all", "anti", "best", "co", "cross", "data", "double", "end", "ex", "first", "four",
        "full", "half", "hand", "health", "high", "in", "inter", "intra", "large", "late", "life",
        "long", "low", "mid", "multi", "near", "non", "off", "on", "one", "open", "over", "part",
        "peer", "post", "pre", "pro", "quasi", "real", "self", "semi", "short", "single", "small",
        "so", "state", "sub", "third", "time", "top", "trade", "two", "under", "user", "water",
        "well", "wide", "world", "year", "zero",
    }
)  # fmt: skip
_LEAST_SHARE = 0.03


class Hyphenation:
    """How one document breaks its words."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._words: Counter[str] = Counter()
        breaks: list[tuple[str, str]] = []
        for line in lines:
            breaks.extend((left.lower(), right.lower()) for left, right in _BROKEN.findall(line))
            for word in _WORD.findall(_BROKEN.sub(" ", line.lower())):
                self._words.update({word, *word.split("-")})
        whole = sum(1 for left, right in breaks if self._words[left + right])
        kept = sum(1 for left, right in breaks if self._words[f"{left}-{right}"])
        compounds = sum(count for word, count in self._words.items() if "-" in word)
        # A program that does not hyphenate breaks about one in ten of the compounds it meets.
        many = len(breaks) > _LEAST_SHARE * len(lines) and len(breaks) > 0.5 * compounds + 1
        self._hyphenates = whole > kept + 1 or (many and whole >= kept)

    def resolve(self, text: str) -> str:
        """The text with every break at a line end mended."""
        return _BROKEN.sub(self._mended, text) if HYPHEN in text else text

    def joined(self, fragments: Sequence[str]) -> str:
        """Lines of a narrow cell as one; a word cut without a hyphen is whole elsewhere."""
        text = ""
        for fragment in fragments:
            left, right = text.rsplit(" ", 1)[-1].lower(), fragment.split(" ", 1)[0].lower()
            cut = left and self._words[left + right] >= max(1, self._words[left])
            text = f"{text}{fragment}" if cut or not text else f"{text} {fragment}"
        return text

    def _mended(self, broken: re.Match[str]) -> str:
        left, right = broken[1], broken[2]
        return left + right if self._is_one_word(left, right) else f"{left}-{right}"

    def _is_one_word(self, left: str, right: str) -> bool:
        first, second = left.lower(), right.lower()
        if not left[-1:].isalpha() or not right[:1].islower() or "-" in left:
            return False
        if self._words[first + second]:
            return True
        if self._words[f"{first}-{second}"] or first in _COMPOUNDS:
            return False
        if self._words[first] and self._words[second] and len(second) > 3:
            return False
        return self._hyphenates
