"""OpenTelemetry, when `OTEL_*` names a collector: traces and metrics from the SDK and from us.

Endpoint, headers, protocol details and resource attributes are read from the standard variables by
OpenTelemetry itself. Without an endpoint nothing here is imported and nothing is sent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from temporalio.contrib.opentelemetry import OpenTelemetryPlugin, create_tracer_provider
from temporalio.runtime import OpenTelemetryConfig, Runtime, TelemetryConfig

SERVICE = "durable-research"


@dataclass(frozen=True)
class Telemetry:
    """What a client takes to be traced and measured; its workers inherit it."""

    plugin: OpenTelemetryPlugin
    runtime: Runtime


@cache
def telemetry() -> Telemetry:
    """Set the process's tracer and meter providers, once. They flush when the process exits."""
    import opentelemetry.metrics
    import opentelemetry.trace
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES are merged in, and win.
    given = "OTEL_SERVICE_NAME" in os.environ
    resource = Resource.create({} if given else {"service.name": SERVICE})
    tracers = create_tracer_provider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    opentelemetry.trace.set_tracer_provider(tracers)
    if metrics_url(os.environ) is not None:
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        meters = MeterProvider(resource=resource, metric_readers=[reader])
        opentelemetry.metrics.set_meter_provider(meters)
    return Telemetry(
        plugin=OpenTelemetryPlugin(add_temporal_spans=True),
        runtime=Runtime(telemetry=TelemetryConfig(metrics=_sdk_metrics(os.environ))),
    )


def _sdk_metrics(env: Mapping[str, str]) -> OpenTelemetryConfig | None:
    """The Rust core exports its own metrics; it reads none of the variables, so it is told."""
    url = metrics_url(env)
    if url is None:
        return None
    headers = env.get("OTEL_EXPORTER_OTLP_METRICS_HEADERS") or env.get("OTEL_EXPORTER_OTLP_HEADERS")
    return OpenTelemetryConfig(url=url, http=True, headers=_headers(headers or ""))


def metrics_url(env: Mapping[str, str]) -> str | None:
    """Where metrics go; None where only traces were asked for."""
    if own := env.get("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"):
        return own
    base = env.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return f"{base.rstrip('/')}/v1/metrics" if base else None


def _headers(text: str) -> dict[str, str]:
    from urllib.parse import unquote

    pairs = (pair.partition("=") for pair in text.split(",") if "=" in pair)
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs}
