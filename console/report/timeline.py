"""The run by the clock: a bar for each step, all on one axis, and the same as numbers.

It is a table, so it can be read without being seen. Time in which nothing ran (a plan waited for a
person, a job for an operator, a restart for the next day) is drawn short and said in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

from console.report.markup import lasted
from workflows.contracts.result import ResearchResult
from workflows.contracts.state import StepTiming

_WIDTH = 1000
_TICKS = 5
_IDLE = 0.08
"""The share of the working time from which on a pause is drawn short."""
_SHORT = 0.03
_LABELS = {
    "open": "Index the documents",
    "plan": "Plan",
    "review": "Review the plan",
    "verify": "Join and settle all claims",
    "write": "Write",
    "evaluate": "Judge the draft",
}


class Axis:
    """Seconds of the run to places between 0 and 1."""

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
        """The second that is drawn at a place; bisected, for the pauses are drawn short."""
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


def timeline(result: ResearchResult) -> str:
    spans = result.timeline
    if not spans:
        return ""
    axis = Axis(spans)
    titles = {item.facet_id: item.title or item.facet_id for item in result.coverage}
    passes = sorted({span.n for span in spans})
    groups = "".join(
        _group(n, [span for span in spans if span.n == n], axis, titles) for n in passes
    )
    ticks = "".join(
        f"<span>{_clock(axis.second_at(i / (_TICKS - 1)))}</span>" for i in range(_TICKS)
    )
    return (
        '<div class="scroll broad" role="region" tabindex="0" aria-label="Timeline of the run">'
        '<table class="timeline"><caption>What ran when, from the start of the job</caption>'
        '<thead><tr><th scope="col">Step</th><th scope="col" class="bars"><span class="hidden">'
        f'When, drawn</span><span class="ticks" aria-hidden="true">{ticks}</span></th>'
        '<th scope="col" class="number">Began at</th><th scope="col" class="number">Took</th>'
        f"</tr></thead>{groups}</table></div>{_legend(axis, spans)}"
    )


def _group(n: int, spans: Sequence[StepTiming], axis: Axis, titles: dict[str, str]) -> str:
    name = f"Refinement pass {n}" if n else "First draft"
    rows: dict[str, list[StepTiming]] = {}
    for span in sorted(spans, key=lambda s: s.began):
        label = titles.get(span.facet_id, span.facet_id) if span.facet_id else _label(span.step)
        rows.setdefault(label, []).append(span)
    lines = "".join(_row(label, found, axis) for label, found in rows.items())
    head = _row(name, spans, axis, ' class="pass"', "whole")
    return f"<tbody>{head}{lines}</tbody>"


def _row(
    label: str, spans: Sequence[StepTiming], axis: Axis, kind: str = "", whole: str = ""
) -> str:
    began, ended = min(s.began for s in spans), max(s.ended for s in spans)
    drawn = [(whole, began, ended)] if whole else [(s.step, s.began, s.ended) for s in spans]
    bars = "".join(_bar(step, axis.at(a), axis.at(b)) for step, a, b in drawn)
    pauses = "".join(_bar("pause", axis.at(a), axis.at(b)) for a, b in axis.pauses)
    return (
        f'<tr{kind}><th scope="row" dir="auto">{escape(label)}</th><td class="bars">'
        f'<svg viewBox="0 0 {_WIDTH} 14" preserveAspectRatio="none" aria-hidden="true">'
        f'{pauses}{bars}</svg></td><td class="number">{_clock(began)}</td>'
        f'<td class="number">{lasted(ended - began)}</td></tr>'
    )


def _bar(step: str, begin: float, end: float) -> str:
    x = round(begin * _WIDTH, 1)
    width = max(3.0, round((end - begin) * _WIDTH, 1))
    x = min(x, _WIDTH - width)
    # A step's name is the workflow's own word; anything else would not be a class here.
    kind = step if step.isalpha() else "step"
    return f'<rect class="{escape(kind)}" x="{x:g}" y="0" width="{width:g}" height="14"/>'


def _legend(axis: Axis, spans: Sequence[StepTiming]) -> str:
    drawn = {span.step for span in spans}
    keys = "".join(
        f'<li><svg viewBox="0 0 14 14" aria-hidden="true"><rect class="{step}" width="14"'
        f' height="14"/></svg>{name}</li>'
        for step, name in (
            *((("research", "research"),) if "research" in drawn else ()),
            *((("verify", "verification"),) if "verify" in drawn else ()),
            ("write", "planning, writing, judging"),
            *((("pause", "nothing ran; drawn short"),) if axis.pauses else ()),
        )
    )
    waits = "".join(
        f"<li>Nothing ran for {lasted(end - begin)} after {_clock(begin)}.</li>"
        for begin, end in axis.pauses
    )
    return f'<ul class="legend">{keys}</ul>' + (f'<ul class="plain">{waits}</ul>' if waits else "")


def _label(step: str) -> str:
    return _LABELS.get(step, step.replace("_", " ").capitalize())


def _clock(second: float) -> str:
    return lasted(max(0.0, second))
