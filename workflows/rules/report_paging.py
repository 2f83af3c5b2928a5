"""The report for callers that have neither this project's code nor its store.

The workflow returns a summary. The whole report can be queried in pages: payloads above the
threshold of external storage would be references that only this project's clients can follow.
"""

from __future__ import annotations

import json
import re

from workflows.contracts.result import (
    SUMMARY,
    ReportPage,
    ReportRef,
    ResearchResult,
    ResearchSummary,
)

PAGE_CHARACTERS = 24_000
"""A page is JSON text in a JSON text: at worst every character is escaped, and it is twice as long.
That is below the threshold of external storage, 64 KB."""
_MAX_QUESTION, _MAX_SUMMARY = 2_000, 12_000


def summarize_result(result: ResearchResult, report: ReportRef) -> ResearchSummary:
    counts = result.telemetry
    return ResearchSummary(
        id=result.id,
        question=_cut(result.question, _MAX_QUESTION),
        status=result.status,
        model=result.model,
        summary=_cut(summary_section(result.report_markdown), _MAX_SUMMARY),
        facets=len(result.plan.facets),
        claims=len(result.claims),
        sources=len(result.sources),
        contradictions=len(result.contradictions),
        gaps_open=sum(gap.status == "open" for gap in result.gaps),
        passes=sum(done.n > 0 for done in result.passes),
        turns=counts.turns,
        turns_bought_again=counts.turns_bought_again,
        usd=counts.usd,
        seconds=counts.seconds,
        stop_reason=result.stop_reason,
        has_changes=None if result.changes is None else not result.changes.none,
        report=report,
    )


def split_pages(result: ResearchResult) -> list[str]:
    """The JSON text of the report in parts. It is ASCII: a character is a byte."""
    text = json.dumps(result.model_dump(mode="json"), ensure_ascii=True)
    return [text[at : at + PAGE_CHARACTERS] for at in range(0, len(text), PAGE_CHARACTERS)]


def report_page(result: ResearchResult, page: int) -> ReportPage:
    pages = split_pages(result)
    if not 0 <= page < len(pages):
        raise ValueError(f"there is no page {page}: the report has {len(pages)}, the first is 0")
    return ReportPage(page=page, pages=len(pages), text=pages[page])


def summary_section(markdown: str) -> str:
    """What stands under the heading; where nothing was found, the whole text says why."""
    found = re.search(rf"^## {SUMMARY}\n(.*?)(?=^## |\Z)", markdown, re.MULTILINE | re.DOTALL)
    return (found[1] if found else markdown).strip()


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
