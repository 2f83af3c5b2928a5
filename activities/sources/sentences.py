"""Sentence spans of a text, found when a passage is read and not when it is indexed.

Headings, list items and table rows are units of their own; no sentence spans a blank line. Spans
are in order, do not overlap, are trimmed, and hold at least one letter or digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from nupunkt import sent_spans  # 50 ms; its model loads with the first sentence, in 5 ms

from activities.sources.documents import Passage, Sentence
from activities.sources.formats.lines import Unit, units

# A table row is quoted whole, as a value without its column says nothing. A longer row holds prose.
_LONGEST_ROW = 600


def sentences(text: str, offset: int = 0) -> tuple[Sentence, ...]:
    """The sentences of `text`; `offset` is added to every span."""
    return tuple(
        Sentence(start + offset, end + offset, unit.kind)
        for unit in units(text)
        for start, end in _split(text, unit)
    )


@lru_cache(maxsize=4096)
def passage(document_id: str, text: str, start: int) -> Passage:
    """The passage `text`, which stands at `start` of its document."""
    return Passage(document_id, start, start + len(text), text, sentences(text, start))


def _split(text: str, unit: Unit) -> Iterator[tuple[int, int]]:
    whole = unit.kind == "heading" or (unit.kind == "row" and unit.end - unit.start <= _LONGEST_ROW)
    content = text[unit.start : unit.end]
    spans = (
        [(0, len(content))] if whole else _merged(content, sent_spans(content.replace("\n", " ")))
    )
    for start, end in spans:
        piece = content[start:end]
        if any(map(str.isalnum, piece)):
            left = len(piece) - len(piece.lstrip())
            yield unit.start + start + left, unit.start + start + len(piece.rstrip())


def _merged(content: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans with false starts undone: a sentence does not begin in lower case or with a bracket."""
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        head = content[start:end].lstrip()[:1]
        if merged and (head.islower() or not any(map(str.isalnum, content[start:end]))):
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged
