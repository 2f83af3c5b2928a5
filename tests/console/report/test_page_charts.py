"""Charts and comparisons on the report's page: cited, to scale, and safe with any text."""

from __future__ import annotations

import re

import pytest

from console.report.charts import draw
from console.report.page import render_page
from console.report.quote_links import QuoteLinks
from tests.console.charted_result import charted
from tests.console.report.test_page import FORBIDDEN, HOSTILE, Reader, section
from tests.console.results import ferry
from workflows.contracts.result import Chart, ChartPoint, Comparison, ComparisonRow


def test_every_value_of_a_chart_is_cited_and_stands_in_a_table() -> None:
    text = render_page(charted())
    course = section(text, "facet-2")
    assert re.search(
        r'<svg class="course"[^>]* role="img" aria-labelledby="chart-2-t chart-2-d">', course
    )
    assert "2022: 410,000; 2023: 430,000; 2024: 455,000." in course
    rows = re.findall(
        r'<th scope="row" dir="auto">(\d{4})</th>.*?>([\d,]+)</span> (.*?)</td>', course
    )
    assert [(label, value) for label, value, _ in rows] == [
        ("2022", "410,000"), ("2023", "430,000"), ("2024", "455,000")
    ]  # fmt: skip
    assert all('class="cite" href="#source-' in cites for *_, cites in rows)
    assert "Brekkan" in course, "the comparison stands with its facet"
    assert 'id="chart-1"' in section(text, "disputes")
    assert 'class="band"' in section(text, "disputes")
    assert 'id="chart-3"' in section(text, "figures"), "a facet without a chapter loses nothing"


def test_bars_begin_at_zero_and_times_stand_at_their_distance() -> None:
    points = [
        ChartPoint(label=str(value), text="", value=value, high=value, day=day, claim_ids=("c3",))
        for value, day in ((-10.0, 100), (30.0, 110), (10.0, 200))
    ]
    chart = Chart(kind="over_time", title="t", facet_id="f", points=tuple(points))
    marks = draw(chart, "x", QuoteLinks(ferry())).marks
    assert [(mark.start, mark.end) for mark in marks] == [(0, 0.25), (0.25, 1), (0.25, 0.5)]
    assert (marks[1].x - marks[0].x) * 9 == pytest.approx(marks[2].x - marks[1].x, abs=1)
    assert [mark.is_labelled for mark in marks] == [True, False, True], "labels do not overlap"


def test_hostile_text_in_a_chart_stays_text() -> None:
    point = ChartPoint(label=HOSTILE, text=HOSTILE, value=1, high=1, claim_ids=("c3",))
    chart = Chart(kind="over_time", title=HOSTILE, facet_id="fleet", points=(point, point))
    rows = (ComparisonRow(subject=HOSTILE, cells=(HOSTILE, HOSTILE), claim_ids=("c3",)),) * 2
    table = Comparison(title=HOSTILE, facet_id="cost", subject=HOSTILE,
                       attributes=(HOSTILE, HOSTILE), rows=rows)  # fmt: skip
    read = Reader(
        render_page(ferry().model_copy(update={"charts": (chart,), "comparisons": (table,)}))
    )
    assert not set(read.tags) & FORBIDDEN
    assert read.tags.count("script") == read.tags.count("style") == 1
    assert not read.attributes & {"src", "style", "onerror", "onmouseover"}
