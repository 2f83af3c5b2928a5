"""Words broken at line ends: `impor-/tant` is joined, `zero-/emission` keeps its hyphen.

The rest of the document shows how the word is written; where it does not, the dictionary knows the
whole word or both of its parts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from activities.evidence.text.terms import detect_language, is_word

HYPHEN = "\ufffe"  # what pdfium writes for a hyphen at the end of a line

_WORD = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*")
_BROKEN = re.compile(rf"([\w-]*){HYPHEN}(\w*)")


class Hyphenation:
    """How one document breaks its words."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._language = detect_language(" ".join(lines[:100]))
        self._words: Counter[str] = Counter()
        for line in lines:
            for word in _WORD.findall(_BROKEN.sub(" ", line.lower())):
                self._words.update({word, *word.split("-")})

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
        if not left[-1:].isalpha() or not right[:1].islower() or "-" in left:
            return False
        first, second = left.lower(), right.lower()
        if self._words[first + second] or self._words[f"{first}-{second}"]:
            return bool(self._words[first + second])
        if is_word(first + second, self._language):
            return True
        return not (is_word(first, self._language) and is_word(second, self._language))
