"""A job's page, and the same page as it changes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response

from console.web import forms
from console.web.events import stream, version
from console.web.forms import Typed
from console.web.job_snapshot import Standing, standing
from console.web.job_view import Shown, shown
from console.web.rendering import Pages
from console.web.state import Notice, Rooms

LIVE_PARTS = ("glance", "facets", "gaps", "contested", "checkpoints", "remarks", "actions")
"""The parts of the page that change. The last one holds forms, and is not replaced under a hand."""

_LOOK_SECONDS = 1.0
# Several people, or tabs, who look at one job cost no more than one.
_SHARED_SECONDS = 0.7


class JobPage:
    def __init__(self, rooms: Rooms, pages: Pages) -> None:
        self._rooms = rooms
        self._pages = pages
        self._looks: dict[str, tuple[float, asyncio.Future[Standing]]] = {}

    async def show(self, request: Request) -> Response:
        return await self.page(request, request.path_params["job_id"])

    async def page(
        self,
        request: Request,
        job_id: str,
        typed: Typed | None = None,
        notice: Notice | None = None,
        status: int = 200,
    ) -> Response:
        job = shown(await standing(self._rooms, job_id))
        # What was typed is no news: the form stays as it is while the job does.
        plain = self._parts(job)
        parts = self._parts(job, typed) if typed else plain
        return self._pages.answer(
            request,
            "job.html",
            status,
            notice,
            job=job,
            parts={name: (html, version(plain[name])) for name, html in parts.items()},
            typed=typed,
        )

    async def events(self, request: Request) -> Response:
        job_id = request.path_params["job_id"]
        await standing(self._rooms, job_id)  # one that is not there is not streamed

        async def parts() -> AsyncIterator[dict[str, str] | None]:
            while True:
                job = shown(await self._look(job_id))
                yield self._parts(job)
                if not job.going:
                    return
                await self._rooms.pause(_LOOK_SECONDS)

        return stream(self._rooms, parts())

    def _parts(self, job: Shown, typed: Typed | None = None) -> dict[str, str]:
        if typed is None:
            typed = Typed(forms.plan_fields(job.plan) if job.plan else {})
        places = len(job.plan.facets) + forms.NEW_FACETS if job.plan else 0
        return {
            name: self._pages.part(name, job=job, typed=typed, places=places) for name in LIVE_PARTS
        }

    async def _look(self, job_id: str) -> Standing:
        known = self._looks.get(job_id)
        if known is None or time.monotonic() - known[0] > _SHARED_SECONDS:
            asked = asyncio.ensure_future(standing(self._rooms, job_id))
            self._looks[job_id] = known = (time.monotonic(), asked)
            asked.add_done_callback(_retrieved)
            for old in [name for name, (at, _) in self._looks.items() if at < known[0] - 60]:
                del self._looks[old]
        # Who leaves must not take the answer from the others.
        return await asyncio.shield(known[1])


def _retrieved(asked: asyncio.Future[Standing]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        asked.exception()
