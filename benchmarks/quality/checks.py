"""What can be said of a report without anyone's opinion: counted from its `report.json`.

coverage           share of the plan's facets that are answered, contested ones with them
quotes that stand  share of the quotes that stand letter for letter in the stored copy of their
                   source, once white space is folded
citations resolve  share of the [n] in the report that name a source of its list
sides preserved    share of the contradictions of which every side is cited under the heading
                   where the report tells of them
source quality     the mean standing, 0 to 1, of the sources that are cited
turns a claim      turns of a model for each claim whose source is cited
searches a claim   queries for each such claim
"""

from __future__ import annotations

from collections.abc import Mapping

from activities.evidence.quotes import StoredText
from benchmarks.quality.intervals import Pair
from benchmarks.quality.report_text import CITATION, drop_sources, find_section
from benchmarks.quality.sets import Measure
from workflows.contracts.evidence import Quote
from workflows.contracts.result import DISAGREE, ResearchResult

MEASURES = (
    Measure("coverage"),
    Measure("quotes that stand", wanted=1.0),
    Measure("citations resolve", wanted=1.0),
    Measure("sides preserved", wanted=1.0),
    Measure("source quality"),
    Measure("turns a claim", "lower", share=False),
    Measure("searches a claim", "lower", share=False),
    Measure("claims", "", share=False),
    Measure("contradictions", "", share=False),
    Measure("usd", "lower", share=False),
    Measure("seconds", "lower", share=False, timed=True),
)


def check_report(result: ResearchResult, texts: Mapping[str, str]) -> dict[str, Pair]:
    """The measures of a report; `texts` are the stored copies of its sources by hash."""
    cited = {source.id for source in result.sources if source.n is not None}
    claims = sum(any(q.source_id in cited for q in claim.quotes) for claim in result.claims)
    answered = sum(c.status in ("answered", "contested", "partial") for c in result.coverage)
    queries = sum(len(cycle.queries) for c in result.coverage for cycle in c.cycles)
    authority = [source.authority for source in result.sources if source.n is not None]
    telemetry = result.telemetry
    return {
        "coverage": (answered, len(result.coverage)),
        "quotes that stand": _quotes(result, texts),
        "citations resolve": _citations(result),
        "sides preserved": _sides(result),
        "source quality": (sum(authority) / len(authority), 1) if authority else (0, 0),
        "turns a claim": (telemetry.turns, claims),
        "searches a claim": (queries, claims),
        "claims": (len(result.claims), 1),
        "contradictions": (len(result.contradictions), 1),
        "usd": (telemetry.usd, 1),
        "seconds": (telemetry.seconds, 1),
    }


def _quotes(result: ResearchResult, texts: Mapping[str, str]) -> Pair:
    stored = {source.id: StoredText(texts.get(source.sha256, "")) for source in result.sources}
    quotes = [quote for claim in result.claims for quote in claim.quotes]
    standing = sum(
        quote.source_id in stored
        and stored[quote.source_id].find(Quote(source_id=quote.source_id, text=quote.text))
        is not None
        for quote in quotes
    )
    return standing, len(quotes)


def _citations(result: ResearchResult) -> Pair:
    numbers = {source.n for source in result.sources if source.n is not None}
    made = [int(n) for n in CITATION.findall(drop_sources(result.report_markdown))]
    return sum(n in numbers for n in made), len(made)


def _sides(result: ResearchResult) -> Pair:
    number = {source.id: source.n for source in result.sources}
    told = {int(n) for n in CITATION.findall(find_section(result.report_markdown, DISAGREE))}
    whole = sum(
        all(any(number.get(sid) in told for sid in side.source_ids) for side in one.sides)
        for one in result.contradictions
    )
    return whole, len(result.contradictions)
