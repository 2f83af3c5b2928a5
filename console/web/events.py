"""Server-sent events: the parts of a page that changed, as HTML.

One message is `{"parts": {name: {"html": …, "v": …}}}`. The version `v` changes only with the part,
so a page that has just loaded or reconnected replaces nothing needlessly. At the end of the stream
an `end` event tells the browser not to reconnect.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse

from console.errors import ConsoleError
from console.web.state import AppState

MEDIA_TYPE = "text/event-stream"
RETRY_MILLISECONDS = 2000
_POLLS_PER_COMMENT = 10
_CLOCK = re.compile(r'(<span class="clock"[^>]*>)[^<]*')


def part_version(html: str) -> str:
    """A hash without the clocks, which run in the browser."""
    return hashlib.sha256(_CLOCK.sub(r"\1", html).encode()).hexdigest()[:16]


def stream_parts(state: AppState, parts: AsyncIterator[dict[str, str]]) -> StreamingResponse:
    # A proxy must not buffer the stream.
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(_messages(state, parts), headers=headers, media_type=MEDIA_TYPE)


async def _messages(state: AppState, parts: AsyncIterator[dict[str, str]]) -> AsyncIterator[str]:
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    sent: dict[str, str] = {}
    unchanged = 0
    try:
        async for current in parts:
            if state.is_closing():
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
