"""Line structure: which lines of a text belong together, and what each unit is.

A unit is a heading, a list item, a table row, a paragraph or a fenced code block. Hard-wrapped
lines of one paragraph are one unit; a blank line ends every unit but code. `unwrap` writes each
unit on a line of its own, so stored text needs no further guessing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from activities.sources.documents import SentenceKind

HEADING = re.compile(r" {0,3}(#{1,6})[ ]+(?=\S)")
ITEM = re.compile(
    r" *(?:[-*+•·▪◦‣●○■□➢✓]|\(?\d{1,2}[.)]|[a-z]\)|\([a-z]{1,3}\)|\[[ xX]\])[ ]+(?=\S)"
)
_QUOTED = re.compile(r" *>[> ]*")
_FENCE = re.compile(r" *(`{3,}|~{3,})([^`]*)$")
_FIELD = re.compile(r":?[A-Z][\w /&-]{0,30}:(?=[ ]+\S|$)")
_PAIRS = re.compile(r"[^:;]{1,80}: .*?; [^:;]{1,80}: ")
_STAMP = re.compile(
    r"(?:\[[^\]]{1,40}\](?![(\[])|\d{1,2}:\d{2}\b|\d{4}-\d{2}-\d{2}\b|@[\w.-]+)[ :,]?"
)
_MESSAGE = re.compile(r"\[[^\]]*\d:\d\d[^\]]*\] [^:\n]{1,40}(?:#[\w:-]+)?: ")
_TERMINAL = re.compile(r"[.!?…][\"'”’)\]*_]*$")
_WORD = re.compile(r"[^\W\d_]{2,}")

_NARROWEST, _WIDEST = 50, 130
_LONGEST_HEADING = 90


@dataclass(frozen=True, slots=True)
class Unit:
    """Offsets of the content of one unit, without its marker."""

    start: int
    end: int
    kind: SentenceKind


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    text: str


def units(text: str) -> Iterator[Unit]:
    """The units of a text in order; lines that hold no letter or digit are left out."""
    width = _document_width(text)
    for is_code, lines in _parts(text):
        if is_code:
            yield from _code_unit(lines)
            continue
        for group in _groups(lines, width):
            yield from _unit(group)


def unwrap(text: str) -> str:
    """The text with every unit on one line; code and tables keep their lines."""
    if "\n" not in text:
        return text
    width = _document_width(text)
    prose = (lines for is_code, lines in _parts(text) if not is_code)
    out: list[str] = []
    position = 0
    for group in (group for lines in prose for group in _groups(lines, width)):
        out.append(text[position : group[0].start])
        joined = group[0].text
        for line in group[1:]:
            following = line.text.lstrip(" ")
            if _FIELD.match(following) and ITEM.match(group[0].text):
                joined += "\n" + line.text  # a record in a list
                continue
            glued = joined.endswith("-") and following[:1].islower() and joined[-2:-1].isalpha()
            joined += following if glued else " " + following
        out.append(joined)
        position = group[-1].start + len(group[-1].text)
    out.append(text[position:])
    return "".join(out)


def looks_like_heading(line: str) -> bool:
    """A short line in capitals or title case that ends no sentence."""
    if len(line) > _LONGEST_HEADING or line.endswith((".", ",", ";", "!", "?")):
        return False
    words = [word for word in _WORD.findall(line) if len(word) > 3]
    return (
        bool(words) and line[:1].isalnum() and sum(w[0].isupper() for w in words) > 0.7 * len(words)
    )


def ends_sentence(line: str) -> bool:
    return _TERMINAL.search(line[-6:]) is not None


def _parts(text: str) -> Iterator[tuple[bool, list[_Line]]]:
    """The lines of a text in runs of code and of other lines, without the fences between them.

    The text may be cut out of the middle of a code block. Then its first fence closes one: it names
    no language, and no such fence follows that could close what it opens.
    """
    lines = list(_lines(text))
    fences = [(n, found) for n, line in enumerate(lines) if (found := _FENCE.match(line.text))]
    position = 0
    opened: re.Match[str] | None = None
    for place, (number, fence) in enumerate(fences):
        bare = not fence[2].strip()
        if opened is not None and not (bare and fence[1].startswith(opened[1])):
            continue  # a fence inside the code
        following = fences[place + 1][1][2].strip() if place + 1 < len(fences) else "none"
        closes = opened is not None or (place == 0 and bare and bool(following))
        yield closes, lines[position:number]
        position = number + 1
        opened = None if closes else fence
    yield opened is not None, lines[position:]


def _lines(text: str) -> Iterator[_Line]:
    position = 0
    for line in text.split("\n"):
        yield _Line(position, line)
        position += len(line) + 1


def _code_unit(lines: list[_Line]) -> Iterator[Unit]:
    filled = [line for line in lines if line.text.strip()]
    if any(character.isalnum() for line in filled for character in line.text):
        first, last = filled[0], filled[-1]
        indent = len(first.text) - len(first.text.lstrip())
        yield Unit(first.start + indent, last.start + len(last.text.rstrip()), "code")


def _groups(lines: list[_Line], width: int) -> Iterator[list[_Line]]:
    """Runs of lines that make one unit each, in a text that was wrapped at `width`."""
    for block in _blocks(lines):
        block_width = width or _block_width(block)
        group: list[_Line] = []
        for line in block:
            if group and _joins(group, line.text, block_width):
                group.append(line)
                continue
            if group:
                yield group
            group = [line]
        yield group


def _blocks(lines: list[_Line]) -> Iterator[list[_Line]]:
    block: list[_Line] = []
    for line in lines:
        if line.text and not line.text.isspace():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _joins(group: list[_Line], following: str, width: int) -> bool:
    """Whether the line after `group` goes on with its sentence."""
    previous = group[-1].text
    if starts_unit(following) or _stands_alone(previous):
        return False
    first = following.lstrip(" ")
    if ITEM.match(group[0].text) and following.startswith("  "):
        return True
    if previous.endswith(":"):
        return False
    if first.lstrip("(\"'“‘")[:1].islower():
        return True
    if (
        len(previous) > _NARROWEST
        and previous[-1].islower()
        and _indent(previous) == _indent(following)
    ):
        return True
    # A wrapped line broke because the next word no longer fitted.
    fits = len(previous) + 1 + len(first.split(" ", 1)[0]) <= width
    unfinished = len(previous) > 0.85 * width and not ends_sentence(previous)
    return width > 0 and (not fits or unfinished)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def starts_unit(line: str) -> bool:
    """Whether a line begins something of its own, whatever stands before it."""
    begun = ITEM.match(line) or _FIELD.match(line) or _STAMP.match(line)
    return bool(begun) or line.lstrip(" ").startswith("<!--") or _stands_alone(line)


def _stands_alone(line: str) -> bool:
    return bool(
        HEADING.match(line)
        or line.lstrip(" ").startswith(("|", ">", ".. "))
        or not any(map(str.isalnum, line))
        or _is_row(line)
        or (_FIELD.match(line) and len(line) < _NARROWEST)
    )


def _is_row(line: str) -> bool:
    return " | " in line or _PAIRS.match(line) is not None


def _document_width(text: str) -> int:
    """The column at which a whole text was wrapped, or 0 if it was not."""
    # Rows of a table are long where nothing else is.
    lengths = [len(line) for line in text.split("\n") if line and not _is_row(line)]
    usual = [length for length in lengths if length <= _WIDEST]
    longest = max(usual, default=0)
    full = sum(1 for length in usual if length > longest - 18)
    wrapped = longest >= _NARROWEST and full >= max(3, 0.15 * len(lengths))
    return longest if wrapped and len(usual) > 0.97 * len(lengths) else 0


def _block_width(block: list[_Line]) -> int:
    """The same for one paragraph, in a text where others were not wrapped."""
    longest = max(len(line.text) for line in block)
    full = sum(1 for line in block[:-1] if len(line.text) > longest - 18)
    wrapped = len(block) > 3 and _NARROWEST + 10 <= longest <= _WIDEST
    return longest if wrapped and full > 0.6 * (len(block) - 1) else 0


def _unit(group: list[_Line]) -> Iterator[Unit]:
    first, last = group[0], group[-1]
    start, end = first.start, last.start + len(last.text)
    kind: SentenceKind = "prose"
    if heading := HEADING.match(first.text):
        start, kind = start + heading.end(), "heading"
    elif item := ITEM.match(first.text):
        start, kind = start + item.end(), "item"
    elif quoted := _QUOTED.match(first.text):
        start += quoted.end()
    else:
        start += len(first.text) - len(first.text.lstrip(" "))
    content = first.text[start - first.start :] if len(group) == 1 else first.text
    if not any(map(str.isalnum, content)):
        return
    if len(group) == 1 and kind == "prose":
        kind = _line_kind(content)
    yield Unit(start, end, kind)


def _line_kind(content: str) -> SentenceKind:
    if content.startswith("|") or _is_row(content) or _MESSAGE.match(content):
        return "row"
    labelled = _FIELD.match(content) or _STAMP.match(content)
    if labelled and not ends_sentence(content) and not content.endswith(":"):
        return "row"
    return "heading" if looks_like_heading(content) else "prose"
