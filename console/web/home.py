"""The home page: a form for a new job, and the list of jobs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.service import RPCError

from activities.storage.corpus_versions import CorpusHead
from console.client import asking, corpora, jobs, validation
from console.client.job_list import (
    WAITING_STATES,
    Estimate,
    JobRecord,
    PastJob,
    list_finished,
    list_last_runs,
    load_past_job,
    read_blocked,
    read_question,
)
from console.client.job_options import new_job_id
from console.client.jobs import Job, StartState
from console.client.research_request import DEFAULT_BUDGET_USD, build_request, describe_budget
from console.errors import ConsoleError
from console.web import forms
from console.web.forms import FormValues, name_fields
from console.web.job_snapshot import fetch_request, load_checkpoints
from console.web.rendering import Templates, stream_parts
from console.web.state import MAX_SEARCHED, AppState, Notice
from workflows.config.model_catalog import MIXED, MODELS
from workflows.contracts.asking import Clarification
from workflows.contracts.facets import Effort
from workflows.contracts.request import OFFLINE, ResearchRequest
from workflows.contracts.result import ResearchResult
from workflows.contracts.state import Blocked

if TYPE_CHECKING:
    from temporalio.client import WorkflowExecution

Excerpt = tuple[str, str, str]
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
_MAX_CORPORA = 200
_MAX_QUERY = 200
_AROUND = 90
_MARKUP = re.compile(r"[#*_`|]+")
_POLL_SECONDS = 2.5
_START_NOTICES = {
    StartState.RESTARTED: "A job of this name had ended; it is restarted.",
    StartState.RUNNING: "This job with the same name and question is already running.",
    StartState.FINISHED: "This job with the same name and question is already finished.",
}


@dataclass(frozen=True)
class JobRow:
    record: JobRecord
    question: str = ""
    usd: float | None = None
    budget_usd: float | None = None
    blocked: Blocked | None = None
    reason: str = ""
    """Why it ended without a report."""
    report: str = ""
    """What the report lacks."""
    found: Excerpt | None = None
    """The words of the report that were searched for, between what stands before and after."""


class HomePage:
    def __init__(self, state: AppState, templates: Templates) -> None:
        self._state = state
        self._templates = templates
        self._limit = asyncio.Semaphore(_CONCURRENT_ROWS)

    async def show(self, request: Request) -> Response:
        form = FormValues(
            {"effort": Effort.STANDARD.value, "corpus": "", "approve": "yes", "clarify": "yes"}
        )
        return await self._render(request, form)

    async def start_job(self, request: Request) -> Response:
        # One more than an upload may hold, so that its own check says what the limits are.
        form = await forms.read_form(request, corpora.MAX_UPLOAD_FILES + 1)
        state, job_id = self._state, form["id"].strip() or new_job_id()
        try:
            research = await self._read_request(form)
        finally:
            await request.close()
        if research is None:
            again = " Choose the files again." if form.files else ""
            text = f"Nothing was started: see the messages beside the fields.{again}"
            return await self._render(request, form, status=422, notice=Notice(text, "bad"))
        better = asking.improve(form["question"], forms.parse_answers(form))
        if form["step"] == "answers" and better != form["question"]:
            form.values |= {"question": better, "clarify": ""}
            text = (
                "Your answers are in the question now: read it, change it if you like, then start."
            )
            return await self._render(request, form, notice=Notice(text))
        clarification = Clarification()
        if form["clarify"] and not form["step"]:
            clarification = await asking.clarify(state.session, job_id, research)
            if clarification.questions:
                # The job keeps the id: what the questions cost is in its journal.
                form.values["id"] = job_id
                return await self._render(request, form, clarification=clarification)
        with form.collect_error("id"):
            job = await state.start(job_id, research)
            budget = describe_budget(research, by_default=False)
            text = _START_NOTICES.get(
                job.found, f"Started. {budget} {name_fields(clarification.note)}".strip()
            )
            return self._templates.redirect(text, job.id)
        return await self._render(request, form, status=422)

    async def _read_request(self, form: FormValues) -> ResearchRequest | None:
        """The request, with its documents in the store; None if `form.errors` has an error."""
        settings, folder = self._state.settings, form["corpus"].strip()
        if bool(folder) + bool(form["known_corpus"]) + bool(form.files) > 1:
            form.errors["files" if form.files else "corpus"] = (
                "Choose one of these: a folder, documents of the store, or files to upload."
            )
        with form.collect_error("corpus"):
            if folder:
                self._state.check_folders_allowed()
        uploaded = new_job_id("upload") if form.files else ""
        options = await asyncio.to_thread(forms.parse_job, form, settings, uploaded)
        if options is None:
            return None
        with form.collect_error("files"):
            received = [(file.filename or "", file.file) for file in form.files]
            if received:
                await corpora.upload(settings, uploaded, received)
        if form.errors:
            return None
        with form.collect_error("corpus"):
            research = await asyncio.to_thread(build_request, options, settings)
            research = await corpora.publish_for(research, settings)
            rubric = validation.check_points(form["rubric"], "The list")
            return research.model_copy(update={"rubric": rubric})
        return None

    async def stream(self, request: Request) -> Response:
        only, _ = _read_filter(request)

        async def parts() -> AsyncIterator[dict[str, str]]:
            while True:
                rows, more = await self._load_rows(only)
                values = {"rows": rows, "more": more, "only": only, "query": ""}
                yield {"jobs": self._templates.render_part(request, "jobs", **values)}
                await self._state.sleep(_POLL_SECONDS)

        return stream_parts(request, self._state, parts())

    async def _render(
        self,
        request: Request,
        form: FormValues,
        status: int = 200,
        notice: Notice | None = None,
        clarification: Clarification | None = None,
    ) -> Response:
        only, query = _read_filter(request)
        rows, more = await self._load_rows(only, query)
        return self._templates.render(
            request,
            "home.html",
            status,
            notice,
            form=form,
            clarification=clarification,
            max_answer=asking.MAX_ANSWER,
            rows=rows,
            more=more,
            only=only,
            query=query,
            max_searched=MAX_SEARCHED,
            filters=FILTERS,
            estimates=await self._estimate(request),
            efforts=[(effort.value, DEFAULT_BUDGET_USD[effort]) for effort in Effort],
            models=MODEL_NAMES,
            default_model=self._state.settings.default_model,
            folders=self._state.settings.corpora,
            corpora=await self._list_corpora(request),
        )

    async def _list_corpora(self, request: Request) -> list[CorpusHead]:
        """The newest corpora that the person may use."""
        if not request.state.person.may("start"):
            return []
        heads = await corpora.list_heads(self._state.settings)
        return sorted(heads, key=lambda head: head.updated, reverse=True)[:_MAX_CORPORA]

    async def _estimate(self, request: Request) -> list[Estimate]:
        """What jobs of each effort cost and took with the default model; empty without any."""
        if not request.state.person.may("start"):
            return []
        found = await list_finished(self._state.client, self._state.settings.default_model)
        past = await asyncio.gather(*(self._load_past(run) for run in found))
        return [Estimate.of(past, effort) for effort in Effort] if any(past) else []

    async def _load_past(self, run: WorkflowExecution) -> PastJob | None:
        async with self._limit:
            return await self._state.small_cache.get_or_load(
                ("past", run.run_id), lambda: load_past_job(self._state.client, run)
            )

    async def _load_rows(self, only: str, query: str = "") -> tuple[list[JobRow], int]:
        """Jobs that wait for a person, then the newest; and how many more there are."""
        found = await list_last_runs(self._state.client, only or None, _MAX_RUNS)
        records = [(run, JobRecord.of(run)) for run in found]
        records.sort(key=lambda pair: pair[1].state not in WAITING_STATES)
        wanted = [pair for pair in records if _matches(pair[1].state, only)]
        excerpts: dict[str, Excerpt | None] = {}
        if words := query.lower().split():
            excerpts = await self._search([run for run, _ in wanted], words)
            wanted = [pair for pair in wanted if pair[0].id in excerpts]
        rows = await asyncio.gather(*(self._load_row(*pair) for pair in wanted[:MAX_ROWS]))
        shown = [replace(row, found=excerpts.get(row.record.id)) for row in rows]
        return shown, max(0, len(wanted) - MAX_ROWS)

    async def _search(
        self, found: list[WorkflowExecution], words: list[str]
    ) -> dict[str, Excerpt | None]:
        """Jobs with all words in their question or id, and those with them in a newest report."""
        by_question: dict[str, Excerpt | None] = {}
        for run in found:
            text = f"{run.id} {await read_question(run)}".lower()
            if all(word in text for word in words):
                by_question[run.id] = None
        finished = [run for run in found if run.status is WorkflowExecutionStatus.COMPLETED]
        texts = await asyncio.gather(*(self._load_text(run) for run in finished[:MAX_SEARCHED]))
        by_report = {
            run.id: excerpt
            for run, text in zip(finished, texts, strict=False)
            if (excerpt := find_excerpt(text, words))
        }
        return by_question | by_report

    async def _load_text(self, run: WorkflowExecution) -> str:
        async def load() -> str:
            report = await jobs.fetch_report(jobs.get_handle(self._state.client, run.id))
            # Without its title, which is the question.
            text = report.report_markdown.partition("\n")[2]
            return " ".join(_MARKUP.sub("", text).split())

        async with self._limit:
            try:
                return await self._state.text_cache.get_or_load(run.run_id, load)
            except (ConsoleError, RPCError, WorkflowFailureError):
                return ""

    async def _load_row(self, run: WorkflowExecution, record: JobRecord) -> JobRow:
        row = JobRow(record, blocked=await read_blocked(run))
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
        outcome = await self._state.fetch_outcome(job, run.run_id)
        if isinstance(outcome, ResearchResult):
            label = _REPORT_LABELS.get(outcome.status, "")
            return replace(row, usd=outcome.telemetry.usd, report=label)
        if row.record.state not in _FAILED_STATES:
            return row
        _, last = await load_checkpoints(self._state, run.id, (run.run_id,))
        reason = "" if row.record.state == "cancelled" else outcome
        return replace(row, usd=last.spend.usd if last else None, reason=reason)


def _read_filter(request: Request) -> tuple[str, str]:
    """The state that jobs are shown in, and what is searched for."""
    only = request.query_params.get("status", "")
    query = request.query_params.get("q", "")[:_MAX_QUERY]
    return only if only in FILTERS else "", " ".join(query.split())


def find_excerpt(text: str, words: list[str]) -> Excerpt | None:
    """A text with all words, around the first one; None where a word is missing."""
    lowered = text.lower()
    if len(lowered) != len(text) or not all(word in lowered for word in words):
        return None
    at = lowered.index(words[0])
    end = at + len(words[0])
    before, after = text[max(0, at - _AROUND) : at], text[end : end + _AROUND]
    # Neither from nor to the middle of a word.
    before = before if at <= _AROUND else before.partition(" ")[2]
    after = after if end + _AROUND >= len(text) else after.rpartition(" ")[0]
    return before, text[at:end], after


def _matches(state: str, only: str) -> bool:
    if only == "failed":
        return state in _FAILED_STATES
    return not only or state == only or (only == "running" and state == "paused")
