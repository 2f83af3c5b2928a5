"""Stretches of about 180 words in which a document is indexed and found, and their sentences.

Chunks cover the text without gaps: joined, they are the text. They end between paragraphs, else
between lines, else between sentences; a heading begins a chunk and never ends one, a code block
stays whole and with the line that leads to it, and a list that would be cut begins a chunk with the
line that leads to it. This runs for every document when it is indexed, so it looks for boundaries
with `str.find`, not with a model.

Sentences are split when a passage is read. Headings, list items and table rows are units of their
own; no sentence spans a blank line. Spans are in order, do not overlap, are trimmed, and hold at
least one letter or digit.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

from activities.evidence.text.sentences import split_sentences
from activities.sources.documents import Passage, Sentence
from activities.sources.formats.lines import Unit, units

SECTION_MARK = " › "

_TARGET = 180
_MOST = 230
# After a word of four letters in lower case, a full stop is hardly ever an abbreviation's.
_SENTENCE_END = re.compile(r"(?<=[a-z\d%)]{4})[.!?][\"'”’)]* +(?=[A-Z\"'“‘(\d])")
_FENCE = re.compile(r"^(`{3,})(.*)$", re.MULTILINE)
_ITEM = re.compile(r" *(?:[-*+]|\d{1,2}[.)]) ")
_HEADING = re.compile(r"^(#{1,6}) +(\S.*)$", re.MULTILINE)
# A table row is quoted whole, as a value without its column says nothing. A longer row holds prose.
_LONGEST_ROW = 600


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
        is_led = lead is not None and _ITEM.match(text, start) is not None
        lead = (start if lead is None else lead) if leads or is_led else None
        if lead == starts[-1]:
            lead = None
    return starts


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
            yield from _split_line(text, start, end)
        else:
            yield start, end
        start = end


def _split_line(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
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


# --- sentences -----------------------------------------------------------------------------------


def sentences(text: str, offset: int = 0) -> tuple[Sentence, ...]:
    """The sentences of `text`; `offset` is added to every span."""
    return tuple(
        Sentence(start + offset, end + offset, unit.kind)
        for unit in units(text)
        for start, end in _split_unit(text, unit)
    )


@lru_cache(maxsize=4096)
def passage(document_id: str, text: str, start: int) -> Passage:
    """The passage `text`, which stands at `start` of its document."""
    return Passage(document_id, start, start + len(text), text, sentences(text, start))


def _split_unit(text: str, unit: Unit) -> Iterator[tuple[int, int]]:
    size = unit.end - unit.start
    if unit.kind in ("heading", "code") or (unit.kind == "row" and size <= _LONGEST_ROW):
        piece = text[unit.start : unit.end]
        lead = len(piece) - len(piece.lstrip())
        yield unit.start + lead, unit.start + len(piece.rstrip())
        return
    for start, end in split_sentences(text[unit.start : unit.end]):
        yield unit.start + start, unit.start + end
