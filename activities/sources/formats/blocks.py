"""Blocks of a structured file (HTML, Word, PowerPoint) and how they are written as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

ITEM, ROW = "- ", "row"
Block = tuple[str, str]  # a marker ("", "## ", ITEM or ROW), and the text of a paragraph or row


def heading(level: int) -> str:
    """The marker of a heading."""
    return "#" * max(1, min(level, 6)) + " "


def written(blocks: Iterable[Block]) -> Iterator[str]:
    """Paragraphs of text: items of one list and rows of one table stay close together.

    The caller puts a blank line between them, so a heading never runs into the next sentence.
    """
    for mark, run in groupby(blocks, key=lambda block: block[0]):
        if mark == ROW:
            yield "\n".join(text for _, text in run)
        elif mark == ITEM:
            yield "\n".join(mark + text for _, text in run)
        else:
            yield from (mark + text for _, text in run)
