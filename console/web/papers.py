"""The report of a finished job, to be read here or taken away."""

from __future__ import annotations

import asyncio
import html
import re

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from console import checks, jobs
from console.faults import BadInputError
from console.jobs import Found
from console.report import page
from console.web.rooms import Rooms
from console.web.standing import ending_of
from workflows.contracts.result import ResearchResult

_POLICY = re.compile(
    r"<meta\s+http-equiv=\"?Content-Security-Policy\"?\s+content=\"([^\"]*)\"", re.IGNORECASE
)
_TYPES = {"md": "text/markdown", "json": "application/json", "html": "text/html"}


class Papers:
    KINDS = tuple(_TYPES)

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms

    async def read(self, request: Request) -> Response:
        """The page as it is written to report.html, under the policy it carries."""
        text = await self._page(await self._result(request))
        response = HTMLResponse(text)
        if policy := _POLICY.search(text):
            # Two policies hold both: the page's own, and that nobody frames it.
            response.headers["Content-Security-Policy"] = html.unescape(policy.group(1))
            response.headers.append("Content-Security-Policy", "frame-ancestors 'none'")
        return response

    async def take(self, request: Request) -> Response:
        result, kind = await self._result(request), request.url.path.rpartition(".")[2]
        text = {
            "md": lambda: result.report_markdown.rstrip() + "\n",
            "json": lambda: result.model_dump_json(indent=2) + "\n",
        }.get(kind)
        body = await self._page(result) if text is None else await asyncio.to_thread(text)
        name = f"{result.id}.{kind}"
        return Response(
            body,
            media_type=f"{_TYPES[kind]}; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    async def _result(self, request: Request) -> ResearchResult:
        job_id = checks.job_id(request.path_params["job_id"])
        job, about = await jobs.find(self._rooms.client, job_id)
        if job.found is Found.RUNNING:
            raise BadInputError(f"The job {job_id} has no report yet: its page shows it growing.")
        ended = await ending_of(self._rooms, job, about.run_id)
        if isinstance(ended, str):
            raise BadInputError(f"The job {job_id} ended without a report: {ended}.")
        return ended

    async def _page(self, result: ResearchResult) -> str:
        return await asyncio.to_thread(page, result)
