"""What the renderers show, computed from the result: key figures, cost tables, timeline, searches.

The timeline has a bar per step on one axis, with its numbers. It is a table, so that screen readers
can read it. Time in which nothing ran (a plan waited for its approval, a job for an operator) is
drawn short and listed in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from console.formatting import count, duration, usd
from console.report.quote_links import QuoteLinks
from workflows.contracts.evidence import Side
from workflows.contracts.result import ResearchResult, SourceOut
from workflows.contracts.state import StepTiming, StopReason

MAX_CONTEXT = 1_400_000
"""The maximum number of characters around quotes in the whole page."""
_CONTEXT_PER_QUOTE = 220
_MAX_QUERIES = 6
STOP_REASONS = {
    StopReason.SUFFICIENT: "no gap was left that another pass could close",
    StopReason.NO_PROGRESS: "the last pass closed no gap",
    StopReason.CAP: "the effort allows no more passes",
    StopReason.BUDGET: "the budget was reached",
    StopReason.FINISHED: "an operator chose to finish",
}

Table = tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]
"""Caption, names of the columns, rows."""

_IDLE = 0.08
"""A pause longer than this share of the working time is drawn short."""
_SHORT = 0.03
_LABELS = {
    "open": "Index the documents",
    "plan": "Plan",
    "review": "Review the plan",
    "verify": "Reconcile and verify all claims",
    "write": "Write",
    "evaluate": "Evaluate the draft",
}


def key_figures(result: ResearchResult) -> list[tuple[str, str, str, str]]:
    """Name, section id, figure and unit of each figure in the header."""
    facets = [item for item in result.coverage if item.status != "left_out"]
    answered = sum(item.status in ("answered", "contested") for item in result.coverage)
    open_gaps = sum(gap.status != "closed" for gap in result.gaps)
    closed = len(result.gaps) - open_gaps
    cited = sum(source.n is not None for source in result.sources)
    disputes, total = len(result.contradictions), result.telemetry
    passes = sum(item.n > 0 for item in result.passes)
    return [
        (
            "Answered",
            "coverage" if result.coverage else "",
            f"{answered} of {len(facets)}",
            "facets",
        ),
        (
            "Contested",
            "disputes" if disputes else "",
            str(disputes),
            "point" if disputes == 1 else "points",
        ),
        (
            "Missing",
            "missing" if result.gaps or result.unreadable else "",
            str(open_gaps),
            ("gap" if open_gaps == 1 else "gaps") + (f", {closed} closed" if closed else ""),
        ),
        (
            "Sources",
            "sources" if result.sources else "",
            str(cited),
            f"of {count(result.documents, 'document')}" if result.documents else "cited",
        ),
        ("Cost", "cost", usd(total.usd), count(total.turns, "turn")),
        (
            "Time",
            "timeline" if result.timeline else "cost",
            duration(total.seconds),
            f"{count(passes, 'pass', 'passes')} of refinement" if passes else "one draft",
        ),
    ]


def cost_tables(result: ResearchResult) -> list[Table]:
    """The cost by role, by facet and by pass."""
    by_role = [
        (
            role,
            usd(spend.usd),
            *(
                f"{number:,}"
                for number in (
                    spend.turns,
                    spend.bought_again,
                    spend.input_tokens,
                    spend.cache_read_tokens,
                    spend.output_tokens,
                )
            ),
        )
        for role, spend in result.telemetry.by_role.items()
    ]
    by_facet = [
        (item.title or item.facet_id, usd(item.usd), f"{item.turns:,}", f"{item.claims:,}")
        for item in result.coverage
        if item.status != "left_out"
    ]
    by_pass = [
        (
            f"Pass {item.n}" if item.n else "First draft",
            usd(item.usd),
            f"{item.gaps_closed} of {item.gaps_in}" if item.n else "–",
            f"{item.turns:,}",
            duration(item.seconds),
            STOP_REASONS[item.stop_reason] if item.stop_reason else "–",
        )
        for item in result.passes
    ]
    tokens = ("#Tokens in", "#From cache", "#Tokens out")
    stops = ("#Gaps closed", "#Turns", "#Time", "Stopped because")
    return [
        ("By role", ("Role", "#Cost", "#Turns", "#Repeated", *tokens), by_role),
        ("Research, by facet", ("Facet", "#Cost", "#Turns", "#Claims"), by_facet),
        ("By round", ("Round", "#Cost", *stops), by_pass),
    ]


def list_queries(result: ResearchResult) -> dict[str, list[str]]:
    """The first searches of each facet, by facet id, without the question itself."""
    return {
        item.facet_id: [
            query
            for query in dict.fromkeys(query for cycle in item.cycles for query in cycle.queries)
            if query != result.question
        ][:_MAX_QUERIES]
        for item in result.coverage
    }


def list_cited(result: ResearchResult) -> list[SourceOut]:
    return sorted((s for s in result.sources if s.n is not None), key=lambda s: s.n or 0)


def is_web_url(uri: str) -> bool:
    return uri.strip().lower().startswith(("http://", "https://"))


def find_copies(cited: Sequence[SourceOut]) -> dict[str, tuple[int, ...]]:
    """The numbers of the other sources with the same origin, by source id."""
    origins: dict[str, list[int]] = {}
    for source in cited:
        origins.setdefault(source.origin, []).append(source.n or 0)
    return {
        source.id: tuple(n for n in origins[source.origin] if n != source.n) for source in cited
    }


def context_length(quote_links: QuoteLinks) -> int:
    """How many characters before and after each quote the page has."""
    quotes = sum(len(entries) for entries in quote_links.entries.values())
    return min(_CONTEXT_PER_QUOTE, MAX_CONTEXT // (2 * max(1, quotes)))


def side_facts(side: Side, sources: dict[str, SourceOut]) -> list[tuple[str, str]]:
    """Date, definition and population of one side; a date its sources show is omitted."""
    context = side.context
    dates = {sources[id_].date for id_ in side.source_ids if id_ in sources}
    facts = (
        ("Date", context.date if context.date not in dates else ""),
        ("As defined", context.definition),
        ("Of whom or what", context.population),
    )
    return [(name, text) for name, text in facts if text]


def shorten(text: str, length: int = 160) -> str:
    return text if len(text) <= length else f"{text[:length].rpartition(' ')[0] or text[:length]} …"


def cut_start(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    # Not every language has spaces between words.
    return f"… {text[-length:].partition(' ')[2] or text[-length:]}"


class Axis:
    """Maps seconds of the run to positions between 0 and 1."""

    def __init__(self, spans: Iterable[StepTiming]) -> None:
        busy: list[list[float]] = []
        for span in sorted(spans, key=lambda s: s.began):
            if busy and span.began <= busy[-1][1]:
                busy[-1][1] = max(busy[-1][1], span.ended)
            else:
                busy.append([span.began, span.ended])
        worked = sum(end - begin for begin, end in busy) or 1.0
        self.pauses = [
            (one[1], two[0]) for one, two in pairwise(busy) if two[0] - one[1] > _IDLE * worked
        ]
        self._cut = _SHORT * worked
        self.first, self.last = busy[0][0], busy[-1][1]
        self._length = self._plain(self.last) or 1.0

    def at(self, second: float) -> float:
        return self._plain(second) / self._length

    def second_at(self, place: float) -> float:
        """The inverse of `at`, by bisection, because pauses are drawn short."""
        low, high = self.first, self.last
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.at(middle) < place else (low, middle)
        return high

    def _plain(self, second: float) -> float:
        drawn = second - self.first
        for begin, end in self.pauses:
            if second > begin:
                inside = min(second, end) - begin
                drawn -= inside - self._cut * inside / (end - begin)
        return drawn


@dataclass(frozen=True)
class Row:
    """One line of the timeline; `bars` are steps with their start and end."""

    label: str
    began: float
    seconds: float
    bars: tuple[tuple[str, float, float], ...]
    is_pass: bool = False


def group_rows(result: ResearchResult) -> list[list[Row]]:
    """The rows of each pass; the first one covers the whole pass."""
    titles = {item.facet_id: item.title or item.facet_id for item in result.coverage}
    groups = []
    for n in sorted({span.n for span in result.timeline}):
        spans = sorted((s for s in result.timeline if s.n == n), key=lambda s: s.began)
        by_label: dict[str, list[StepTiming]] = {}
        for span in spans:
            name = _LABELS.get(span.step, span.step.replace("_", " ").capitalize())
            label = titles.get(span.facet_id, span.facet_id) if span.facet_id else name
            by_label.setdefault(label, []).append(span)
        whole = _build_row(f"Refinement pass {n}" if n else "First draft", spans, is_pass=True)
        groups.append([whole, *(_build_row(label, found) for label, found in by_label.items())])
    return groups


def list_legend(spans: Sequence[StepTiming], axis: Axis) -> list[tuple[str, str]]:
    steps = {span.step for span in spans}
    legend = [("research", "research"), ("verify", "verification")]
    return [
        *((step, name) for step, name in legend if step in steps),
        ("write", "planning, writing, evaluating"),
        *((("pause", "nothing ran; drawn short"),) if axis.pauses else ()),
    ]


def _build_row(label: str, spans: Sequence[StepTiming], *, is_pass: bool = False) -> Row:
    began, ended = min(s.began for s in spans), max(s.ended for s in spans)
    bars = tuple((s.step, s.began, s.ended) for s in spans)
    return Row(
        label, began, ended - began, (("whole", began, ended),) if is_pass else bars, is_pass
    )
