"""OpenTelemetry: traces and metrics for a collector that `OTEL_*` names, and metrics as text.

OpenTelemetry itself reads endpoint, headers and resource attributes from the standard variables.
Without a collector and without health endpoints, this module is not imported. The text is in the
Prometheus format, named as a collector names it: dots become underscores, the unit is a suffix, and
a counter ends in `_total`.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from opentelemetry.sdk.metrics.export import (
    Histogram,
    HistogramDataPoint,
    InMemoryMetricReader,
    Metric,
    MetricsData,
    NumberDataPoint,
    Sum,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.util.re import parse_env_headers
from temporalio.contrib.opentelemetry import create_tracer_provider
from temporalio.runtime import OpenTelemetryConfig, Runtime, TelemetryConfig

from console.runtime.tracing import ActivitySpanIds, TracingPlugin

SERVICE = "durable-research"
# A killed process loses what it has not sent, so both intervals are shorter than the defaults.
_SPANS_EVERY = ("OTEL_BSP_SCHEDULE_DELAY", 1_000)
_METRICS_EVERY = ("OTEL_METRIC_EXPORT_INTERVAL", 10_000)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_UNITS = {"s": "_seconds", "By": "_bytes"}
_INVALID_IN_NAMES = re.compile(r"[^a-zA-Z0-9_:]")


@dataclass(frozen=True)
class Telemetry:
    """The options of a client; its workers inherit them."""

    plugin: TracingPlugin
    runtime: Runtime


@cache
def set_up_telemetry() -> Telemetry:
    """Set the process's tracer and meter providers, once. They flush when the process exits."""
    import opentelemetry.trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    tracers = create_tracer_provider(resource=resource(), id_generator=ActivitySpanIds())
    tracers.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(), schedule_delay_millis=_millis(_SPANS_EVERY))
    )
    opentelemetry.trace.set_tracer_provider(tracers)
    if metrics_url(os.environ) is not None:
        set_meter_provider()
    return Telemetry(
        plugin=TracingPlugin(),
        runtime=Runtime(
            telemetry=TelemetryConfig(
                metrics=_sdk_metrics(os.environ),
                attach_service_name=False,
                global_tags={
                    name: str(resource().attributes[name])
                    for name in ("service.name", "service.instance.id")
                },
            )
        ),
    )


@cache
def set_meter_provider() -> InMemoryMetricReader:
    """Set the meter provider, once; the metrics can be read from the returned reader."""
    import opentelemetry.metrics
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader

    reader = InMemoryMetricReader()
    readers: list[MetricReader] = [reader]
    if metrics_url(os.environ) is not None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        every = _millis(_METRICS_EVERY)
        readers.append(
            PeriodicExportingMetricReader(OTLPMetricExporter(), export_interval_millis=every)
        )
    provider = MeterProvider(resource=resource(), metric_readers=readers)
    opentelemetry.metrics.set_meter_provider(provider)
    return reader


@cache
def resource() -> Resource:
    """The resource; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence."""
    named = OTELResourceDetector().detect().attributes
    ours = {
        "service.name": SERVICE,
        "service.instance.id": f"{socket.gethostname()}-{os.getpid()}",
    }
    return Resource.create({name: value for name, value in ours.items() if name not in named})


def _sdk_metrics(env: Mapping[str, str]) -> OpenTelemetryConfig | None:
    """The SDK's Rust core exports its own metrics and reads none of the variables."""
    url = metrics_url(env)
    if url is None:
        return None
    headers = env.get("OTEL_EXPORTER_OTLP_METRICS_HEADERS") or env.get("OTEL_EXPORTER_OTLP_HEADERS")
    return OpenTelemetryConfig(
        url=url, http=True, headers=parse_env_headers(headers or "", liberal=True)
    )


def metrics_url(env: Mapping[str, str]) -> str | None:
    """The endpoint for metrics; None if only traces are wanted."""
    if own := env.get("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"):
        return own
    base = env.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return f"{base.rstrip('/')}/v1/metrics" if base else None


def _millis(setting: tuple[str, int]) -> int | None:
    """The default interval; None if the variable is set, which OpenTelemetry reads."""
    name, default = setting
    return None if os.environ.get(name) else default


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
