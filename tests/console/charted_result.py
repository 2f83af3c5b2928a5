"""A finished job whose report has a chart of each kind."""

from __future__ import annotations

from tests.console.results import ferry
from workflows.contracts.result import Chart, ChartPoint, Comparison, ComparisonRow, ResearchResult


def charted() -> ResearchResult:
    """The same job with a chart of each kind and a comparison."""

    def point(label: str, text: str, value: float, claim_id: str, day: int = 0) -> ChartPoint:
        return ChartPoint(
            label=label, text=text, value=value, high=value, day=day, claim_ids=(claim_id,)
        )

    return ferry().model_copy(
        update={
            "charts": (
                Chart(
                    kind="contested",
                    title="what the programme costs",
                    facet_id="cost",
                    contradiction_id="x1",
                    points=(
                        point("The business case", "EUR 214.6 million", 214.6e6, "c1"),
                        point("The annual report", "EUR 151.2 million", 151.2e6, "c2"),
                    ),
                ),
                Chart(
                    kind="over_time",
                    title="The Lindrey route carried … passengers in …",
                    facet_id="fleet",
                    points=(
                        point("2022", "410,000", 410_000, "c3", 738156),
                        point("2023", "430,000", 430_000, "c3", 738521),
                        point("2024", "455,000", 455_000, "c2", 738886),
                    ),
                ),
                Chart(
                    kind="side_by_side",
                    title="Fleet register: Length, by vessel",
                    facet_id="elsewhere",
                    points=(point("Eider", "41 m", 41, "c3"), point("Tern", "84 m", 84, "c3")),
                ),
            ),
            "comparisons": (
                Comparison(
                    title="Fleet register",
                    facet_id="fleet",
                    subject="Vessel",
                    attributes=("Yard", "Length"),
                    rows=(
                        ComparisonRow(
                            subject="Eider", cells=("Orrevik", "41 m"), claim_ids=("c3",)
                        ),
                        ComparisonRow(subject="Tern", cells=("Brekkan", "84 m"), claim_ids=("c3",)),
                    ),
                ),
            ),
        }
    )
