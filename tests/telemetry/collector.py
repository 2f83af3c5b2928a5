"""An OTLP receiver on loopback that keeps what arrives, and reads it."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Span:
    name: str
    trace: bytes
    id: bytes
    parent: bytes
    process: str
    error: str
    start: int
    end: int
    attributes: Mapping[str, Any]


class Collector(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = threading.Lock()
        self.received: list[tuple[str, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def bodies(self, path: str) -> list[bytes]:
        with self.lock:
            return [body for where, body in self.received if where == path]

    def spans(self) -> list[Span]:
        return [
            Span(
                span.name,
                span.trace_id,
                span.span_id,
                span.parent_span_id,
                _read(sent.resource.attributes)["service.instance.id"],
                span.status.message,
                span.start_time_unix_nano,
                span.end_time_unix_nano,
                _read(span.attributes),
            )
            for body in self.bodies("/v1/traces")
            for sent in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in sent.scope_spans
            for span in scope.spans
        ]

    def sums(self, name: str) -> dict[tuple[tuple[str, Any], ...], float]:
        """The newest values of a counter, by labels, over all processes."""
        newest: dict[tuple[str, tuple[tuple[str, Any], ...]], float] = {}
        for sent, metric in self._metrics():
            for point in metric.sum.data_points if metric.name == name else ():
                process = _read(sent.resource.attributes)["service.instance.id"]
                labels = tuple(sorted(_read(point.attributes).items()))
                newest[process, labels] = point.as_double or point.as_int
        sums: dict[tuple[tuple[str, Any], ...], float] = {}
        for (_, labels), value in newest.items():
            sums[labels] = sums.get(labels, 0) + value
        return sums

    def senders(self, prefix: str) -> set[tuple[str, str]]:
        """Service and instance of whoever sent metrics with this prefix."""
        found = set()
        for sent, metric in self._metrics():
            if metric.name.startswith(prefix):
                told = _read(sent.resource.attributes)
                found.add((told.get("service.name", ""), told.get("service.instance.id", "")))
        return found

    def _metrics(self) -> Iterator[tuple[Any, Any]]:
        for body in self.bodies("/v1/metrics"):
            for sent in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in sent.scope_metrics:
                    for metric in scope.metrics:
                        yield sent, metric


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        with self.server.lock:
            self.server.received.append((self.path, body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def collecting() -> Iterator[Collector]:
    with Collector() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def _read(attributes: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else None
