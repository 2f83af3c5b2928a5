"""What can be done with a job: each a form that is sent, then the job's page again.

All of it goes where the commands go: `jobs.tell`, `jobs.steer`, `jobs.cancel`, `runs.restart` and
`runs.fork_from`. A job's refusal stands on the page, and what was typed stays in its form.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import quote

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from console import checks, jobs, runs
from console.desk import new_id
from console.faults import BadInputError, ConsoleError
from console.jobs import Job, RefusedError
from console.restarts import changes_from
from console.web import forms
from console.web.forms import Typed, in_words
from console.web.guard import Keys
from console.web.job import JobPage
from console.web.pages import Pages
from console.web.rooms import Notice, Rooms
from console.web.standing import standing
from workflows.config.model_catalog import MIXED, MODELS
from workflows.contracts.evidence import Record
from workflows.contracts.facets import Effort
from workflows.contracts.messages import (
    AddFacet,
    AddNote,
    Approve,
    Change,
    DropFacet,
    Finish,
    Pause,
    RefineFacet,
    Resume,
)
from workflows.contracts.request import OFFLINE

SETTINGS = ("model", "effort", "budget_usd", "budget_tokens", "max_passes", "max_facets",
            "max_claims", "parallel", "subagent_seconds")  # fmt: skip
"""What the fork's form has fields for."""

TOLD: dict[str, tuple[Record, str]] = {
    "pause": (Pause(), "Paused: nothing more is bought until it is resumed."),
    "resume": (Resume(), "It goes on."),
    "finish": (Finish(), "It finishes with what there is; the report comes next."),
}


class Actions:
    def __init__(self, rooms: Rooms, pages: Pages, keys: Keys, page: JobPage) -> None:
        self._rooms = rooms
        self._pages = pages
        self._keys = keys
        self._page = page

    async def tell(self, request: Request) -> Response:
        """Pause, resume or finish."""
        what = request.url.path.rpartition("/")[2]
        message, done = TOLD[what]

        async def do(job: Job, _typed: Typed) -> str:
            await self._heard(jobs.tell(job, what, message), job)
            return done

        return await self._done(request, do)

    async def cancel(self, request: Request) -> Response:
        async def do(job: Job, _typed: Typed) -> str:
            cancelled, _ = await self._rooms.desk.heard(jobs.cancel(job), job.id)
            if not cancelled:
                raise ConsoleError("It finished first: its report is here.")
            return "Cancelled. A restart takes it up again."

        return await self._done(request, do)

    async def approve(self, request: Request) -> Response:
        """Yes to the plan as it stands in the form; or no, with a note or without."""

        async def do(job: Job, typed: Typed) -> str:
            if typed["decision"] == "reject":
                answer = Approve(decision="reject", note=typed["note"].strip()[:2000])
                await self._heard(jobs.tell(job, "approve", answer), job)
                return "It is planned anew, with your note." if answer.note else "It ends here."
            state = await jobs.state(job)
            if state is None or state.plan is None:
                raise BadInputError("There is no plan to approve just now: look again in a moment.")
            plan = forms.edited(typed, state.plan)
            if typed.faults:
                raise BadInputError(typed.fault("plan") or "The plan cannot be taken like this.")
            await self._heard(jobs.tell(job, "approve", Approve(plan=plan)), job)
            return "The plan is approved" + (" as you edited it." if plan else ".")

        return await self._done(request, do)

    async def steer(self, request: Request) -> Response:
        async def do(job: Job, typed: Typed) -> str:
            changes, usd, tokens = await self._changes(job, typed)
            if typed.faults:
                raise BadInputError("This cannot be taken: see what is said beside the field.")
            if not changes and usd is None and tokens is None:
                raise BadInputError("There is nothing to change: fill in a field.")
            await self._heard(jobs.steer(job, changes, usd, tokens), job)
            return "Taken: " + ("the budget is set." if not changes else "the job is steered.")

        return await self._done(request, do)

    async def _changes(
        self, job: Job, typed: Typed
    ) -> tuple[list[Change], float | None, int | None]:
        try:
            match typed["change"]:
                case "note":
                    return [AddNote(text=typed["note"])], None, None
                case "add":
                    state = await jobs.state(job)
                    known = {f.id for f in state.plan.facets} if state and state.plan else set()
                    return [AddFacet(facet=forms.new_facet(typed.values, known))], None, None
                case "drop":
                    return [DropFacet(facet_id=typed["facet"])], None, None
                case "refine":
                    asked = typed["question"].strip()
                    return [RefineFacet(facet_id=typed["facet"], question=asked)], None, None
                case "budget":
                    return [], *forms.amounts(typed)
        except ValidationError as error:
            fault = error.errors()[0]
            typed.faults[f"{typed['change']}-{fault['loc'][-1]}"] = f"{fault['msg']}."
        return [], None, None

    async def ask_restart(self, request: Request) -> Response:
        """A page that asks once more, for a job that runs is closed by it."""
        now = await standing(self._rooms, request.path_params["job_id"])
        name = request.query_params.get("from", "")
        return self._pages.answer(request, "restart.html", job=now, origin=name)

    async def restart(self, request: Request) -> Response:
        rooms = self._rooms

        async def do(job: Job, typed: Typed) -> str:
            _, origin = await runs.restart(rooms.client, rooms.kept, job.id, typed["from"] or None)
            return f"Taken up from {origin.checkpoint}; what lies before it is not paid again."

        return await self._done(request, do)

    async def ask_fork(self, request: Request) -> Response:
        return await self._fork_page(request, Typed({"from": request.query_params.get("from", "")}))

    async def fork(self, request: Request) -> Response:
        rooms, job_id = self._rooms, checks.job_id(request.path_params["job_id"])
        typed = Typed(await forms.sent(request, self._keys))
        try:
            new = typed["id"].strip()
            new = checks.job_id(new) if new else new_id(f"{job_id[:150]}-fork")
            wanted = [f"{key}={typed[key].strip()}" for key in SETTINGS if typed[key].strip()]
            _, origin, limit = await runs.fork_from(
                rooms.client,
                rooms.kept,
                rooms.settings,
                job_id,
                name=typed["from"] or None,
                changes=changes_from(wanted),
                new_id=new,
            )
        except BadInputError as error:
            notice = Notice(in_words(str(error)), "bad")
            return await self._fork_page(request, typed, notice, status=400)
        spends = f" It spends at most ${limit:,.2f}." if limit is not None else ""
        said = Notice(
            f"Forked from {job_id} at {origin.checkpoint}; what lies before it is not paid"
            f" again.{spends}"
        )
        return _to(new, rooms.leave(said))

    async def _fork_page(
        self, request: Request, typed: Typed, notice: Notice | None = None, status: int = 200
    ) -> Response:
        now = await standing(self._rooms, request.path_params["job_id"])
        return self._pages.answer(
            request,
            "fork.html",
            status,
            notice,
            job=now,
            typed=typed,
            names=list(dict.fromkeys(point.kept.name for point in reversed(now.points))),
            models=[OFFLINE, MIXED, *(name for name in MODELS if name != OFFLINE)],
            efforts=[effort.value for effort in Effort],
        )

    async def _heard(self, asked: Awaitable[str], job: Job) -> None:
        await self._rooms.desk.heard(asked, job.id)

    async def _done(self, request: Request, do: Callable[[Job, Typed], Awaitable[str]]) -> Response:
        """Do it and show the job; or show the job with why not, and what was typed."""
        job_id = checks.job_id(request.path_params["job_id"])
        typed = Typed(await forms.sent(request, self._keys))
        try:
            if request.url.path.endswith("/restart"):
                job, _ = await jobs.find(self._rooms.client, job_id)
            else:
                job = await jobs.going(self._rooms.client, job_id)
            said = await do(job, typed)
        except RefusedError as error:
            notice = Notice(f"The job cannot do that: {error.reason.rstrip('.')}.", "bad")
            return await self._page.page(request, job_id, typed, notice, status=409)
        except BadInputError as error:
            notice = Notice(in_words(str(error)), "bad")
            return await self._page.page(request, job_id, typed, notice, status=400)
        except ConsoleError as error:
            return _to(job_id, self._rooms.leave(Notice(in_words(str(error)), "bad")))
        return _to(job_id, self._rooms.leave(Notice(said)))


def _to(job_id: str, said: str) -> Response:
    return RedirectResponse(f"/jobs/{quote(job_id)}?said={said}", status_code=303)
