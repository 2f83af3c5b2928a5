"""Render pages, and send the parts of a page that changed as server-sent events.

One message is `{"parts": {name: {"html": …, "v": …}}}`. The version `v` changes only with the part,
so a page that has just loaded or reconnected replaces nothing needlessly. At the end of the stream
an `end` event tells the browser not to reconnect.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi.sse import format_sse_event
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from console.errors import ConsoleError
from console.formatting import age, capitalize, clock, count, cut, duration, sentence, tone, usd
from console.report.formats import FORMATS
from console.web.state import AppState, Notice
from workflows.contracts.result import ResearchResult

HERE = Path(__file__).parent

_LABELS = {"awaiting_approval": "waits for approval", "completed": "finished"}

MAX_STREAMS = 24
"""Open pages that follow a job; each one polls the server."""
RETRY_MILLISECONDS = 2000
_POLLS_PER_COMMENT = 10
_CODE = re.compile(r"`([^`]+)`")
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
            "code": mark_code,
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

    def redirect(self, done: str, job_id: str = "") -> Response:
        """To the page of a job, or else home, where it is said what was done."""
        name = self._state.put_notice(Notice(done))
        path = f"/jobs/{quote(job_id)}" if job_id else "/"
        return RedirectResponse(f"{path}?notice={name}", status_code=303)

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


async def send_report(result: ResearchResult, suffix: str) -> Response:
    """A report as a file, never as a page: a page has a content policy of its own."""
    return Response(
        await asyncio.to_thread(FORMATS[suffix].render, result),
        media_type=FORMATS[suffix].media_type,
        headers={"Content-Disposition": f'attachment; filename="{result.id}.{suffix}"'},
    )


def format_label(status: str) -> str:
    return _LABELS.get(status, status.replace("_", " "))


def mark_code(text: str) -> Markup:
    """Messages name commands and settings in backticks."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704


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
    return EventStream(request, state, _find_changes(parts))


async def _find_changes(parts: AsyncIterator[dict[str, str]]) -> AsyncIterator[list[bytes]]:
    sent: dict[str, str] = {}
    async for current in parts:
        versions = {name: part_version(html) for name, html in current.items()}
        changed = {name: v for name, v in versions.items() if sent.get(name) != v}
        sent |= changed
        body = {name: {"html": current[name], "v": v} for name, v in changed.items()}
        yield [format_sse_event(data_str=json.dumps({"parts": body}))] if changed else []
    yield [format_sse_event(event="end", data_str="{}")]


class EventStream(StreamingResponse):
    """Server-sent events, those of one poll after the other, while their reader is signed in.

    Raises 429 where too many streams are open.
    """

    media_type = "text/event-stream"

    def __init__(
        self, request: Request, state: AppState, polls: AsyncIterator[list[bytes]]
    ) -> None:
        if state.open_streams >= MAX_STREAMS:
            raise HTTPException(429, "Too many pages and streams are open: close some.")
        state.open_streams += 1
        self._request, self._state = request, state
        # A proxy must not buffer the stream.
        super().__init__(self._send(polls), headers={"X-Accel-Buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # It is closed however it ends, also when its client has gone.
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._state.open_streams -= 1

    async def _send(self, polls: AsyncIterator[list[bytes]]) -> AsyncIterator[bytes]:
        yield format_sse_event(retry=RETRY_MILLISECONDS)
        unchanged = 0
        # The client reconnects by itself when the server is back.
        with contextlib.suppress(ConsoleError):
            async for events in polls:
                if self._state.is_closing() or not self._request.state.is_signed_in():
                    return
                for event in events:
                    yield event
                unchanged = 0 if events else unchanged + 1
                if unchanged == _POLLS_PER_COMMENT:
                    unchanged = 0
                    yield format_sse_event(comment="keep-alive")
