"""The first page: a question is asked, and all jobs are listed with what they need."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from console import jobs, runs, wishes
from console.desk import new_id
from console.faults import BadInputError, ConsoleError
from console.jobs import WORKFLOW, Found, Job
from console.listing import WAITING, blocked_of, row_of
from console.web import forms
from console.web.events import stream
from console.web.forms import Typed, in_words
from console.web.guard import Keys
from console.web.pages import Pages
from console.web.rooms import Notice, Rooms
from console.web.standing import ending_of, question_of, state_of
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
SHOWN_AT_MOST = 60
_ENDED_BADLY = ("failed", "terminated", "timed_out", "cancelled")
_LACKS = {"complete_with_gaps": "with gaps", "nothing_found": "nothing found"}
_AT_ONCE = 12
# Enough to find the newest; a server may know a hundred thousand.
_LOOKED_AT = 1000
# An ended run may have been followed by another one: which is the last is seen among all.
_QUERIES = {
    "running": ' AND ExecutionStatus="Running"',
    "blocked": ' AND ExecutionStatus="Running" AND ResearchStatus="blocked"',
    "awaiting_approval": ' AND ExecutionStatus="Running" AND ResearchStatus="awaiting_approval"',
}
_LISTING_SECONDS = 2.5


@dataclass(frozen=True)
class Row:
    """A job in the list."""

    id: str
    word: str
    phase: str
    started: str
    question: str = ""
    usd: float | None = None
    budget_usd: float | None = None
    blocked: Blocked | None = None
    reason: str = ""
    ended: str = ""
    """What the report lacks, in a word or two."""


class Front:
    def __init__(self, rooms: Rooms, pages: Pages, keys: Keys) -> None:
        self._rooms = rooms
        self._pages = pages
        self._keys = keys
        self._limit = asyncio.Semaphore(_AT_ONCE)

    async def home(self, request: Request) -> Response:
        first = {"effort": Effort.STANDARD.value, "corpus": "", "approve": "yes"}
        return await self._page(request, Typed(first))

    async def ask(self, request: Request) -> Response:
        rooms, typed = self._rooms, Typed(await forms.sent(request, self._keys))
        wish = await asyncio.to_thread(forms.asked, typed, rooms.settings)
        if wish is None:
            notice = Notice("Nothing was started: see what is said beside the fields.", "bad")
            return await self._page(request, typed, status=400, notice=notice)
        asked = await asyncio.to_thread(wishes.request, wish, rooms.settings)
        job_id = typed["id"].strip() or new_id()
        try:
            job, _ = await runs.begin(rooms.client, rooms.kept, job_id, asked)
        except BadInputError as error:
            typed.faults["id"] = in_words(str(error))
            return await self._page(request, typed, status=400)
        how = {
            Found.NEW: f"Started. {wishes.spending(asked, by_default=False)}",
            Found.RESTARTED: "There was a job of this name that had ended; it is taken up again.",
            Found.RUNNING: "There is a job of this name and question already; this is it.",
            Found.FINISHED: "There is a finished job of this name and question; this is it.",
        }[job.found]
        return RedirectResponse(f"/jobs/{job.id}?said={rooms.leave(Notice(how))}", status_code=303)

    async def events(self, request: Request) -> Response:
        only = self._only(request)

        async def parts() -> AsyncIterator[dict[str, str] | None]:
            while True:
                rows, more = await self.rows(only)
                shown = self._pages.part("jobs", rows=rows, more=more, only=only)
                yield {"jobs": shown}
                await self._rooms.pause(_LISTING_SECONDS)

        return stream(self._rooms, parts())

    async def _page(
        self, request: Request, typed: Typed, status: int = 200, notice: Notice | None = None
    ) -> Response:
        only = self._only(request)
        rows, more = await self.rows(only)
        settings = self._rooms.settings
        known = [OFFLINE, MIXED, *(name for name in MODELS if name != OFFLINE)]
        return self._pages.answer(
            request,
            "home.html",
            status,
            notice,
            typed=typed,
            rows=rows,
            more=more,
            only=only,
            filters=FILTERS,
            efforts=[(e.value, wishes.DEFAULT_USD[e]) for e in Effort],
            models=known,
            default_model=settings.default_model,
            corpora=settings.corpora,
        )

    def _only(self, request: Request) -> str:
        only = request.query_params.get("status", "")
        return only if only in FILTERS else ""

    async def rows(self, only: str) -> tuple[list[Row], int]:
        """Jobs that wait for a person, then the newest, each by its last run; how many more."""
        last: dict[str, WorkflowExecution] = {}
        query = f'WorkflowType="{WORKFLOW}"{_QUERIES.get(only, "")}'
        async for run in self._rooms.client.list_workflows(query, limit=_LOOKED_AT):
            if run.id not in last or run.start_time > last[run.id].start_time:
                last[run.id] = run
        found = sorted(last.values(), key=lambda run: run.start_time, reverse=True)
        found.sort(key=lambda run: row_of(run)["state"] not in WAITING)
        wanted = [run for run in found if _fits(row_of(run)["state"], only)]
        rows = await asyncio.gather(*(self._row(run) for run in wanted[:SHOWN_AT_MOST]))
        return list(rows), max(0, len(wanted) - SHOWN_AT_MOST)

    async def _row(self, run: WorkflowExecution) -> Row:
        told = row_of(run)
        blocked = await blocked_of(run)
        row = Row(run.id, told["state"], told["phase"], told["started"], blocked=blocked)
        async with self._limit:
            try:
                return await self._filled(run, row)
            except ConsoleError as error:
                return Row(**(vars(row) | {"reason": in_words(str(error))}))

    async def _filled(self, run: WorkflowExecution, row: Row) -> Row:
        """With the question, the money, and why it ended where it ended badly."""
        rooms = self._rooms
        asked = await question_of(rooms, run.id, run.run_id)
        usd, budget, reason, ended = None, asked.budget.usd, "", ""
        if run.close_time is None:
            job = Job(jobs.handle(rooms.client, run.id), Found.RUNNING)
            if now := await jobs.status(job, seconds=1.5):
                usd, budget = now.usd, now.budget_usd
        else:
            known = await rooms.small.of(("row", run.run_id), lambda: self._ended(run, row))
            usd, reason, ended = known
        return Row(
            **vars(row)
            | {"question": asked.question, "usd": usd, "budget_usd": budget}
            | {"reason": reason, "ended": ended}
        )

    async def _ended(self, run: WorkflowExecution, row: Row) -> tuple[float | None, str, str]:
        job = Job(jobs.handle(self._rooms.client, run.id), Found.FINISHED)
        if row.word not in _ENDED_BADLY:
            result = await ending_of(self._rooms, job, run.run_id)
            if isinstance(result, ResearchResult):
                return result.telemetry.usd, "", _LACKS.get(result.status, "")
            return None, "", ""
        ended = await ending_of(self._rooms, job, run.run_id)
        state = await state_of(self._rooms, run.id, run.run_id)
        reason = ended if isinstance(ended, str) else ""
        return (state.spend.usd if state else None), "" if row.word == "cancelled" else reason, ""


def _fits(state: str, only: str) -> bool:
    if only == "failed":
        return state in _ENDED_BADLY
    return not only or state == only or (only == "running" and state == "paused")
