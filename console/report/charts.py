"""The geometry of the charts, for the page and for the PDF alike.

Bars begin at zero, so that lengths can be compared; times stand at their distance from each other.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from console.report.quote_links import QuoteLinks
from workflows.contracts.result import Chart, ChartPoint, Comparison, ResearchResult

KINDS = {
    "over_time": "over time",
    "side_by_side": "side by side",
    "contested": "contested: the sources do not agree",
}
WIDTH, HEIGHT = 360, 150
"""Of the drawing of a course, in its own units."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 28, 28, 24, 24
_LABEL_WIDTH = 54
"""Labels nearer to each other would overlap."""


@dataclass(frozen=True)
class Mark:
    """One value: its place in the drawing of a course, and its bar as shares of the row."""

    point: ChartPoint
    start: float
    end: float
    x: float
    y: float
    is_labelled: bool
    sources: list[tuple[int, list[str]]]
    """The numbers of its sources, each with the ids of the quotes."""


@dataclass(frozen=True)
class Drawing:
    chart: Chart
    id: str
    marks: list[Mark]
    band: tuple[float, float] | None
    """From the lowest to the highest value of a contested one, as shares of the row."""
    base: float
    """Where zero is in the drawing of a course."""

    @property
    def description(self) -> str:
        values = "; ".join(f"{mark.point.label}: {mark.point.text}" for mark in self.marks)
        return f"{self.chart.title}, {KINDS[self.chart.kind]}. {values}."


class Figures:
    """The charts and comparison tables of a report, by what they belong to."""

    def __init__(self, result: ResearchResult, links: QuoteLinks) -> None:
        self._drawings = [draw(c, f"chart-{n}", links) for n, c in enumerate(result.charts, 1)]
        self._comparisons = result.comparisons
        self.facets = {
            *(chart.facet_id for chart in result.charts if not chart.contradiction_id),
            *(table.facet_id for table in result.comparisons),
        }

    def of_facets(self, facet_ids: Set[str]) -> tuple[list[Drawing], list[Comparison]]:
        drawings = [d for d in self.of_contradiction("") if d.chart.facet_id in facet_ids]
        return drawings, [table for table in self._comparisons if table.facet_id in facet_ids]

    def of_contradiction(self, contradiction_id: str) -> list[Drawing]:
        return [d for d in self._drawings if d.chart.contradiction_id == contradiction_id]


def draw(chart: Chart, name: str, links: QuoteLinks) -> Drawing:
    points = chart.points
    low = min(0.0, *(point.value for point in points))
    high = max(0.0, *(point.high for point in points))
    length = (high - low) or 1.0
    first, last = min(p.day for p in points), max(p.day for p in points)
    marks: list[Mark] = []
    labelled = -float(_LABEL_WIDTH)
    for point in points:
        share = (point.day - first) / ((last - first) or 1)
        x = _LEFT + share * (WIDTH - _LEFT - _RIGHT)
        y = HEIGHT - _BOTTOM - (point.value - low) / length * (HEIGHT - _TOP - _BOTTOM)
        # The last value always has its label: there is room for it, or the one before has none.
        is_labelled = x - labelled >= _LABEL_WIDTH and (
            point is points[-1] or WIDTH - _RIGHT - x >= _LABEL_WIDTH
        )
        labelled = x if is_labelled else labelled
        # A range is drawn from its one end to the other.
        begin = point.value if point.high > point.value else 0.0
        start, end = sorted(((begin - low) / length, (point.high - low) / length))
        sources = links.cite_claims(point.claim_ids)
        marks.append(Mark(point, start, end, round(x, 1), round(y, 1), is_labelled, sources))
    is_contested = chart.kind == "contested"
    lowest, highest = min(p.value for p in points), max(p.high for p in points)
    band = ((lowest - low) / length, (highest - low) / length) if is_contested else None
    base = HEIGHT - _BOTTOM + low / length * (HEIGHT - _TOP - _BOTTOM)
    return Drawing(chart, name, marks, band, round(base, 1))
