"""Split the written report at its headings."""

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
class SplitReport:
    title: str
    lead: str
    """The text in front of the first heading."""
    chapters: tuple[Chapter, ...]


def split_report(result: ResearchResult) -> SplitReport:
    """The chapters without the method and the sources, which the page renders from the result."""
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
        # The last one: a facet may have the same title.
        place = max((i for i, c in enumerate(chapters) if c.title == own), default=None)
        if place is not None:
            del chapters[place]
    lead = text[: bounds[0]].strip()
    statement = card(result.model).statement
    blocks = [
        block
        for block in re.split(r"\n\s*\n", lead)
        # The page's header has the same statement.
        if not (statement and block.startswith(f"_{statement}"))
    ]
    return SplitReport(title.strip() or result.question, "\n\n".join(blocks), tuple(chapters))
