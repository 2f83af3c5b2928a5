"""A worker answers for its health, where RESEARCH_HEALTH says and nowhere else.

    /healthz   200 while the process lives
    /readyz    200 while it is at work and the Temporal server answers; 503 and why, otherwise
    /metrics   what it counted, for Prometheus

It only tells how the worker is, so there is no sign-in; an address beyond this machine has to be
written out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
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


class Health:
    """How this worker is."""

    def __init__(self) -> None:
        self._client: Client | None = None
        self._why_not = "starting"

    def ready(self, client: Client) -> None:
        """It polls for work."""
        self._client, self._why_not = client, ""

    def drain(self) -> None:
        """It takes nothing new and finishes what it has."""
        self._why_not = "draining"

    async def unready(self) -> str:
        """Why no work should be expected of it; empty where there is no reason."""
        if self._why_not or self._client is None:
            return self._why_not
        try:
            serving = await self._client.service_client.check_health(timeout=_SERVER_ANSWERS)
        except RPCError:
            serving = False
        return "" if serving else "the Temporal server does not answer"


@asynccontextmanager
async def answering(address: str | None) -> AsyncIterator[Health]:
    """Answers while the body runs; at no address, nothing listens."""
    health = Health()
    if address is None:
        yield health
        return
    host, port = endpoint(address)

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
            f"RESEARCH_HEALTH names {address}, where nothing can listen ({error.strerror}): choose"
            " another port, or unset it."
        ) from error
    from console.runtime.telemetry import meters

    # From now on there is something to count with.
    meters()
    try:
        yield health
    finally:
        server.close()


def endpoint(address: str) -> tuple[str, int]:
    """Host and port. An address without a host would listen everywhere, so it is refused."""
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
            why_not = await health.unready()
            if why_not:
                return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, f"{why_not}\n"
            return HTTPStatus.OK, _TEXT, "ready\n"
        case "/metrics":
            from console.runtime.prometheus import CONTENT_TYPE, rendered
            from console.runtime.telemetry import meters

            return HTTPStatus.OK, CONTENT_TYPE, rendered(meters().get_metrics_data())
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
