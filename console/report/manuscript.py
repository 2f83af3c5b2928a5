"""The report as it was written, cut at its headings, so that each part finds its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workflows.config.model_catalog import card
from workflows.contracts.result import METHOD, SOURCES, ResearchResult

_HEADING = re.compile(r"^##[ \t]+(.*?)[ \t]*$", re.MULTILINE)
_TITLE = re.compile(r"\A\s*#[ \t]+(.*?)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Chapter:
    title: str
    markdown: str


@dataclass(frozen=True)
class Manuscript:
    title: str
    lead: str
    """What stands before the first heading."""
    chapters: tuple[Chapter, ...]


def manuscript(result: ResearchResult) -> Manuscript:
    """The parts a writer wrote. How it was researched, and the sources, the page tells itself."""
    text, title = result.report_markdown, result.question
    if found := _TITLE.match(text):
        title, text = found.group(1), text[found.end() :]
    starts = list(_HEADING.finditer(text))
    bounds = [*(start.start() for start in starts), len(text)]
    chapters = [
        Chapter(start.group(1), text[start.end() : end].strip())
        for start, end in zip(starts, bounds[1:], strict=True)
    ]
    cited = any(source.n is not None for source in result.sources)
    for own in (METHOD, *((SOURCES,) if cited else ())):
        # The last one: a facet may be called the same.
        place = max((i for i, c in enumerate(chapters) if c.title == own), default=None)
        if place is not None:
            del chapters[place]
    lead = text[: bounds[0]].strip()
    statement = card(result.model).statement
    blocks = [
        block
        for block in re.split(r"\n\s*\n", lead)
        # The page has the same in its head.
        if not (statement and block.startswith(f"_{statement}"))
    ]
    return Manuscript(title.strip() or result.question, "\n\n".join(blocks), tuple(chapters))
