"""The timeline: a bar per step on one axis, with its numbers.

It is a table, so that screen readers can read it. Time in which nothing ran (a plan waited for its
approval, a job for an operator) is drawn short and listed in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from workflows.contracts.result import ResearchResult
from workflows.contracts.state import StepTiming

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
