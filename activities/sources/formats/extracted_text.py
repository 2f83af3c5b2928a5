"""What every format parser gives back: a text with what its file says about it, within a limit.

The text is plain Markdown: `#` headings, `-` and `1.` items, fenced code, paragraphs with a blank
line between them. Structured formats (HTML, Word, PowerPoint) write it from blocks. `formats.lines`
reads it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

from activities.sources.documents import Kind

MOST_CHARACTERS = 5_000_000
BULLET = "- "

_FENCES = re.compile(r"^ *(`{3,})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Extract:
    """The text of one document before it is normalised, and what its file says about it.

    `date` is a date the document gives itself; `saved` one that its program wrote into the file,
    which often is that of a template or a conversion and only counts where there is no other.
    """

    text: str
    title: str | None = None
    date: str | None = None
    saved: str | None = None
    usual: Kind = "note"
    fragment: str = ""
    recognised: bool = False


def within_limit(lines: Iterable[str]) -> Iterator[str]:
    """Lines until the text is as long as a document may be, then a line that says so."""
    length = 0
    for line in lines:
        length += len(line) + 1
        if length > MOST_CHARACTERS:
            yield f"[Cut here: only the first {MOST_CHARACTERS:,} characters were kept.]"
            return
        yield line


class Block(NamedTuple):
    """A paragraph, heading, list item, table row or code block.

    `mark` is what stands before it: `## `, `- `, or the language of code.
    """

    kind: Literal["text", "heading", "item", "row", "code"]
    text: str
    mark: str = ""


def heading(level: int, text: str) -> Block:
    return Block("heading", text, "#" * max(1, min(level, 6)) + " ")


def fenced(code: str, language: str = "") -> str:
    """A code block between fences. The opening fence always names a language.

    So a closing fence differs from an opening one, and a passage cut out of the middle of a block
    still tells code from prose.
    """
    longest = max((len(found[1]) for found in _FENCES.finditer(code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language or 'text'}\n{code}\n{fence}"


def written(blocks: Iterable[Block]) -> Iterator[str]:
    """Paragraphs of text: items of one list and rows of one table stay close together.

    The caller puts a blank line between them, so a heading never runs into the next sentence.
    """
    for kind, run in groupby(blocks, key=lambda block: block.kind):
        if kind in ("row", "item"):
            yield "\n".join(block.mark + block.text for block in run)
        elif kind == "code":
            yield from (fenced(block.text, block.mark) for block in run)
        else:
            yield from (block.mark + block.text for block in run)
