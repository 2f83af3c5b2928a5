"""The home page: a form for a new job, and the list of jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from console.client import corpora, jobs, runs
from console.client.job_list import WAITING_STATES, JobRecord, list_last_runs, read_blocked
from console.client.job_options import new_job_id
from console.client.jobs import Job, StartState
from console.client.research_request import DEFAULT_BUDGET_USD, build_request, describe_budget
from console.errors import BadInputError, ConsoleError
from console.web import forms
from console.web.forms import FormValues, name_fields
from console.web.job_snapshot import fetch_outcome, fetch_request, load_last_state
from console.web.people import ACTIONS, require
from console.web.rendering import Templates, stream_parts
from console.web.state import AppState, Notice
from workflows.config.model_catalog import MIXED, MODELS
from workflows.contracts.facets import Effort
from workflows.contracts.request import OFFLINE
from workflows.contracts.result import ResearchResult
from workflows.contracts.state import Blocked

if TYPE_CHECKING:
    from temporalio.client import WorkflowExecution

FILTERS = {
    "": "All",
    "running": "Running",
    "awaiting_approval": "Awaiting approval",
    "blocked": "Blocked",
    "failed": "Failed",
    "completed": "Finished",
}
MODEL_NAMES = [OFFLINE, MIXED, *(name for name in MODELS if name != OFFLINE)]
MAX_ROWS = 60
_FAILED_STATES = ("failed", "terminated", "timed_out", "cancelled")
_REPORT_LABELS = {"complete_with_gaps": "with gaps", "nothing_found": "nothing found"}
_CONCURRENT_ROWS = 12
# Enough to find the newest; a server may have a hundred thousand runs.
_MAX_RUNS = 1000
_POLL_SECONDS = 2.5
_START_NOTICES = {
    StartState.RESTARTED: "A job of this name had ended; it is restarted.",
    StartState.RUNNING: "This job with the same name and question is already running.",
    StartState.FINISHED: "This job with the same name and question is already finished.",
}


@dataclass(frozen=True)
class JobRow:
    id: str
    state: str
    phase: str
    started: str
    question: str = ""
    usd: float | None = None
    budget_usd: float | None = None
    blocked: Blocked | None = None
    reason: str = ""
    """Why it ended without a report."""
    report: str = ""
    """What the report lacks."""


class HomePage:
    def __init__(self, state: AppState, templates: Templates) -> None:
        self._state = state
        self._templates = templates
        self._limit = asyncio.Semaphore(_CONCURRENT_ROWS)

    async def show(self, request: Request) -> Response:
        form = FormValues({"effort": Effort.STANDARD.value, "corpus": "", "approve": "yes"})
        return await self._render(request, form)

    async def start_job(self, request: Request) -> Response:
        require(request, ACTIONS["start"])
        state, form = self._state, await forms.read_form(request)
        options = await asyncio.to_thread(forms.parse_job, form, state.settings)
        if form["corpus"].strip() and not state.is_local and not state.settings.corpora:
            form.errors["corpus"] = (
                "This console can be reached from other machines and reads no folder it was not"
                " told of: set RESEARCH_CORPORA where it is started."
            )
            options = None
        if options is None:
            notice = Notice("Nothing was started: see the messages beside the fields.", "bad")
            return await self._render(request, form, status=400, notice=notice)
        research = await asyncio.to_thread(build_request, options, state.settings)
        job_id = form["id"].strip() or new_job_id()
        try:
            research = await corpora.publish_for(research, state.settings)
        except BadInputError as error:
            form.errors["corpus"] = name_fields(str(error))
            return await self._render(request, form, status=400)
        try:
            job, _ = await runs.begin(state.client, state.checkpoints, job_id, research)
        except BadInputError as error:
            form.errors["id"] = name_fields(str(error))
            return await self._render(request, form, status=400)
        if job.found is not StartState.FINISHED:
            state.start_worker(job.id)
        text = _START_NOTICES.get(
            job.found, f"Started. {describe_budget(research, by_default=False)}"
        )
        name = state.put_notice(Notice(text))
        return RedirectResponse(f"/jobs/{job.id}?notice={name}", status_code=303)

    async def stream(self, request: Request) -> Response:
        only = _read_filter(request)

        async def parts() -> AsyncIterator[dict[str, str]]:
            while True:
                rows, more = await self._load_rows(only)
                html = self._templates.render_part(request, "jobs", rows=rows, more=more, only=only)
                yield {"jobs": html}
                await self._state.sleep(_POLL_SECONDS)

        return stream_parts(request, self._state, parts())

    async def _render(
        self, request: Request, form: FormValues, status: int = 200, notice: Notice | None = None
    ) -> Response:
        only = _read_filter(request)
        rows, more = await self._load_rows(only)
        return self._templates.render(
            request,
            "home.html",
            status,
            notice,
            form=form,
            rows=rows,
            more=more,
            only=only,
            filters=FILTERS,
            efforts=[(effort.value, DEFAULT_BUDGET_USD[effort]) for effort in Effort],
            models=MODEL_NAMES,
            default_model=self._state.settings.default_model,
            corpora=self._state.settings.corpora,
        )

    async def _load_rows(self, only: str) -> tuple[list[JobRow], int]:
        """Jobs that wait for a person, then the newest; and how many more there are."""
        found = await list_last_runs(self._state.client, only or None, _MAX_RUNS)
        records = [(run, JobRecord.of(run)) for run in found]
        records.sort(key=lambda pair: pair[1].state not in WAITING_STATES)
        wanted = [pair for pair in records if _matches(pair[1].state, only)]
        rows = await asyncio.gather(*(self._load_row(*pair) for pair in wanted[:MAX_ROWS]))
        return list(rows), max(0, len(wanted) - MAX_ROWS)

    async def _load_row(self, run: WorkflowExecution, record: JobRecord) -> JobRow:
        blocked = await read_blocked(run)
        row = JobRow(run.id, record.state, record.phase, record.started, blocked=blocked)
        async with self._limit:
            try:
                return await self._fill_row(run, row)
            except ConsoleError as error:
                return replace(row, reason=name_fields(str(error)))

    async def _fill_row(self, run: WorkflowExecution, row: JobRow) -> JobRow:
        """Add the question, the cost, and why the job ended."""
        state = self._state
        request = await fetch_request(state, run.id, run.run_id)
        row = replace(row, question=request.question, budget_usd=request.budget.usd)
        if run.close_time is None:
            job = Job(jobs.get_handle(state.client, run.id), StartState.RUNNING)
            if status := await jobs.query_status(job, seconds=1.5):
                row = replace(row, usd=status.usd, budget_usd=status.budget_usd)
            return row
        return await state.small_cache.get_or_load(
            ("row", run.run_id), lambda: self._fill_closed(run, row)
        )

    async def _fill_closed(self, run: WorkflowExecution, row: JobRow) -> JobRow:
        job = Job(jobs.get_handle(self._state.client, run.id), StartState.FINISHED)
        outcome = await fetch_outcome(self._state, job, run.run_id)
        if isinstance(outcome, ResearchResult):
            label = _REPORT_LABELS.get(outcome.status, "")
            return replace(row, usd=outcome.telemetry.usd, report=label)
        if row.state not in _FAILED_STATES:
            return row
        last = await load_last_state(self._state, run.id, run.run_id)
        reason = "" if row.state == "cancelled" else outcome
        return replace(row, usd=last.spend.usd if last else None, reason=reason)


def _read_filter(request: Request) -> str:
    only = request.query_params.get("status", "")
    return only if only in FILTERS else ""


def _matches(state: str, only: str) -> bool:
    if only == "failed":
        return state in _FAILED_STATES
    return not only or state == only or (only == "running" and state == "paused")
