"""Quotes against stored text, letter for letter once runs of white space are folded to one blank.

`StoredText` is built once per source; looking a quote up in it is a substring search, so a hundred
claims take milliseconds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from hashlib import blake2b

from activities.sources.chunks import section_paths
from workflows.contracts.evidence import Quote

_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
_SHINGLE = 4
_SKETCH = 96


def fold(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


class StoredText:
    """The stored copy of a source, ready for quotes to be found in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        pieces: list[str] = []
        self._folded_at: list[int] = []
        self._original_at: list[int] = []
        position = 0
        for match in re.finditer(r"\S+", text):
            if pieces:
                position += 1
            self._folded_at.append(position)
            self._original_at.append(match.start())
            pieces.append(match.group())
            position += len(match.group())
        self._folded = " ".join(pieces)

    def find(self, quote: Quote) -> Quote | None:
        """The quote with its place in the original text, or None where it does not stand there."""
        wanted = fold(quote.text)
        at = self._folded.find(wanted) if wanted else -1
        if at < 0:
            return None
        start = self._original(at)
        return quote.model_copy(
            update={
                "start": start,
                "end": self._original(at + len(wanted) - 1) + 1,
                "section": section_paths(self.text, [start])[0],
            }
        )

    def around(self, start: int, end: int, reach: int = 400) -> str:
        """The text about a quote, cut at blanks so that no word is torn."""
        left = max(0, start - reach)
        right = min(len(self.text), end + reach)
        if left:
            left = self.text.find(" ", left, start) + 1 or left
        if right < len(self.text):
            cut = self.text.rfind(" ", end, right)
            right = cut if cut > 0 else right
        return self.text[left:right].strip()

    def _original(self, folded: int) -> int:
        i = bisect_right(self._folded_at, folded) - 1
        return self._original_at[i] + folded - self._folded_at[i]


def sketch(text: str) -> tuple[int, ...]:
    """The smallest hashes of a text's word runs: two texts' sketches tell how much they share."""
    words = _WORD.findall(text.lower())
    if len(words) < _SHINGLE:
        return ()
    hashes = {
        int.from_bytes(blake2b(" ".join(words[i : i + _SHINGLE]).encode(), digest_size=4).digest())
        for i in range(len(words) - _SHINGLE + 1)
    }
    return tuple(sorted(hashes)[:_SKETCH])


def likeness(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """The estimated share of word runs that two texts have in common."""
    if not one or not other:
        return 0.0
    smallest = set(sorted({*one, *other})[: max(len(one), len(other))])
    return len(smallest & set(one) & set(other)) / len(smallest)
