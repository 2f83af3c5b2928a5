"""Quotes against stored text, letter for letter once white space, typography and markup are folded.

Models copy the words of a source and change its marks: straight quotation marks for typographic
ones, a hyphen for a dash, no emphasis, no links. Both texts are folded for the comparison; the span
that is stored is the source's own. `StoredText` is built once per source; looking a quote up in it
is a substring search, so a hundred claims take milliseconds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from hashlib import blake2b
from unicodedata import normalize

from activities.sources.chunks import section_paths
from workflows.contracts.evidence import Quote

_SPACE = re.compile(r"\s+")
_WHITE_SPACE = re.compile(r"(?P<space>\s{2,}|[^\S ])")
"""Where it is not one blank."""
_WORD = re.compile(r"\w+")
_SHINGLE = 4
_SKETCH = 96
_OCCURRENCES = 200

_INVISIBLE = r"\u00ad\u200b-\u200d\u2060\ufeff"
_DASHES = r"\-\u2010-\u2015\u2212"
_BLANK = rf"[\s*`{_INVISIBLE}]"
_MARK = re.compile(
    # No mark begins within a word: most places are passed over here.
    r"(?![a-zA-Z0-9 ][a-zA-Z0-9])(?:"
    # Line marks: headings, block quotes, list items.
    rf"(?P<line>(?:\A|\n)\s*(?:(?:\#{{1,6}}|>|[-*+\u2022\u2023\u25aa])[ \t]+)+)"
    r"|(?P<ellipsis>\s?(?:\u2026|\.\s?\.\s?\.))"
    rf"|(?P<dash>{_BLANK}*[{_DASHES}]+(?:{_BLANK}|[{_DASHES}])*)"
    # A lone blank is what it folds to: passing over it makes folding several times faster.
    rf"|(?P<space>(?! [^\s*`{_INVISIBLE}])[*`{_INVISIBLE}]*\s{_BLANK}*)"
    # Emphasis, code marks, invisible characters, and what a link has beside its label.
    rf"|(?P<nothing>[*`{_INVISIBLE}]+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)"
    r"|!?\[(?=[^\]\n]{1,300}\]\()|\]\((?:[^()\s]|\([^()\s]*\))*\))"
    r"|(?P<quote>[\"'\u00b4\u2018-\u201f\u2032\u2033\u00ab\u00bb\u2039\u203a])"
    r"|(?P<letter>[\ufb00-\ufb06]|\w[\u0300-\u036f]+))"
)
_OPENING = re.compile(r"(?:\*+|_+|`+)$")
# Behind a blank stands what opens the next emphasis.
_CLOSING = re.compile(r"(?<=\S)(?:\*+|_+|`+)")
_FOLDED = {"line": " ", "dash": "-", "space": " ", "nothing": "", "ellipsis": "...", "quote": "'"}


def fold(text: str) -> str:
    """The text with runs of white space folded to one blank."""
    return _SPACE.sub(" ", text).strip()


class _Folded:
    """A text with its marks folded, and the way back to the original."""

    def __init__(self, text: str, marks: re.Pattern[str]) -> None:
        self._starts: list[int] = []
        self._pieces: list[tuple[str, int, int]] = []
        """Folded, with start and end in the original."""
        length = position = 0
        for mark in (*marks.finditer(text), None):
            start, end = mark.span() if mark else (len(text), len(text))
            folded = _fold_mark(mark) if mark else ""
            for piece in ((text[position:start], position, start), (folded, start, end)):
                if piece[0]:
                    self._starts.append(length)
                    self._pieces.append(piece)
                    length += len(piece[0])
            position = end
        self.text = "".join(piece for piece, _, _ in self._pieces)

    def nearest(self, wanted: str, near: int) -> tuple[int, int] | None:
        """Start and end in the original of the occurrence of a folded text nearest to a position;
        of very many only the first are compared."""
        at = self.text.find(wanted)
        best: tuple[int, int] | None = None
        for _ in range(_OCCURRENCES if near else 1):
            if at < 0:
                break
            found = self._original(at)[0], self._original(at + len(wanted) - 1)[1]
            if best is None or abs(found[0] - near) < abs(best[0] - near):
                best = found
            at = self.text.find(wanted, at + 1)
        return best

    def _original(self, place: int) -> tuple[int, int]:
        """Start and end of what one character of the folded text stands for."""
        index = bisect_right(self._starts, place) - 1
        piece, start, end = self._pieces[index]
        if len(piece) != end - start:
            return start, end
        start += place - self._starts[index]
        return start, start + 1


def _fold_mark(mark: re.Match[str]) -> str:
    kind = mark.lastgroup or ""
    return _FOLDED[kind] if kind in _FOLDED else normalize("NFKC", mark[0])


class StoredText:
    """The stored copy of a source, ready for quotes to be found in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded = _Folded(text, _WHITE_SPACE)

    def find(self, quote: Quote, near: int = 0) -> Quote | None:
        """The quote with its place in the original text, that nearest to a position where it stands
        there more than once; None where it does not stand there."""
        wanted = fold(quote.text)
        found = self._folded.nearest(wanted, near) if wanted else None
        if found is None:
            return self._find_folded(quote, near)
        return quote.model_copy(update=self._place(*found))

    def _find_folded(self, quote: Quote, near: int) -> Quote | None:
        """The quote as its source writes it, where the two differ in typography or markup only."""
        wanted = _Folded(quote.text, _MARK).text.strip(" ")
        has_words = any(map(str.isalnum, wanted))
        found = self._without_marks.nearest(wanted, near) if has_words else None
        if found is None:
            return None
        start, end = found
        # Emphasis that is opened within the span and closed behind it, or the other way round, or
        # both: then the marks within are even in number.
        text = self.text[start:end]
        closing, opening = _CLOSING.match(self.text, end), _OPENING.search(self.text[:start])
        is_cut_twice = closing and opening and closing[0] == opening[0] and closing[0] in text
        if closing and (is_cut_twice or text.count(closing[0]) % 2):
            end = closing.end()
        if opening and (is_cut_twice or text.count(opening[0]) % 2):
            start = opening.start()
        return quote.model_copy(update={"text": self.text[start:end]} | self._place(start, end))

    @cached_property
    def _without_marks(self) -> _Folded:
        return _Folded(self.text, _MARK)

    def _place(self, start: int, end: int) -> dict[str, object]:
        return {"start": start, "end": end, "section": section_paths(self.text, [start])[0]}


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
