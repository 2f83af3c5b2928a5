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
import hashlib
import hmac
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from console.web.people import Person, Role

MAX_BODY_BYTES = 1_000_000
BODY_SECONDS = 20.0
"""How long a body may take to arrive."""
MAX_UPLOAD_BYTES = 210_000_000
"""Of a request that uploads documents: what an upload may hold, and the parts' headers."""
UPLOAD_SECONDS = 900.0
MIN_TOKEN_LENGTH = 16
API_PATHS = ("/api", "/mcp")

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
_TOO_SLOW = "The request took too long to arrive."
_LENGTH = re.compile(r"[0-9]{1,12}")
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class Credentials:
    """The access token, and the cookie value and CSRF token derived from it."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token.encode()
        self._person = Person("console", Role.ADMIN)
        # Cookies ignore ports: two consoles on one machine need two names.
        self.cookie = f"research_console_{port}"
        self.cookie_value = self._derive(b"cookie")
        self.csrf_token = self._derive(b"form")

    def find_person(self, token: str) -> Person | None:
        """The person whose token it is."""
        return self._person if hmac.compare_digest(token.strip().encode(), self._token) else None

    def find_signed_in(self, request: Request) -> Person | None:
        """The person whose cookie the request has."""
        sent = request.cookies.get(self.cookie, "")
        is_right = hmac.compare_digest(sent.encode(), self.cookie_value.encode())
        return self._person if is_right else None

    def sign_in(self, response: Response) -> Response:
        response.set_cookie(
            self.cookie, self.cookie_value, httponly=True, samesite="strict", path="/"
        )
        return response

    def _derive(self, purpose: bytes) -> str:
        return hmac.new(self._token, purpose, hashlib.sha256).hexdigest()


class AuthMiddleware:
    """Passes authenticated requests on; answers others itself or with the sign-in page."""

    def __init__(
        self,
        app: ASGIApp,
        credentials: Credentials,
        sign_in_page: Callable[[Request], Awaitable[Response]],
        *,
        loopback: bool,
    ) -> None:
        self._app = app
        self._credentials = credentials
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
            response = refuse(request, error.status_code, error.detail)
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
            if person := self._credentials.find_person(bearer):
                request.state.person, request.state.csrf_token = person, None
                return None
            return refuse(request, 401, "The token is wrong.")
        if request.method not in ("GET", "HEAD") and not _is_same_origin(request.headers):
            return refuse(request, 403, "Rejected: sent from another site.")
        if request.method == "GET" and (token := request.query_params.get("token")) is not None:
            if self._credentials.find_person(token):
                # The redirect removes the token from the URL and the browser's history.
                # A path of two slashes would name another host.
                path = "/" + scope_path(request).lstrip("/\\")
                return self._credentials.sign_in(RedirectResponse(path, status_code=303))
            return await self._sign_in_page(request)
        if person := self._credentials.find_signed_in(request):
            request.state.person = person
            request.state.csrf_token = self._credentials.csrf_token
            return None
        if scope_path(request).startswith("/static/"):
            return None
        if is_api(request):
            return refuse(request, 401, "Send a token in the header Authorization: Bearer TOKEN.")
        return await self._sign_in_page(request)


def is_api(request: Request) -> bool:
    path = scope_path(request)
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in API_PATHS)


def refuse(request: Request, status: int, detail: str) -> Response:
    """The refusal in one sentence: problem+json for programs, text for browsers."""
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    if not is_api(request):
        return PlainTextResponse(detail, status, headers)
    problem = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status,
               "detail": detail}  # fmt: skip
    return JSONResponse(problem, status, headers, media_type="application/problem+json")


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
    if _UPLOAD.fullmatch(scope["path"]):
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
            raise HTTPException(408, _TOO_SLOW) from None
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
