"""The report of a finished job, as a page or as a download."""

from __future__ import annotations

import asyncio
import html
import re

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from console.client import jobs, validation
from console.client.jobs import StartState
from console.errors import BadInputError
from console.report.page import render_page
from console.web.job_snapshot import fetch_outcome
from console.web.state import AppState
from workflows.contracts.result import ResearchResult

_POLICY = re.compile(
    r"<meta\s+http-equiv=\"?Content-Security-Policy\"?\s+content=\"([^\"]*)\"", re.IGNORECASE
)
MEDIA_TYPES = {"md": "text/markdown", "json": "application/json", "html": "text/html"}


class ReportDownloads:
    def __init__(self, state: AppState) -> None:
        self._state = state

    async def show(self, request: Request) -> Response:
        """The content of report.html, under the content security policy it carries."""
        text = await asyncio.to_thread(render_page, await self._fetch_result(request))
        response = HTMLResponse(text)
        if policy := _POLICY.search(text):
            # The browser enforces both policies: the page's own, and that no site frames it.
            response.headers["Content-Security-Policy"] = html.unescape(policy.group(1))
            response.headers.append("Content-Security-Policy", "frame-ancestors 'none'")
        return response

    async def download(self, request: Request) -> Response:
        result, suffix = await self._fetch_result(request), request.url.path.rpartition(".")[2]
        render = {
            "md": lambda: result.report_markdown.rstrip() + "\n",
            "json": lambda: result.model_dump_json(indent=2) + "\n",
            "html": lambda: render_page(result),
        }[suffix]
        return Response(
            await asyncio.to_thread(render),
            media_type=f"{MEDIA_TYPES[suffix]}; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{result.id}.{suffix}"'},
        )

    async def _fetch_result(self, request: Request) -> ResearchResult:
        job_id = validation.check_job_id(request.path_params["job_id"])
        job, description = await jobs.find(self._state.client, job_id)
        if job.found is StartState.RUNNING:
            raise BadInputError(f"The job {job_id} has no report yet: its page shows its progress.")
        outcome = await fetch_outcome(self._state, job, description.run_id)
        if isinstance(outcome, str):
            raise BadInputError(f"The job {job_id} ended without a report: {outcome}.")
        return outcome
