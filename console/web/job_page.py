"""The page of a job, the stream of its changes, and the report of a finished one."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from console.client import jobs, validation
from console.client.asking import load_report
from console.client.jobs import StartState
from console.errors import BadInputError
from console.report.formats import FORMATS
from console.report.page import FORM_POLICY, render_page
from console.web import forms
from console.web.forms import FormValues
from console.web.job_snapshot import JobSnapshot, fetch_outcome, load_snapshot
from console.web.job_view import JobView, build_view
from console.web.rendering import Templates, part_version, stream_parts
from console.web.state import AppState, Notice
from workflows.contracts.result import ResearchResult

LIVE_PARTS = ("glance", "facets", "gaps", "contested", "checkpoints", "remarks", "actions")
"""The parts that change. `actions` has forms and is not replaced while somebody types."""

_POLL_SECONDS = 1.0
# Several viewers of one job share a snapshot.
_SHARED_SECONDS = 0.7


class JobPage:
    def __init__(self, state: AppState, templates: Templates) -> None:
        self._state = state
        self._templates = templates
        self._snapshots: dict[str, tuple[float, asyncio.Future[JobSnapshot]]] = {}

    async def show(self, request: Request) -> Response:
        return await self.render(request, request.path_params["job_id"])

    async def render(
        self,
        request: Request,
        job_id: str,
        form: FormValues | None = None,
        notice: Notice | None = None,
        status: int = 200,
    ) -> Response:
        job = build_view(await load_snapshot(self._state, job_id), request.state.person)
        # The versions ignore typed values: the form stays while the job does not change.
        unfilled = self._render_parts(request, job)
        parts = self._render_parts(request, job, form) if form else unfilled
        return self._templates.render(
            request,
            "job.html",
            status,
            notice,
            job=job,
            parts={name: (html, part_version(unfilled[name])) for name, html in parts.items()},
            form=form,
        )

    async def stream(self, request: Request) -> Response:
        job_id = request.path_params["job_id"]
        await load_snapshot(self._state, job_id)  # raises for an unknown job

        async def parts() -> AsyncIterator[dict[str, str]]:
            while True:
                job = build_view(await self._share_snapshot(job_id), request.state.person)
                yield self._render_parts(request, job)
                if not job.is_open:
                    return
                await self._state.sleep(_POLL_SECONDS)

        return stream_parts(request, self._state, parts())

    def _render_parts(
        self, request: Request, job: JobView, form: FormValues | None = None
    ) -> dict[str, str]:
        if form is None:
            form = FormValues(forms.plan_fields(job.plan) if job.plan else {})
        rows = len(job.plan.facets) + forms.NEW_FACETS if job.plan else 0
        return {
            name: self._templates.render_part(request, name, job=job, form=form, rows=rows)
            for name in LIVE_PARTS
        }

    async def _share_snapshot(self, job_id: str) -> JobSnapshot:
        known = self._snapshots.get(job_id)
        if known is None or time.monotonic() - known[0] > _SHARED_SECONDS:
            loading = asyncio.ensure_future(load_snapshot(self._state, job_id))
            self._snapshots[job_id] = known = (time.monotonic(), loading)
            loading.add_done_callback(_retrieve_exception)
            for old in [name for name, (at, _) in self._snapshots.items() if at < known[0] - 60]:
                del self._snapshots[old]
        # A viewer that disconnects must not cancel the snapshot of the others.
        return await asyncio.shield(known[1])


def _retrieve_exception(loading: asyncio.Future[JobSnapshot]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        loading.exception()


class ReportDownloads:
    def __init__(self, state: AppState, templates: Templates) -> None:
        self._state = state
        self._templates = templates

    async def show(self, request: Request) -> Response:
        """The content of report.html with a way back and a box for questions."""
        result = await self._fetch_result(request)
        box = ""
        if request.state.person.may("ask"):
            box = self._templates.render_part(
                request, "ask_box", job_id=result.id, version=result.version
            )
        back = f"/jobs/{quote(result.id, safe='')}"
        text = await asyncio.to_thread(render_page, result, back, box=Markup(box))  # noqa: S704
        policy = f"{FORM_POLICY}; frame-ancestors 'none'"
        return HTMLResponse(text, headers={"Content-Security-Policy": policy})

    async def download(self, request: Request) -> Response:
        result = await self._fetch_result(request)
        suffix = request.url.path.rpartition("/report.")[2]
        return Response(
            await asyncio.to_thread(FORMATS[suffix].render, result),
            media_type=FORMATS[suffix].media_type,
            headers={"Content-Disposition": f'attachment; filename="{result.id}.{suffix}"'},
        )

    async def _fetch_result(self, request: Request) -> ResearchResult:
        job_id = validation.check_job_id(request.path_params["job_id"])
        if version := request.query_params.get("version"):
            return await load_report(self._state.session, f"{job_id}@{version}")
        job, description = await jobs.find(self._state.client, job_id)
        if job.found is StartState.RUNNING:
            raise BadInputError(f"The job {job_id} has no report yet: its page shows its progress.")
        outcome = await fetch_outcome(self._state, job, description.run_id)
        if isinstance(outcome, str):
            raise BadInputError(f"The job {job_id} ended without a report: {outcome}.")
        return outcome
