"""Blocks of a structured file (HTML, Word, PowerPoint) and how they are written as text.

The stored text is plain Markdown: `#` headings, `-` and `1.` items, fenced code, paragraphs with a
blank line between them. `formats.lines` reads it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Literal, NamedTuple

BULLET = "- "

_FENCES = re.compile(r"^ *(`{3,})", re.MULTILINE)


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
