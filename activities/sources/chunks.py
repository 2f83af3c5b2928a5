"""Stretches of about 180 words in which a document is indexed and found.

Chunks cover the text without gaps: joined, they are the text. They end between paragraphs, else
between lines, else between sentences; a heading begins a chunk and never ends one. This runs for
every document when it is indexed, so it looks for boundaries with `str.find`, not with a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_TARGET = 180
_MOST = 230
# After a word of four letters in lower case, a full stop is hardly ever an abbreviation's.
_SENTENCE_END = re.compile(r"(?<=[a-z\d%)]{4})[.!?][\"'”’)]* +(?=[A-Z\"'“‘(\d])")


def chunk_starts(text: str) -> list[int]:
    """Where the chunks of a text begin; the first at 0."""
    starts = [0]
    if len(text) < 5 * _MOST and text.count(" ") + text.count("\n") < _MOST:
        return starts
    words = 0
    heading: int | None = None  # where a run of headings began that must not end a chunk
    for start, end in _pieces(text):
        size = text.count(" ", start, end) + 1
        if (words and words + size > _MOST) or words >= _TARGET:
            starts.append(heading if heading is not None else start)
            words = text.count(" ", starts[-1], start)
        words += size
        is_heading = text.startswith("#", start)
        heading = (start if heading is None else heading) if is_heading else None
        if heading == starts[-1]:
            heading = None
    return starts


SECTION_MARK = " › "
_HEADING = re.compile(r"^(#{1,6}) +(\S.*)$", re.M)


def section_paths(text: str, starts: Sequence[int]) -> list[str]:
    """The headings above each start, outermost first, without those that begin there."""
    headings = [
        (found.start(), len(found[1]), found[2].strip("# ")) for found in _HEADING.finditer(text)
    ]
    paths: list[str] = []
    above: list[tuple[int, str]] = []
    position = 0
    for start in starts:
        while position < len(headings) and headings[position][0] < start:
            _, level, title = headings[position]
            above = [(other, name) for other, name in above if other < level] + [(level, title)]
            position += 1
        paths.append(SECTION_MARK.join(name for _, name in above))
    return paths


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Lines with the newlines after them; lines that are too long in sentences."""
    start = 0
    length = len(text)
    while start < length:
        end = text.find("\n", start)
        end = length if end < 0 else end
        while end < length and text[end] == "\n":
            end += 1
        if end - start > 5 * _TARGET and text.count(" ", start, end) > _TARGET:
            yield from _sentences(text, start, end)
        else:
            yield start, end
        start = end


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Parts of a long line, of at most a chunk each."""
    for boundary in _SENTENCE_END.finditer(text, start, end):
        if text.count(" ", start, boundary.end()) >= _TARGET // 3:
            yield from _words(text, start, boundary.end())
            start = boundary.end()
    if start < end:
        yield from _words(text, start, end)


def _words(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A part cut between words where it is far too long, as text without punctuation is."""
    while end - start > 20 * _MOST:
        cut = text.rfind(" ", start, start + 10 * _MOST) + 1
        cut = cut if cut > start else start + 10 * _MOST
        yield start, cut
        start = cut
    yield start, end
