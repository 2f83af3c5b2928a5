"""Access control and security headers, before the whole application.

Every request must prove who sends it. A program sends the token in the header `Authorization:
Bearer`. A browser sends it once, in the URL or on the sign-in page, then a cookie that scripts
cannot read and other sites cannot send. The person is in `request.state.person`. Besides that:

    host        on loopback, only requests to loopback names are answered (DNS rebinding)
    origin      forms of other sites are rejected, and each form carries a CSRF token
    size, time  a body over the limit, or one that takes too long, is not read
    form        what cannot be read at all is answered with 400
    API         under `/api/` and `/mcp` refusals are problem+json (RFC 9457) instead of pages
    redirects   only to a path of this console
    headers     no foreign script, style, frame or referrer; nothing is cached
"""

from __future__ import annotations

import asyncio
import hmac
import math
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Network
from typing import TypeVar
from urllib.parse import urlsplit

from cachetools import LRUCache, TTLCache
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from console.client.audit import Actor, AuditLog, act_as
from console.web.people import People, Person, SignIn
from console.web.problems import render_problem

MAX_BODY_BYTES = 1_000_000
BODY_SECONDS = 20.0
"""How long a body may take to arrive."""
MAX_UPLOAD_BYTES = 210_000_000
"""Of a request that uploads documents: what an upload may hold, and the parts' headers."""
UPLOAD_SECONDS = 900.0
MIN_TOKEN_LENGTH = 16
SESSION_SECONDS = 12 * 3600
"""How long a browser stays signed in."""
MAX_SESSIONS = 10_000
SHARED_PATH = "/shared/"

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
_UPLOAD = re.compile(r"/api/v1/corpora/[^/]+/files")
_LENGTH = re.compile(r"[0-9]{1,12}")
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

Found = TypeVar("Found")


class Lockout:
    """Wrong tokens from one address: after a few, each further one makes it wait twice as long.

    What is sent while an address waits is not looked at and does not lengthen the wait, which has
    an upper limit. A token that was right from this address before is always looked at, so that
    nobody can lock out those who are already at work there. Only so many addresses are remembered.
    """

    FREE = 5
    FIRST_SECONDS = 1.0
    MAX_SECONDS = 15 * 60.0
    FORGET_SECONDS = 3600.0
    MAX_ADDRESSES = 10_000

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._wrong: TTLCache[str, tuple[int, float]] = TTLCache(
            self.MAX_ADDRESSES, self.FORGET_SECONDS, clock
        )
        self._right: LRUCache[bytes, None] = LRUCache(self.MAX_ADDRESSES)

    def seconds_left(self, address: str, token: str) -> float:
        """How long this address has to wait before this token is looked at."""
        if self._name(address, token) in self._right:
            return 0.0
        _, until = self._wrong.get(address, (0, 0.0))
        return max(0.0, until - self._clock())

    def record(self, address: str, token: str, *, is_right: bool) -> None:
        if is_right:
            self._right[self._name(address, token)] = None
            return
        count = self._wrong.get(address, (0, 0.0))[0] + 1
        # The exponent is bounded: a float has no room for thousands of doublings.
        wait = self.FIRST_SECONDS * 2 ** min(count - self.FREE, 30) if count > self.FREE else 0.0
        self._wrong[address] = count, self._clock() + min(wait, self.MAX_SECONDS)

    def _name(self, address: str, token: str) -> bytes:
        return hmac.digest(self._key, f"{address} {token}".encode(), "sha256")


@dataclass(frozen=True)
class BrowserSession:
    sign_in: SignIn
    csrf_token: str


class Authenticator:
    """Finds the person of a token or of a browser's session, and records failed attempts."""

    def __init__(self, people: People, log: AuditLog, port: int) -> None:
        self._people = people
        self.log = log
        # Cookies ignore ports: two consoles on one machine need two names.
        self.cookie = f"research_console_{port}"
        self._sessions: TTLCache[str, BrowserSession] = TTLCache(MAX_SESSIONS, SESSION_SECONDS)
        self._lockout = Lockout()

    def check_token(self, request: Request, token: str) -> SignIn | None:
        """The person whose token it is. Raises 429 while the address has to wait."""
        return self.check_secret(request, token, self._people.authenticate, "sign in")

    def check_secret(
        self, request: Request, secret: str, find: Callable[[str], Found | None], act: str
    ) -> Found | None:
        """What the secret opens. Raises 429 while the address has to wait."""
        address = _network(find_address(request))
        if wait := self._lockout.seconds_left(address, secret):
            raise HTTPException(
                429,
                "Too many wrong tokens came from this address: try again later.",
                {"Retry-After": str(math.ceil(wait))},
            )
        found = find(secret)
        self._lockout.record(address, secret, is_right=found is not None)
        if found is None:
            self.record(request, None, act, "refused: wrong token")
        return found

    def find_session(self, request: Request) -> BrowserSession | None:
        return self._sessions.get(request.cookies.get(self.cookie, ""))

    def accept(self, request: Request, sign_in: SignIn, csrf_token: str | None) -> bool:
        """Let the request through as this person; False if their token has ended."""
        person = self._people.renew(sign_in)
        if person is None:
            return False
        request.state.person, request.state.csrf_token = person, csrf_token
        # A stream that lasts asks this again and again.
        request.state.is_signed_in = lambda: self._is_current(request, sign_in, csrf_token)
        request.state.actor = person.as_actor(find_address(request), self.log)
        act_as(request.state.actor)
        return True

    def _is_current(self, request: Request, sign_in: SignIn, csrf_token: str | None) -> bool:
        has_session = csrf_token is None or self.find_session(request) is not None
        return has_session and self._people.renew(sign_in) is not None

    def open_session(self, request: Request, sign_in: SignIn, response: Response) -> Response:
        """Set the cookie of a new session: a random name that means something only here."""
        name = secrets.token_urlsafe(32)
        self._sessions[name] = BrowserSession(sign_in, secrets.token_hex(32))
        response.set_cookie(
            self.cookie,
            name,
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.scope["scheme"] == "https",
            path="/",
        )
        self.record(request, sign_in.person, "sign in")
        return response

    def close_session(self, request: Request, response: Response) -> Response:
        self._sessions.pop(request.cookies.get(self.cookie, ""), None)
        response.delete_cookie(self.cookie, path="/")
        self.record(request, request.state.person, "sign out")
        return response

    def record(
        self, request: Request, person: Person | None, act: str, outcome: str = "done"
    ) -> None:
        """Write what happened at the door into the audit log."""
        address = find_address(request)
        unknown = Actor(address=address, log=self.log)
        actor = person.as_actor(address, self.log) if person else unknown
        actor.record(act, outcome=outcome)


class AuthMiddleware:
    """Passes authenticated requests on; answers others itself or with the sign-in page."""

    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        sign_in_page: Callable[[Request], Awaitable[Response]],
        *,
        loopback: bool,
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._sign_in_page = sign_in_page
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        most_bytes, seconds = _find_limits(scope)
        receive = _limit_body(receive, most_bytes, seconds)
        request = Request(scope, receive)
        try:
            response = await self._reject(request)
        except HTTPException as error:
            response = refuse(request, error.status_code, error.detail, error.headers)
        except (ValueError, MultiPartException):
            # A host, an origin or a form that cannot be parsed.
            response = refuse(request, 400, "The request cannot be read.")
        await (response or self._app)(scope, receive, _add_headers(send))

    async def _reject(self, request: Request) -> Response | None:
        """The response to a request that may not pass; None for all others."""
        if self._loopback and _host_name(request.headers.get("host", "")) not in _LOOPBACK_NAMES:
            return refuse(request, 421, "This console answers to 127.0.0.1 and localhost only.")
        length = request.headers.get("content-length", "0")
        most_bytes, _ = _find_limits(request.scope)
        if not _LENGTH.fullmatch(length) or int(length) > most_bytes:
            return refuse(request, 413, _describe_limit(most_bytes))
        if (bearer := _read_bearer(request.headers)) is not None:
            # No page of another site can send this header: neither origin nor CSRF token is needed.
            found = self._authenticator.check_token(request, bearer)
            if found and self._authenticator.accept(request, found, None):
                return None
            return refuse(request, 401, "The token is wrong.")
        if request.method not in ("GET", "HEAD") and not _is_same_origin(request.headers):
            return refuse(request, 403, "Rejected: sent from another site.")
        if request.method == "GET" and (token := request.query_params.get("token")) is not None:
            if found := self._authenticator.check_token(request, token):
                # The redirect removes the token from the URL and the browser's history.
                # A path of two slashes would name another host.
                path = "/" + scope_path(request).lstrip("/\\")
                redirect = RedirectResponse(path, status_code=303)
                return self._authenticator.open_session(request, found, redirect)
            return await self._sign_in_page(request)
        session = self._authenticator.find_session(request)
        if session and self._authenticator.accept(request, session.sign_in, session.csrf_token):
            return None
        # A shared report checks the secret in its address.
        if scope_path(request).startswith(("/static/", SHARED_PATH)):
            return None
        if is_api(request):
            return refuse(request, 401, "Send a token in the header Authorization: Bearer TOKEN.")
        return await self._sign_in_page(request)


def find_address(request: Request) -> str:
    return request.client.host if request.client else ""


def _network(address: str) -> str:
    """An IPv6 address as its /64: one machine has all addresses of one."""
    return str(IPv6Network((address, 64), strict=False)) if ":" in address else address


def is_api(request: Request) -> bool:
    return f"{scope_path(request)}/".startswith(("/api/", "/mcp/"))


def refuse(
    request: Request, status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The refusal in one sentence: problem+json for programs, text for browsers."""
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else headers
    if not is_api(request):
        return PlainTextResponse(detail, status, headers)
    return render_problem(status, detail, headers=headers)


def check_csrf(request: Request, sent: str) -> None:
    """Raises 403 for a form that no page of this session sent; a bearer token needs none."""
    expected: str | None = request.state.csrf_token
    if expected is not None and not hmac.compare_digest(sent.encode(), expected.encode()):
        raise HTTPException(403, "This form has expired: open its page again.")


def _read_bearer(headers: Headers) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _is_same_origin(headers: Headers) -> bool:
    """Whether a page of this console sent the form, as far as the browser says."""
    site = headers.get("sec-fetch-site")
    if site is not None and site != "same-origin":
        return False
    origin = headers.get("origin")
    # A page without a referrer sends the origin `null`.
    return origin in (None, "null") or urlsplit(origin).netloc == headers.get("host")


def _host_name(host: str) -> str:
    if not host or set(host) & set("/@?#\\ "):
        return ""
    return (urlsplit(f"//{host}").hostname or "").lower()


def scope_path(request: Request) -> str:
    """The path as it was sent; `request.url` would also parse the host."""
    path: str = request.scope["path"]
    return path


def _find_limits(scope: Scope) -> tuple[int, float]:
    """How many bytes a body may have, and how many seconds it may take."""
    kind = Headers(scope=scope).get("content-type", "")
    starts_job = (scope["method"], scope["path"]) == ("POST", "/")
    if _UPLOAD.fullmatch(scope["path"]) or (starts_job and kind.startswith("multipart/form-data")):
        return MAX_UPLOAD_BYTES, UPLOAD_SECONDS
    return MAX_BODY_BYTES, BODY_SECONDS


def _describe_limit(most_bytes: int) -> str:
    return f"The request is too large: at most {most_bytes:,} bytes are accepted."


def _limit_body(receive: Receive, most_bytes: int, seconds: float) -> Receive:
    """Count the bytes and the seconds: a body may come without a length, and slowly."""
    received, ended = 0, False
    deadline = asyncio.get_running_loop().time() + seconds

    async def receive_limited() -> Message:
        nonlocal received, ended
        try:
            async with asyncio.timeout_at(None if ended else deadline):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, "The request took too long to arrive.") from None
        received += len(message.get("body", b""))
        # After the body, only the end of the connection is awaited.
        ended = ended or not message.get("more_body", False)
        if received > most_bytes:
            raise HTTPException(413, _describe_limit(most_bytes))
        return message

    return receive_limited


def _add_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Content-Security-Policy", CONTENT_POLICY)
        await send(message)

    return send_with_headers
