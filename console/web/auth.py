"""Who may speak to the console, and what every answer of it says to the browser.

Whoever holds the token may do everything, so each request must show it: once in the address, or on
the page that asks for it; from then on in a cookie that scripts cannot read and other sites cannot
send. Beside that:

    host        bound to this machine, only names of this machine are answered (DNS rebinding)
    origin      a form of another site is refused, and each form carries a word of its own
    size        a body over the limit is not read
    headers     no foreign script, style, frame or referrer; nothing is kept in caches
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 1_000_000
SHORTEST_TOKEN = 16

CONTENT_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TOO_MUCH = f"Too much was sent: {LARGEST_BODY:,} bytes are taken at most."
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})

Door = Callable[[Request], Awaitable[Response]]


class Keys:
    """The token, and what is derived from it: the cookie's value and the word in each form."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token.encode()
        # Cookies know no ports: two consoles on one machine must not overwrite each other's.
        self.cookie = f"research_console_{port}"
        self.pass_word = self._derived(b"cookie")
        self.form_word = self._derived(b"form")

    def opens(self, token: str) -> bool:
        return hmac.compare_digest(token.strip().encode(), self._token)

    def shown_by(self, request: Request) -> bool:
        return hmac.compare_digest(
            request.cookies.get(self.cookie, "").encode(), self.pass_word.encode()
        )

    def in_form(self, word: str) -> bool:
        return hmac.compare_digest(word.encode(), self.form_word.encode())

    def let_in(self, response: Response) -> Response:
        response.set_cookie(self.cookie, self.pass_word, httponly=True, samesite="strict", path="/")
        return response

    def _derived(self, purpose: bytes) -> str:
        return hmac.new(self._token, purpose, hashlib.sha256).hexdigest()


class Guard:
    """Stands before the whole application. `door` is the page that asks for the token."""

    def __init__(self, app: ASGIApp, keys: Keys, door: Door, *, loopback: bool) -> None:
        self._app = app
        self._keys = keys
        self._door = door
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        answer = await self._stopped(request)
        to = answer or self._app
        await to(scope, _measured(receive), _with_headers(send))

    async def _stopped(self, request: Request) -> Response | None:
        """The answer for somebody who may not pass; None for all others."""
        if self._loopback and _name(request.headers.get("host", "")) not in _HERE:
            return PlainTextResponse(
                "This console answers to 127.0.0.1 and localhost only.", status_code=421
            )
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            return PlainTextResponse(_TOO_MUCH, status_code=413)
        if request.method not in ("GET", "HEAD") and not _own(request.headers):
            return PlainTextResponse("Sent from another site: not taken.", status_code=403)
        if request.method == "GET" and (token := request.query_params.get("token")) is not None:
            if self._keys.opens(token):
                # The token leaves the address, and with it the history.
                return self._keys.let_in(RedirectResponse(request.url.path, status_code=303))
            return await self._door(request)
        if self._keys.shown_by(request) or request.url.path.startswith("/static/"):
            return None
        return await self._door(request)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _own(headers: Headers) -> bool:
    """Whether a form was sent by a page of ours, as far as the browser tells."""
    site = headers.get("sec-fetch-site")
    if site is not None and site != "same-origin":
        return False
    origin = headers.get("origin")
    # Pages that send no referrer send no origin either, but the word `null`.
    return origin in (None, "null") or urlsplit(origin).netloc == headers.get("host")


def _name(host: str) -> str:
    return (urlsplit(f"//{host}").hostname or "").lower() if _is_plain(host) else ""


def _is_plain(host: str) -> bool:
    return bool(host) and not set(host) & set("/@?#\\ ")


def _measured(receive: Receive) -> Receive:
    """Counts what comes in: a body may come without saying how long it is."""
    taken = 0

    async def next_message() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > LARGEST_BODY:
            raise HTTPException(413, _TOO_MUCH)
        return message

    return next_message


def _with_headers(send: Send) -> Send:
    async def say(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Content-Security-Policy", CONTENT_POLICY)
        await send(message)

    return say
