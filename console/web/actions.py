"""The forms of a job's page: each is sent, then the job's page is shown again.

They call the same client functions as the commands. If the job rejects an action, the page shows
why, and the form keeps its values.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import quote

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from console.client import jobs, runs, validation
from console.client.job_options import new_job_id
from console.client.jobs import Job, UpdateRejectedError
from console.client.research_request import build_facet
from console.errors import BadInputError, ConsoleError
from console.formatting import count, format_size
from console.web import forms
from console.web.forms import FormValues, name_fields
from console.web.home import MODEL_NAMES
from console.web.job_page import JobPage
from console.web.job_snapshot import load_snapshot
from console.web.people import ACTIONS, require
from console.web.rendering import Templates
from console.web.state import AppState, Notice
from workflows.contracts.evidence import Message
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
)

FORK_SETTINGS = ("model", "effort", "budget_usd", "budget_tokens", "max_passes", "max_facets",
                 "max_claims", "parallel", "subagent_seconds")  # fmt: skip

UPDATES: dict[str, tuple[Message, str]] = {
    "pause": (Pause(), "Paused: nothing is spent until it is resumed."),
    "finish": (Finish(), "It finishes with what was found; the report comes next."),
}


class Actions:
    def __init__(self, state: AppState, templates: Templates, page: JobPage) -> None:
        self._state = state
        self._templates = templates
        self._page = page

    async def resume(self, request: Request) -> Response:
        """Continue a job that is blocked, paused or stopped."""

        async def act(job: Job, _form: FormValues) -> str:
            await self._state.resume(job)
            return "It continues."

        return await self._perform(request, act)

    async def send_update(self, request: Request) -> Response:
        """Pause or finish."""
        name = request.url.path.rpartition("/")[2]
        message, done = UPDATES[name]

        async def act(job: Job, _form: FormValues) -> str:
            await self._wait_for_worker(jobs.send_update(job, name, message), job)
            return done

        return await self._perform(request, act)

    async def cancel(self, request: Request) -> Response:
        async def act(job: Job, _form: FormValues) -> str:
            cancelled, _ = await self._state.session.wait_for_worker(jobs.cancel(job), job.id)
            if not cancelled:
                raise ConsoleError("It finished first: its report is here.")
            return "Cancelled. A restart continues it."

        return await self._perform(request, act)

    async def approve(self, request: Request) -> Response:
        """Approve the plan as the form has it, or reject it."""

        async def act(job: Job, form: FormValues) -> str:
            if form["decision"] == "reject":
                answer = Approve(decision="reject", note=form["note"].strip()[:2000])
                await self._wait_for_worker(jobs.send_update(job, "approve", answer), job)
                return "It is planned again, with your note." if answer.note else "The job ends."
            state = await jobs.query_state(job)
            if state is None or state.plan is None:
                raise BadInputError("There is no plan to approve now: reload the page.")
            plan = forms.parse_plan(form, state.plan)
            if form.errors:
                raise BadInputError(form.error("plan") or "The plan is invalid: see its fields.")
            update = jobs.send_update(job, "approve", Approve(decision="approve", plan=plan))
            await self._wait_for_worker(update, job)
            return "The plan is approved" + (" as you edited it." if plan else ".")

        return await self._perform(request, act)

    async def steer(self, request: Request) -> Response:
        async def act(job: Job, form: FormValues) -> str:
            changes = await self._parse_changes(job, form)
            usd, tokens = forms.parse_budget(form) if form["change"] == "budget" else (None, None)
            if form.errors:
                raise BadInputError("The change is invalid: see the message beside the field.")
            if not changes and usd is None and tokens is None:
                raise BadInputError("There is nothing to change: fill in a field.")
            await self._wait_for_worker(jobs.steer(job, changes, usd, tokens), job)
            return "The job is steered." if changes else "The budget is set."

        return await self._perform(request, act)

    async def _parse_changes(self, job: Job, form: FormValues) -> list[Change]:
        try:
            match form["change"]:
                case "note":
                    return [AddNote(text=form["note"])]
                case "add":
                    state = await jobs.query_state(job)
                    known = {f.id for f in state.plan.facets} if state and state.plan else set()
                    title, question = form["title"].strip(), form["question"].strip()
                    return [AddFacet(facet=build_facet(title, question, taken=known))]
                case "drop":
                    return [DropFacet(facet_id=form["facet"])]
                case "refine":
                    question = form["question"].strip()
                    return [RefineFacet(facet_id=form["facet"], question=question)]
        except ValidationError as error:
            first = error.errors()[0]
            form.errors[f"{form['change']}-{first['loc'][-1]}"] = f"{first['msg']}."
        return []

    async def delete(self, request: Request) -> Response:
        require(request, ACTIONS["delete"])
        job_id = validation.check_job_id(request.path_params["job_id"])
        await forms.read_form(request)
        receipt = await self._state.delete(job_id)
        objects = count(sum(total["count"] for total in receipt["objects"].values()), "object")
        histories = count(receipt["histories"], "history", "histories")
        size = format_size(receipt["bytes"])
        text = f"The job {job_id} is deleted: {histories}, and {objects} of the store ({size})."
        name = self._state.put_notice(Notice(text))
        return RedirectResponse(f"/?notice={name}", status_code=303)

    async def confirm_restart(self, request: Request) -> Response:
        """A page that asks for confirmation, because a restart closes an open run."""
        require(request, ACTIONS["restart"])
        snapshot = await load_snapshot(self._state, request.path_params["job_id"])
        name = request.query_params.get("from", "")
        return self._templates.render(request, "restart.html", job=snapshot, checkpoint=name)

    async def restart(self, request: Request) -> Response:
        state = self._state

        async def act(job: Job, form: FormValues) -> str:
            name = form["from"] or None
            _, origin = await runs.restart(state.client, state.checkpoints, job.id, name)
            state.start_worker(job.id)
            return f"Restarted from {origin.checkpoint}; earlier work is not paid again."

        return await self._perform(request, act)

    async def show_fork_form(self, request: Request) -> Response:
        require(request, ACTIONS["fork"])
        form = FormValues({"from": request.query_params.get("from", "")})
        return await self._render_fork_form(request, form)

    async def fork(self, request: Request) -> Response:
        require(request, ACTIONS["fork"])
        state, job_id = self._state, validation.check_job_id(request.path_params["job_id"])
        form = await forms.read_form(request)
        try:
            name = form["id"].strip()
            new_id = validation.check_job_id(name) if name else new_job_id(f"{job_id[:150]}-fork")
            given = [f"{key}={form[key].strip()}" for key in FORK_SETTINGS if form[key].strip()]
            _, origin, limit = await runs.fork(
                state.client,
                state.checkpoints,
                job_id,
                name=form["from"] or None,
                changes=runs.parse_changes(given),
                new_id=new_id,
            )
        except BadInputError as error:
            notice = Notice(name_fields(str(error)), "bad")
            return await self._render_fork_form(request, form, notice, status=400)
        state.start_worker(new_id)
        budget = f" It spends at most ${limit:,.2f}." if limit is not None else ""
        return self._redirect(
            new_id,
            Notice(
                f"Forked from {job_id} at {origin.checkpoint}; earlier work is not paid"
                f" again.{budget}"
            ),
        )

    async def _render_fork_form(
        self, request: Request, form: FormValues, notice: Notice | None = None, status: int = 200
    ) -> Response:
        snapshot = await load_snapshot(self._state, request.path_params["job_id"])
        return self._templates.render(
            request,
            "fork.html",
            status,
            notice,
            job=snapshot,
            form=form,
            names=list(dict.fromkeys(row["name"] for row in reversed(snapshot.checkpoints))),
            models=MODEL_NAMES,
            efforts=[effort.value for effort in Effort],
        )

    async def _wait_for_worker(self, call: Awaitable[str], job: Job) -> None:
        await self._state.session.wait_for_worker(call, job.id)

    async def _perform(
        self, request: Request, act: Callable[[Job, FormValues], Awaitable[str]]
    ) -> Response:
        """Perform the action and redirect to the job; or show the job with the error."""
        require(request, ACTIONS[request.url.path.rpartition("/")[2]])
        job_id = validation.check_job_id(request.path_params["job_id"])
        form = await forms.read_form(request)
        try:
            if request.url.path.endswith("/restart"):
                job, _ = await jobs.find(self._state.client, job_id)
            else:
                job = await jobs.find_running(self._state.client, job_id)
            done = await act(job, form)
        except UpdateRejectedError as error:
            notice = Notice(f"The job rejects that: {error.reason.rstrip('.')}.", "bad")
            return await self._page.render(request, job_id, form, notice, status=409)
        except BadInputError as error:
            notice = Notice(name_fields(str(error)), "bad")
            return await self._page.render(request, job_id, form, notice, status=400)
        except ConsoleError as error:
            return self._redirect(job_id, Notice(name_fields(str(error)), "bad"))
        return self._redirect(job_id, Notice(done))

    def _redirect(self, job_id: str, notice: Notice) -> Response:
        name = self._state.put_notice(notice)
        return RedirectResponse(f"/jobs/{quote(job_id)}?notice={name}", status_code=303)
