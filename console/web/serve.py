"""Serve the console with uvicorn, beside the embedded Temporal server and its worker if needed.

The port is bound before anything else is started, so a port in use fails at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from urllib.parse import quote

import h11
import uvicorn
from starlette.routing import BaseRoute
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from console.client import session as sessions
from console.client import validation
from console.client.session import Session
from console.errors import COMMAND, BadInputError, ExitCode
from console.runtime.connection import is_loopback
from console.web.auth import MIN_TOKEN_LENGTH
from console.web.routes import build_app
from console.web.state import AppState
from workflows.config.settings import Settings

TOKEN_VARIABLE = "RESEARCH_CONSOLE_TOKEN"  # noqa: S105
PORT = 8484

_SHUTDOWN_SECONDS = 4
_HEADER_SECONDS = 10.0
_MAX_HEADER_BYTES = 32 * 1024
_MAX_CONNECTIONS = 200


def serve(
    host: str,
    port: int,
    token_file: Path | None,
    build_api: Callable[[AppState], BaseRoute],
    open_mcp: Callable[[AppState], AbstractAsyncContextManager[BaseRoute]],
) -> ExitCode:
    """Serve the console, the API and the MCP server at `/mcp` until Ctrl-C."""
    token = _choose_token(host, _read_token(token_file))
    settings = validation.prepare_folders(sessions.read_settings())
    with _bind(host, port) as listener:
        bound_port = listener.getsockname()[1]
        url = f"http://[{host}]:{bound_port}" if ":" in host else f"http://{host}:{bound_port}"

        async def action(session: Session) -> ExitCode:
            state = AppState(session)
            state.is_local = is_loopback(host)
            async with open_mcp(state) as mcp:
                more = [build_api(state), mcp]
                app = build_app(state, token, bound_port, loopback=state.is_local, more=more)
                server = _build_server(app, settings.proxies)
                state.is_closing = lambda: server.should_exit
                print(f"MCP clients: {url}/mcp, the same token as a bearer token.", flush=True)
                print(f"The console is open: {url}/?token={quote(token, safe='')}", flush=True)
                print("Ctrl-C closes it.", flush=True)
                await _serve(server, listener, state)
            print(_closing_message(settings), flush=True)
            return ExitCode.REPORT

        return sessions.run(
            action,
            settings=settings,
            on_interrupt=_closing_message(settings),
        )


def _read_token(file: Path | None) -> str | None:
    """The token of the file or the environment: a command line can be read by every user."""
    if file is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    try:
        return validation.resolve_path(file, "--token-file").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"The token file {file} cannot be read ({error}): correct --token-file."
        ) from None


def _choose_token(host: str, token: str | None) -> str:
    """The given token; on loopback a generated one if none is given."""
    if token is None and is_loopback(host):
        return secrets.token_urlsafe(24)
    if token is None or len(token) < MIN_TOKEN_LENGTH:
        problem = "The token is too short" if token else "Beyond loopback a token is required"
        remedy = "omit it to generate one" if is_loopback(host) else "omit --host"
        raise BadInputError(
            f"{problem}: give one of at least {MIN_TOKEN_LENGTH} characters with --token-file or"
            f" {TOKEN_VARIABLE}, or {remedy}."
        )
    if not token.isascii() or not token.isprintable() or " " in token:
        raise BadInputError("The token cannot be part of a URL: use letters and digits.")
    return token


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInputError(
            f"The console cannot listen at {host}:{port} ({why.lower()}): choose another port with"
            " --port, 0 for any, or end what is there."
        ) from None


def _closing_message(settings: Settings) -> str:
    if settings.has_server:
        return "\nThe console is closed; jobs continue on their server."
    return (
        f"\nThe console is closed; completed work is kept. `{COMMAND} resume ID` continues an"
        " unfinished job, or “Resume” in the console."
    )


class TimedProtocol(H11Protocol):
    """Closes a connection whose request line and headers do not arrive in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        if self._timer is None and self.conn.their_state is h11.IDLE:
            self._start_timer()
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(_HEADER_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class SignalServer(uvicorn.Server):
    """Ends on a signal without raising the signal again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        handled = [number for number in signals if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, self.handle_exit) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _build_server(app: ASGIApp, proxies: str | None = None) -> SignalServer:
    return SignalServer(
        uvicorn.Config(
            app,
            # No access log: a URL may contain the token.
            access_log=False,
            log_config=None,
            log_level="critical",
            server_header=False,
            # A proxy says in headers where a request comes from; only named ones are believed.
            proxy_headers=bool(proxies),
            forwarded_allow_ips=proxies,
            ws="none",
            lifespan="off",
            http=TimedProtocol,
            h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
            limit_concurrency=_MAX_CONNECTIONS,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
    )


async def _serve(server: uvicorn.Server, listener: socket.socket, state: AppState) -> None:
    def show_error(job_id: str, message: str) -> None:
        """Also on every page."""
        print(f"Error: {message}", file=sys.stderr, flush=True)
        state.worker_errors[job_id] = message

    supervising = state.session.supervise_workers(show_error, partial(print, flush=True))
    watching = asyncio.ensure_future(supervising)
    try:
        await server.serve(sockets=[listener])
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
