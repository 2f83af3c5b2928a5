"""Render OpenTelemetry metrics in the Prometheus text format, named as a collector names them.

Dots become underscores, the unit is a suffix, and a counter ends in `_total`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from opentelemetry.sdk.metrics.export import (
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    Sum,
)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_UNITS = {"s": "_seconds", "By": "_bytes"}
_INVALID_IN_NAMES = re.compile(r"[^a-zA-Z0-9_:]")


def render_metrics(data: MetricsData | None) -> str:
    lines = [
        line
        for resource in (data.resource_metrics if data else ())
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for line in _lines(metric)
    ]
    return "".join(f"{line}\n" for line in lines)


def _lines(metric: Metric) -> Iterator[str]:
    counter = isinstance(metric.data, Sum) and metric.data.is_monotonic
    name = _INVALID_IN_NAMES.sub("_", metric.name) + _UNITS.get(metric.unit or "", "")
    name += "_total" if counter else ""
    histogram = isinstance(metric.data, Histogram)
    if metric.description:
        yield f"# HELP {name} {_escape(metric.description)}"
    yield f"# TYPE {name} {'counter' if counter else 'histogram' if histogram else 'gauge'}"
    for point in metric.data.data_points:
        if isinstance(point, HistogramDataPoint):
            yield from _bucket_lines(name, point, point.attributes or {})
        elif isinstance(point, NumberDataPoint):
            yield f"{name}{_format_labels(point.attributes or {})} {point.value}"


def _bucket_lines(
    name: str, point: HistogramDataPoint, labels: Mapping[str, object]
) -> Iterator[str]:
    total = 0
    bounds = [f"{bound:g}" for bound in point.explicit_bounds]
    for bound, count in zip([*bounds, "+Inf"], point.bucket_counts, strict=True):
        total += count
        yield f"{name}_bucket{_format_labels({**labels, 'le': bound})} {total}"
    yield f"{name}_sum{_format_labels(labels)} {point.sum}"
    yield f"{name}_count{_format_labels(labels)} {point.count}"


def _format_labels(labels: Mapping[str, object]) -> str:
    pairs = ",".join(
        f'{_INVALID_IN_NAMES.sub("_", name)}="{_escape(str(value), quote=True)}"'
        for name, value in sorted(labels.items())
    )
    return f"{{{pairs}}}" if pairs else ""


def _escape(text: str, *, quote: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quote else text
