"""The health endpoints of a worker, at the address RESEARCH_HEALTH names, and its counts of jobs.

    /healthz   200 while the process lives
    /readyz    200 while it polls for work and the Temporal server answers; else 503 with a reason
    /metrics   its metrics, in Prometheus text format

The endpoints show no job data, so there is no authentication. An address without a host, which
would listen on all interfaces, is rejected. Every worker that runs workflows counts the jobs by
status for itself, so all report the same numbers: alert rules take the maximum.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from http import HTTPStatus

from temporalio.client import Client
from temporalio.service import RPCError

from console.errors import BadInputError

_REQUEST_SECONDS = 5.0
_SERVER_ANSWERS = timedelta(seconds=2)
_TEXT = "text/plain; charset=utf-8"

Reply = tuple[HTTPStatus, str, str]

STATUSES = ("running", "blocked", "paused", "awaiting_approval")
INTERVAL_SECONDS = 30.0
log = logging.getLogger(__name__)


class Health:
    """Whether this worker is ready."""

    def __init__(self) -> None:
        self._client: Client | None = None
        self._why_not = "starting"

    def ready(self, client: Client) -> None:
        """The worker polls for work."""
        self._client, self._why_not = client, ""

    def drain(self) -> None:
        """The worker accepts no new work and finishes its current work."""
        self._why_not = "draining"

    async def find_problem(self) -> str:
        """Why the worker is not ready; empty if it is."""
        if self._why_not or self._client is None:
            return self._why_not
        try:
            serving = await self._client.service_client.check_health(timeout=_SERVER_ANSWERS)
        except RPCError:
            serving = False
        return "" if serving else "the Temporal server does not answer"


@asynccontextmanager
async def serve_health(address: str | None) -> AsyncIterator[Health]:
    """Serve the endpoints while the body runs; without an address, nothing listens."""
    health = Health()
    if address is None:
        yield health
        return
    host, port = parse_address(address)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_response(head, await _reply(head, health)))
                await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_server(serve, host, port, limit=16 * 1024)
    except OSError as error:
        raise BadInputError(
            f"RESEARCH_HEALTH={address} cannot be used ({error.strerror}): choose another port, or"
            " unset it."
        ) from error
    from console.runtime.telemetry import set_meter_provider

    set_meter_provider()
    try:
        yield health
    finally:
        server.close()


def parse_address(address: str) -> tuple[str, int]:
    """Host and port. Raises `BadInputError` for an address without a host."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 65536):
        raise BadInputError(
            f"RESEARCH_HEALTH is {address!r}: write it as HOST:PORT, for example 127.0.0.1:9464."
        )
    return host, int(port)


async def _reply(head: bytes, health: Health) -> Reply:
    method, _, rest = head.decode("latin-1").partition(" ")
    if method not in ("GET", "HEAD"):
        return HTTPStatus.METHOD_NOT_ALLOWED, _TEXT, "use GET\n"
    match rest.partition(" ")[0].partition("?")[0]:
        case "/healthz":
            return HTTPStatus.OK, _TEXT, "alive\n"
        case "/readyz":
            why_not = await health.find_problem()
            if why_not:
                return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, f"{why_not}\n"
            return HTTPStatus.OK, _TEXT, "ready\n"
        case "/metrics":
            from console.runtime.telemetry import CONTENT_TYPE, render_metrics, set_meter_provider

            return (
                HTTPStatus.OK,
                CONTENT_TYPE,
                render_metrics(set_meter_provider().get_metrics_data()),
            )
        case _:
            return HTTPStatus.NOT_FOUND, _TEXT, "use /healthz, /readyz or /metrics\n"


def _response(head: bytes, reply: Reply) -> bytes:
    status, kind, text = reply
    body = text.encode()
    lines = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode() + (b"" if head.startswith(b"HEAD") else body)


async def count_jobs(
    client: Client, record: Callable[[str, int], None], interval: float = INTERVAL_SECONDS
) -> None:
    """Call `record` with each status and its number of jobs, again and again."""
    while True:
        try:
            for status in STATUSES:
                found = await client.count_workflows(
                    'WorkflowType="ResearchWorkflow" AND ExecutionStatus="Running"'
                    f' AND ResearchStatus="{status}"'
                )
                record(status, found.count)
        except RPCError as error:
            log.warning("the jobs could not be counted: %s", error.message)
        await asyncio.sleep(interval)
