"""Set up OpenTelemetry if `OTEL_*` names a collector: traces and metrics, the SDK's included.

OpenTelemetry itself reads endpoint, headers and resource attributes from the standard variables.
Without a collector and without health endpoints, this module is not imported.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.util.re import parse_env_headers
from temporalio.contrib.opentelemetry import create_tracer_provider
from temporalio.runtime import OpenTelemetryConfig, Runtime, TelemetryConfig

from console.runtime.tracing import ActivitySpanIds, TracingPlugin

SERVICE = "durable-research"
# A killed process loses what it has not sent, so both intervals are shorter than the defaults.
_SPANS_EVERY = ("OTEL_BSP_SCHEDULE_DELAY", 1_000)
_METRICS_EVERY = ("OTEL_METRIC_EXPORT_INTERVAL", 10_000)


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
