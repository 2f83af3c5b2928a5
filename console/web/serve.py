"""The console's own server: where it listens, who may come in, and how it ends.

It works with what any command works with: the folder's server with a worker beside it, or the
configured server. The port is taken before anything is started, so nothing is started in vain.
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
from typing import TYPE_CHECKING
from urllib.parse import quote

from console.client import validation
from console.client.session import Session, current_settings, visit
from console.errors import COMMAND, BadInputError, ConsoleError, ExitCode
from console.web.auth import SHORTEST_TOKEN, is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from temporalio.client import Client
    from uvicorn import Server

    from console.web.state import Rooms

TOKEN_VARIABLE = "RESEARCH_CONSOLE_TOKEN"  # noqa: S105
PORT = 8484

_FAREWELL_SECONDS = 4
_LOOK_SECONDS = 1.0


def serve(host: str = "127.0.0.1", port: int = PORT, token: str | None = None) -> ExitCode:
    """Serve the console until Ctrl-C."""
    token = _token(host, token or os.environ.get(TOKEN_VARIABLE) or None)
    settings = validation.local_settings(current_settings())
    with _listening(host, port) as listener:
        shown = _address(host, listener.getsockname()[1])
        farewell = _farewell(settings.has_server)

        async def go(client: Client, desk: Session) -> ExitCode:
            from console.web.app import application
            from console.web.state import Rooms

            rooms = Rooms(client, desk)
            app = application(rooms, token, listener.getsockname()[1], loopback=is_loopback(host))
            server = _server(app)
            rooms.closing = lambda: server.should_exit
            print(f"The console is open: {shown}/?token={quote(token, safe='')}", flush=True)
            print("Ctrl-C closes it.", flush=True)
            await _open_until_closed(server, listener, rooms)
            print(farewell(), flush=True)
            return ExitCode.REPORT

        return visit(go, settings=settings, work=True, left=farewell)


def _token(host: str, token: str | None) -> str:
    """The one that was given, or one made for this time; beyond this machine it must be given."""
    if token is None and is_loopback(host):
        return secrets.token_urlsafe(24)
    if token is None or len(token) < SHORTEST_TOKEN:
        why = "The token is too short" if token else "Beyond this machine a token is asked for"
        way_out = "leave it away to have one made" if is_loopback(host) else "leave --host away"
        raise BadInputError(
            f"{why}: give one of at least {SHORTEST_TOKEN} characters with --token or"
            f" {TOKEN_VARIABLE}, or {way_out}."
        )
    if not token.isascii() or not token.isprintable() or " " in token:
        raise BadInputError("The token cannot be typed into an address: take letters and digits.")
    return token


def _listening(host: str, port: int) -> contextlib.closing[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInputError(
            f"The console cannot listen at {host}:{port} ({why.lower()}): choose another port with"
            " --port, 0 for any, or end what is there."
        ) from None
    return contextlib.closing(listener)


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _farewell(elsewhere: bool) -> Callable[[], str]:
    def text() -> str:
        if elsewhere:
            return "\nThe console is closed; jobs go on on their server."
        return (
            "\nThe console is closed; what was done is kept. Unfinished jobs go on when"
            f" `{COMMAND} serve` or `{COMMAND} resume ID` is called here again."
        )

    return text


def _server(app: ASGIApp) -> Server:
    import uvicorn

    class Quiet(uvicorn.Server):
        """Ends when it is told to, and takes that as what was wanted: no signal is raised again."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            heard = [number for number in wanted if signal.getsignal(number) != signal.SIG_IGN]
            before = {number: signal.signal(number, self.handle_exit) for number in heard}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    return Quiet(
        uvicorn.Config(
            app,
            # Neither who asked nor what for is written down: an address may hold the token.
            access_log=False,
            log_config=None,
            log_level="critical",
            server_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=_FAREWELL_SECONDS,
        )
    )


async def _open_until_closed(server: Server, listener: socket.socket, rooms: Rooms) -> None:
    watching = asyncio.ensure_future(_look_after_worker(rooms))
    try:
        await server.serve(sockets=[listener])
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def _look_after_worker(rooms: Rooms) -> None:
    """A worker that died is replaced; one that cannot be is told of, here and on every page."""
    worker = rooms.desk.worker
    while worker is not None:
        await asyncio.sleep(_LOOK_SECONDS)
        try:
            if note := worker.look():
                print(note, flush=True)
        except ConsoleError as error:
            print(f"Error: {error}", file=sys.stderr, flush=True)
            rooms.trouble = str(error)
            return
