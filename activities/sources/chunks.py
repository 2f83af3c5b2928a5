"""Stretches of about 180 words in which a document is indexed and found.

Chunks cover the text without gaps: joined, they are the text. They end between paragraphs, else
between lines, else between sentences; a heading begins a chunk and never ends one, and a code block
stays whole and with the line that leads to it. This runs for every document when it is indexed, so
it looks for boundaries with `str.find`, not with a model.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

_TARGET = 180
_MOST = 230
# After a word of four letters in lower case, a full stop is hardly ever an abbreviation's.
_SENTENCE_END = re.compile(r"(?<=[a-z\d%)]{4})[.!?][\"'”’)]* +(?=[A-Z\"'“‘(\d])")
_FENCE = re.compile(r"^(`{3,})(.*)$", re.MULTILINE)


def chunk_starts(text: str) -> list[int]:
    """Where the chunks of a text begin; the first at 0."""
    starts = [0]
    if len(text) < 5 * _MOST and text.count(" ") + text.count("\n") < _MOST:
        return starts
    words = 0
    lead: int | None = None  # where a run of lines began that must not end a chunk
    for start, end in _pieces(text):
        size = len(text[start:end].split())
        if (words and words + size > _MOST) or words >= _TARGET:
            starts.append(lead if lead is not None else start)
            words = len(text[starts[-1] : start].split())
        words += size
        leads = text.startswith("#", start) or text[max(start, end - 4) : end].rstrip()[-1:] == ":"
        lead = (start if lead is None else lead) if leads else None
        if lead == starts[-1]:
            lead = None
    return starts


SECTION_MARK = " › "
_HEADING = re.compile(r"^(#{1,6}) +(\S.*)$", re.M)


def section_paths(text: str, starts: Sequence[int]) -> list[str]:
    """The headings above each start, outermost first, without those that begin there."""
    code = list(_code_blocks(text).items())
    headings = [
        (found.start(), len(found[1]), found[2].strip("# "))
        for found in _HEADING.finditer(text)
        if not _is_within(found.start(), code)
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


def _code_blocks(text: str) -> dict[int, int]:
    """Start and end of each code block, in order."""
    blocks: dict[int, int] = {}
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text) if "```" in text else ():
        if opened is None:
            opened = fence if fence[2] else None
        elif not fence[2] and fence[1].startswith(opened[1]):
            blocks[opened.start()] = fence.end()
            opened = None
    return blocks


def _is_within(place: int, blocks: Sequence[tuple[int, int]]) -> bool:
    before = bisect_right(blocks, (place, place))
    return before > 0 and place < blocks[before - 1][1]


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Lines and code blocks with the newlines after them; lines that are too long in sentences."""
    blocks = _code_blocks(text)
    start = 0
    length = len(text)
    while start < length:
        code = blocks.get(start, start)
        whole = start < code and len(text[start:code].split()) <= 2 * _MOST
        end = text.find("\n", code if whole else start)
        end = length if end < 0 else end
        while end < length and text[end] == "\n":
            end += 1
        if not whole and end - start > 5 * _TARGET and text.count(" ", start, end) > _TARGET:
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
