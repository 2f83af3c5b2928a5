"""Metrics in Prometheus' own words."""

from __future__ import annotations

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from console.runtime.telemetry import render_metrics


def test_counters_gauges_and_histograms_are_named_and_escaped() -> None:
    reader = InMemoryMetricReader()
    meter = MeterProvider(metric_readers=[reader], shutdown_on_exit=False).get_meter("test")
    meter.create_counter("a.count", description="two\nlines").add(2, {"who": 'a "b" \\ c\nd'})
    meter.create_up_down_counter("a.level").add(-1)
    seconds = meter.create_histogram(
        "a.wait", unit="s", explicit_bucket_boundaries_advisory=[0.5, 2]
    )
    for value in (0.25, 1, 8):
        seconds.record(value)

    assert render_metrics(reader.get_metrics_data()).splitlines() == [
        "# HELP a_count_total two\\nlines",
        "# TYPE a_count_total counter",
        'a_count_total{who="a \\"b\\" \\\\ c\\nd"} 2',
        "# TYPE a_level gauge",
        "a_level -1",
        "# TYPE a_wait_seconds histogram",
        'a_wait_seconds_bucket{le="0.5"} 1',
        'a_wait_seconds_bucket{le="2"} 2',
        'a_wait_seconds_bucket{le="+Inf"} 3',
        "a_wait_seconds_sum 9.25",
        "a_wait_seconds_count 3",
    ]


def test_nothing_measured_is_an_empty_page() -> None:
    assert render_metrics(None) == ""
