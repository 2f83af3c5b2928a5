"""Server-sent events: parts of a page, rendered here, sent when they changed.

One message is `{"parts": {name: {"html": …, "v": …}}}`; `v` is the same as long as the part is, so
a page that was just loaded, or has just come back, replaces nothing in vain. A stream that is at
its end says so, and the browser does not come back.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse

from console.errors import ConsoleError
from console.web.state import Rooms

MEDIA_TYPE = "text/event-stream"
RETRY_MILLISECONDS = 2000
_QUIET_LOOKS = 10
_CLOCK = re.compile(r'(<span class="clock"[^>]*>)[^<]*')


def version(html: str) -> str:
    """What tells a part from another. A clock goes on by itself in the browser: it is no news."""
    return hashlib.sha256(_CLOCK.sub(r"\1", html).encode()).hexdigest()[:16]


def stream(rooms: Rooms, parts: AsyncIterator[dict[str, str] | None]) -> StreamingResponse:
    """The parts as they come; None is a look without news, and the end is the end."""
    # A proxy that gathers an answer before it passes it on would pass on nothing.
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(_messages(rooms, parts), headers=headers, media_type=MEDIA_TYPE)


async def _messages(
    rooms: Rooms, parts: AsyncIterator[dict[str, str] | None]
) -> AsyncIterator[str]:
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    known: dict[str, str] = {}
    quiet = 0
    try:
        async for found in parts:
            if rooms.closing():
                return
            versions = {name: version(html) for name, html in (found or {}).items()}
            news = {name: v for name, v in versions.items() if known.get(name) != v}
            known |= news
            if news and found is not None:
                body = {name: {"html": found[name], "v": v} for name, v in news.items()}
                yield f"data: {json.dumps({'parts': body})}\n\n"
            quiet = 0 if news else quiet + 1
            if quiet == _QUIET_LOOKS:
                quiet = 0
                yield ": still here\n\n"
        yield "event: end\ndata: {}\n\n"
    except ConsoleError:
        # The browser comes back by itself, and by then the server may be there again.
        return
