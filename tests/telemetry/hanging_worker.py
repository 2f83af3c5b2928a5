"""A real worker whose model fails once, and falls silent at its second research turn.

It tells of the silence with a file. The failure is told in words that hold what was asked.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import httpx2

import worker
from activities.context import ActivityContext
from activities.offline.transport import SKILLS, OfflineTransport
from workflows.config.settings import Settings

_build = worker.build_context


class Silent(httpx2.AsyncBaseTransport):
    def __init__(self, sign: Path) -> None:
        self._sign = sign
        self._offline = OfflineTransport(SKILLS)
        self._has_failed = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(await request.aread())
        title = body["output_config"]["format"]["schema"]["title"]
        if not self._has_failed:
            self._has_failed = True
            told = {"type": "api_error", "message": "no answer about the Vexholm ferry"}
            return httpx2.Response(500, json={"type": "error", "error": told})
        if title == "ResearchAnswer" and len(body["messages"]) > 1:
            await asyncio.to_thread(self._sign.touch)
            await asyncio.Event().wait()
        return await self._offline.handle_async_request(request)


def build_context(settings: Settings) -> ActivityContext:
    return _build(settings, Silent(Path(os.environ["SIGN"])))


if __name__ == "__main__":
    worker.build_context = build_context  # type: ignore[assignment]
    asyncio.run(worker.main())
