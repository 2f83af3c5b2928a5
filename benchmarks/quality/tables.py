"""Figures as a person reads them: a table for each set, and two runs side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.quality.intervals import Estimate, difference
from benchmarks.quality.results import EVERYTHING, Figure, Result
from benchmarks.quality.sets import Measure, QualitySet, SetDescription

Lines = Iterator[str]
ResultPair = tuple[Result, Result]

_FEWEST = 5
"""Cases from which on a difference is given an interval."""


def render_table(found: Sequence[Figure]) -> Lines:
    """The figures of one set: value, 95 % interval, what is wanted, what others reach."""
    if not found:
        yield "  nothing was measured"
        return
    width = max(len(figure.measure.name) for figure in found)
    group = None
    for figure in found:
        if figure.group != group:
            group = figure.group
            yield f"{figure.set}: {group}"
            yield (f"  {'':{width}}   value   95 % interval       n   wanted       for comparison")
        yield f"  {figure.measure.name:{width}} {_row(figure)}".rstrip()


def _row(figure: Figure) -> str:
    told, measure = figure.estimate, figure.measure
    interval = "" if told.n == 1 else f"{_number(told.low)} to {_number(told.high)}"
    wanted = measure.wanted_in(figure.group)
    verdict = ""
    if wanted is not None:
        sign = "≤" if measure.better == "lower" else "≥"
        verdict = f"{sign} {_number(wanted).strip()}{'' if meets(told, measure, wanted) else ' NO'}"
    return (
        f"{_number(told.value):>7}   {interval:<15} {told.n:>5}   {verdict:<10}  "
        f" {measure.baseline_in(figure.group)}"
    )


def meets(told: Estimate, measure: Measure, wanted: float) -> bool:
    """Whether a figure, as it is printed, is what is wanted."""
    value = round(told.value, 3)
    return value <= wanted if measure.better == "lower" else value >= wanted


def render_comparison(
    kind: SetDescription | type[QualitySet], before: Sequence[Result], after: Sequence[Result]
) -> Lines:
    """Two runs over the cases they share, and their differences with intervals."""
    pairs = take_pairs(before, after)
    left_out = len(before) + len(after) - 2 * len(pairs)
    if not pairs:
        yield f"{kind.name}: the two runs share no case"
        return
    groups = group_pairs(kind, pairs)
    width = max(len(measure.name) for measure in kind.measures)
    for group, members in groups.items():
        yield f"{kind.name}: {group}, {len(members)} cases in both"
        yield f"  {'':{width}}       A       B   B less A   95 % interval"
        for measure in kind.measures:
            line = _difference(measure, members)
            if line:
                yield f"  {measure.name:{width}} {line}"
    if left_out:
        yield f"  left out: {left_out} results of cases that only one of the two has"


def take_pairs(before: Sequence[Result], after: Sequence[Result]) -> list[ResultPair]:
    """The results of two runs for the cases that both have, with the same content."""
    firsts = {result.case: result for result in before}
    return [
        (firsts[result.case], result)
        for result in after
        if result.case in firsts and firsts[result.case].digest == result.digest
    ]


def group_pairs(
    kind: SetDescription | type[QualitySet], pairs: list[ResultPair], by_group: bool = True
) -> dict[str, list[ResultPair]]:
    """The pairs by group, and all together where the set pools its groups."""
    groups: dict[str, list[ResultPair]] = {}
    for pair in pairs if by_group else ():
        groups.setdefault(pair[1].group, []).append(pair)
    if kind.pooled and pairs and len(groups) != 1:
        groups[EVERYTHING] = pairs
    return groups


def _difference(measure: Measure, members: Sequence[ResultPair]) -> str:
    nothing = (0.0, 0.0)
    ones = [a.measures.get(measure.name, nothing) for a, _ in members]
    others = [b.measures.get(measure.name, nothing) for _, b in members]
    told = difference(ones, others)
    if told is None:
        return ""
    first = sum(p for p, _ in ones) / sum(w for _, w in ones)
    interval = verdict = ""
    if told.n >= _FEWEST:
        interval = f"{_signed(told.low)} to {_signed(told.high)}"
    if interval and measure.better and (told.low > 0 or told.high < 0):
        verdict = "better" if (told.low > 0) == (measure.better == "higher") else "WORSE"
    return (
        f"{_number(first):>7} {_number(first + told.value):>7}   {_signed(told.value):>8}   "
        f"{interval} {verdict}"
    ).rstrip()


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def _signed(value: float) -> str:
    return f"{value:+.3f}" if abs(value) < 10 else f"{value:+.1f}"
