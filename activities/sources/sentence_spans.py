"""Sentence spans of a text, found when a passage is read and not when it is indexed.

Headings, list items and table rows are units of their own; no sentence spans a blank line. Spans
are in order, do not overlap, are trimmed, and hold at least one letter or digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from activities.evidence.text.sentences import split_sentences
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
    size = unit.end - unit.start
    if unit.kind in ("heading", "code") or (unit.kind == "row" and size <= _LONGEST_ROW):
        piece = text[unit.start : unit.end]
        lead = len(piece) - len(piece.lstrip())
        yield unit.start + lead, unit.start + len(piece.rstrip())
        return
    for start, end in split_sentences(text[unit.start : unit.end]):
        yield unit.start + start, unit.start + end
