"""Render pages, and send the parts of a page that changed as server-sent events.

One message is `{"parts": {name: {"html": …, "v": …}}}`. The version `v` changes only with the part,
so a page that has just loaded or reconnected replaces nothing needlessly. At the end of the stream
an `end` event tells the browser not to reconnect.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from console.errors import ConsoleError
from console.formatting import age, capitalize, clock, count, cut, duration, sentence, tone, usd
from console.report.formats import FORMATS
from console.web.state import AppState, Notice

HERE = Path(__file__).parent

_LABELS = {"awaiting_approval": "waits for approval", "completed": "finished"}

MAX_STREAMS = 24
"""Open pages that follow a job; each one polls the server."""
RETRY_MILLISECONDS = 2000
_POLLS_PER_COMMENT = 10
_CLOCK = re.compile(r'(<span class="clock"[^>]*>)[^<]*')


class Templates:
    def __init__(self, state: AppState) -> None:
        self._state = state
        self._jinja = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._jinja.filters |= {
            "usd": usd,
            "ago": format_age,
            "clock": clock,
            "time": format_time,
            "day": lambda seconds: format_time(datetime.fromtimestamp(seconds, UTC)),
            "label": format_label,
            "tone": tone,
            "count": count,
            "cut": cut,
            "sentence": sentence,
            "capitalize": capitalize,
            "duration": duration,
        }
        self._jinja.globals |= {"state": state, "formats": FORMATS.values()}

    def render(
        self,
        request: Request,
        name: str,
        status: int = 200,
        notice: Notice | None = None,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> HTMLResponse:
        notice = notice or self._state.pop_notice(request.query_params.get("notice"))
        text = self._render(request, name, {"notice": notice, **values})
        return HTMLResponse(text, status, headers)

    def render_part(self, request: Request, name: str, **values: Any) -> str:
        return self._render(request, f"parts/{name}.html", values)

    def _render(self, request: Request, name: str, values: Mapping[str, Any]) -> str:
        """Every page knows who looks at it; nobody is signed in on the sign-in page."""
        known = {
            "now": datetime.now(UTC),
            "person": getattr(request.state, "person", None),
            "csrf_token": getattr(request.state, "csrf_token", None) or "",
        }
        return self._jinja.get_template(name).render(known | dict(values))


def format_label(status: str) -> str:
    return _LABELS.get(status, status.replace("_", " "))


def parse_time(stamp: str | datetime | None) -> datetime | None:
    if stamp is None or isinstance(stamp, datetime):
        return stamp
    try:
        found = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def format_age(stamp: str | datetime | None) -> str:
    at = parse_time(stamp)
    return f"{age((datetime.now(UTC) - at).total_seconds())} ago" if at else ""


def format_time(stamp: str | datetime | None) -> str:
    at = parse_time(stamp)
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if at else ""


def part_version(html: str) -> str:
    """A hash without the clocks, which run in the browser."""
    return hashlib.sha256(_CLOCK.sub(r"\1", html).encode()).hexdigest()[:16]


def stream_parts(
    request: Request, state: AppState, parts: AsyncIterator[dict[str, str]]
) -> Response:
    return EventStream(state, _messages(request, state, parts))


class EventStream(StreamingResponse):
    """Counts itself as closed however it ends, also when its client has gone.

    Raises 429 where too many are open.
    """

    media_type = "text/event-stream"

    def __init__(self, state: AppState, messages: AsyncIterator[str]) -> None:
        if state.open_streams >= MAX_STREAMS:
            raise HTTPException(429, "Too many pages and streams are open: close some.")
        state.open_streams += 1
        # A proxy must not buffer the stream.
        super().__init__(messages, headers={"X-Accel-Buffering": "no"})
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._state.open_streams -= 1


async def _messages(
    request: Request, state: AppState, parts: AsyncIterator[dict[str, str]]
) -> AsyncIterator[str]:
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    sent: dict[str, str] = {}
    unchanged = 0
    try:
        async for current in parts:
            if state.is_closing() or not request.state.is_signed_in():
                return
            versions = {name: part_version(html) for name, html in current.items()}
            changed = {name: v for name, v in versions.items() if sent.get(name) != v}
            sent |= changed
            if changed:
                body = {name: {"html": current[name], "v": v} for name, v in changed.items()}
                yield f"data: {json.dumps({'parts': body})}\n\n"
            unchanged = 0 if changed else unchanged + 1
            if unchanged == _POLLS_PER_COMMENT:
                unchanged = 0
                yield ": keep-alive\n\n"
        yield "event: end\ndata: {}\n\n"
    except ConsoleError:
        # The browser reconnects by itself when the server is back.
        return
