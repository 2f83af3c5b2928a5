"""The report of a finished job, as a page or as a download."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from console.client import jobs, validation
from console.client.jobs import StartState
from console.errors import BadInputError
from console.report.files import render_report
from console.report.page import CONTENT_POLICY, render_page
from console.web.job_snapshot import fetch_outcome
from console.web.state import AppState
from workflows.contracts.result import ResearchResult

MEDIA_TYPES = {"md": "text/markdown", "json": "application/json", "html": "text/html"}


class ReportDownloads:
    def __init__(self, state: AppState) -> None:
        self._state = state

    async def show(self, request: Request) -> Response:
        """The content of report.html, under its own content security policy."""
        text = await asyncio.to_thread(render_page, await self._fetch_result(request))
        policy = f"{CONTENT_POLICY}; frame-ancestors 'none'"
        return HTMLResponse(text, headers={"Content-Security-Policy": policy})

    async def download(self, request: Request) -> Response:
        result, suffix = await self._fetch_result(request), request.url.path.rpartition(".")[2]
        return Response(
            await asyncio.to_thread(render_report, result, suffix),
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
