"""The arithmetic of the quality harness: intervals, paired differences, the trend."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.quality.intervals import Estimate, Pair, bootstrap, difference, estimate, wilson
from benchmarks.quality.results import EVERYTHING, Figure, Result, compute_figures
from benchmarks.quality.sets import Measure
from benchmarks.quality.tables import meets, render_comparison, render_table
from benchmarks.quality.trend import find_falls, record


class Kind:
    name = "kind"
    pooled = True
    measures: tuple[Measure, ...] = (
        Measure("right", wanted=0.7),
        Measure("slips", "lower"),
        Measure("seconds", "lower", share=False, timed=True),
        Measure("in all", whole=True),
    )


def result(case: str, right: float, group: str = "g", **others: Pair) -> Result:
    return Result(case, group, "digest", {"right": (right, 1), **others}, {})


def figure(value: float, measure: Measure, cases: str = "same") -> Figure:
    told = Estimate(value, max(0.0, value - 0.05), min(1.0, value + 0.05), 100)
    return Figure("kind", "g", measure, told, cases)


def test_a_share_has_wilsons_interval() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
    assert wilson(0, 0) == (0.0, 1.0)
    told = estimate([(1, 1)] * 8 + [(0, 1)] * 2)
    assert told is not None
    assert (told.value, told.low, told.high, told.n) == (0.8, low, high, 10)


def test_a_ratio_is_of_sums_and_resamples_cases_the_same_way_each_time() -> None:
    pairs: list[Pair] = [(1, 4), (3, 4), (9, 10), (0, 0)]
    told = estimate(pairs)
    assert told is not None
    assert told.value == pytest.approx(13 / 18)
    assert told.n == 18
    assert 0.25 <= told.low < told.value < told.high <= 0.9
    assert bootstrap(pairs) == bootstrap(pairs)


def test_where_all_cases_agree_the_interval_still_says_how_few_there_were() -> None:
    told = estimate([(3, 3), (2, 2)])
    assert told is not None
    assert told.value == 1.0
    assert told.low < 0.8


def test_what_is_no_share_gets_no_shares_interval() -> None:
    assert estimate([(0, 1)] * 5, share=False) == Estimate(0.0, 0.0, 0.0, 5)


def test_nothing_counted_is_no_figure() -> None:
    assert estimate([(0, 0), (0, 0)]) is None
    assert difference([(0, 0)], [(1, 1)]) is None


def test_a_paired_difference_is_narrower_than_the_spread_of_the_cases() -> None:
    before: list[Pair] = [(n / 20, 1) for n in range(20)]
    after: list[Pair] = [(n / 20 + 0.1, 1) for n in range(20)]
    told = difference(before, after)
    assert told is not None
    assert told.value == pytest.approx(0.1)
    assert told.low == pytest.approx(0.1)
    assert told.high == pytest.approx(0.1)


def test_groups_are_counted_apart_and_together() -> None:
    results = [result("a", 1, "one", **{"in all": (1, 1)}), result("b", 0, "two")]
    told = {(f.group, f.measure.name): f.estimate.value for f in compute_figures(Kind(), results)}
    assert told == {
        ("one", "right"): 1.0,
        ("two", "right"): 0.0,
        (EVERYTHING, "right"): 0.5,
        (EVERYTHING, "in all"): 1.0,
    }


def test_a_table_says_where_a_figure_is_not_what_is_wanted() -> None:
    lines = list(render_table(compute_figures(Kind(), [result("a", 1), result("b", 0)])))
    assert "≥ 0.700 NO" in next(line for line in lines if "right" in line)
    assert list(render_table([])) == ["  nothing was measured"]
    lower = Measure("slips", "lower", wanted=0.3)
    assert meets(Estimate(0.2, 0, 1, 5), lower, 0.3)
    assert not meets(Estimate(0.4, 0, 1, 5), lower, 0.3)


def test_two_runs_are_compared_over_the_cases_they_share() -> None:
    before = [result(f"c{n}", 0) for n in range(12)]
    after = [result(f"c{n}", 1) for n in range(12)] + [result("new", 0)]
    lines = "\n".join(render_comparison(Kind(), before, after))
    assert "12 cases in both" in lines
    assert "+1.000 to +1.000 better" in lines
    assert "left out: 1 results" in lines
    worse = "\n".join(render_comparison(Kind(), after, before))
    assert "WORSE" in worse
    other = [Result("c0", "g", "another text", {"right": (1, 1)}, {})]
    assert list(render_comparison(Kind(), before, other)) == ["kind: the two runs share no case"]


def test_the_trend_sees_a_fall_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "trend.jsonl"
    right, slips, seconds, _ = Kind.measures
    assert (
        record([figure(0.9, right), figure(0.1, slips), figure(9, seconds)], "offline", path) == 2
    )
    assert record([figure(0.9, right)], "offline", path) == 0
    line = json.loads(path.read_text("utf-8").splitlines()[0])
    assert {"version", "commit", "set", "measure", "value", "n"} <= set(line)

    def falls(*found: Figure, model: str = "offline") -> int:
        return len(find_falls(found, model, path)[0])

    assert falls(figure(0.84, right)) == 1
    assert falls(figure(0.86, right), figure(0.99, right)) == 0
    assert falls(figure(0.2, slips)) == 1
    assert falls(figure(0.01, slips)) == 0
    assert falls(figure(0.1, right, "other cases")) == 0
    assert falls(figure(0.1, right), model="claude") == 0
    complaints, compared = find_falls([figure(0.84, right)], "offline", path)
    assert compared == 1
    assert "right went from 0.900" in complaints[0]
