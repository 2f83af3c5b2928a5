"""Where the sentences of running text begin and end."""

from __future__ import annotations

import re

from nupunkt import sent_spans  # 50 ms; its model loads with the first sentence, in 5 ms

from activities.evidence.text.names import MONTH_PATTERN

_MONTH = re.compile(rf"(?:{MONTH_PATTERN})\b", re.IGNORECASE)
_GOES_ON = re.compile(r"[),;:\]–—]|--")
_DAY = re.compile(r"\b\d{1,2}\.\s*$")


def split_sentences(text: str) -> list[tuple[int, int]]:
    """The spans of the sentences, trimmed; what holds no letter or digit is left out."""
    merged: list[tuple[int, int]] = []
    for start, end in sent_spans(text.replace("\n", " ")):
        if merged and _continues(text[merged[-1][0] : merged[-1][1]], text[start:end].lstrip()):
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return [_trimmed(text, *span) for span in merged if any(map(str.isalnum, text[slice(*span)]))]


def sentences(text: str) -> list[str]:
    """The sentences of a text, white space folded."""
    return [" ".join(text[start:end].split()) for start, end in split_sentences(text)]


def _continues(before: str, piece: str) -> bool:
    """A sentence does not begin in lower case, with a mark that goes on, or as "3. May" does."""
    if piece[:1].islower() or _GOES_ON.match(piece) or not any(map(str.isalnum, piece)):
        return True
    return bool(_DAY.search(before) and _MONTH.match(piece))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
