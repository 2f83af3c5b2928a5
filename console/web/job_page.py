"""The page of a job, the stream of its changes, and its forms.

A form is sent, then the job's page is shown again. If the job rejects what was asked, the page
shows why, and the form keeps its values.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from cachetools import TTLCache
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from console.client import jobs, runs, validation
from console.client.job_options import new_job_id
from console.client.jobs import Job, UpdateRejectedError
from console.client.research_request import build_facet
from console.errors import BadInputError, ConsoleError, first_fault
from console.formatting import count, format_size
from console.web import forms
from console.web.forms import FormValues, name_fields
from console.web.home import MODEL_NAMES
from console.web.job_snapshot import JobSnapshot, load_snapshot
from console.web.job_view import build_view
from console.web.rendering import MAX_STREAMS, Templates, part_version, stream_parts
from console.web.state import AppState, Control, Notice
from workflows.contracts.facets import Effort
from workflows.contracts.messages import (
    AddFacet,
    AddNote,
    Approve,
    Change,
    DropFacet,
    RefineFacet,
)

LIVE_PARTS = ("glance", "facets", "gaps", "contested", "checkpoints", "remarks", "actions")
"""The parts that change. `actions` has forms and is not replaced while somebody types."""
FORK_SETTINGS = ("model", "effort", "budget_usd", "budget_tokens", "max_passes", "max_facets",
                 "max_claims", "parallel", "subagent_seconds")  # fmt: skip
_POLL_SECONDS = 1.0
# Several viewers of one job share a snapshot.
_SHARED_SECONDS = 0.7


class JobPage:
    def __init__(self, state: AppState, templates: Templates) -> None:
        self._state = state
        self._templates = templates
        self._snapshots: TTLCache[str, asyncio.Future[JobSnapshot]] = TTLCache(
            MAX_STREAMS, _SHARED_SECONDS
        )

    async def show(self, request: Request) -> Response:
        return await self._render(request)

    async def control(self, request: Request) -> Response:
        """Do what a form or a button asks for; then the job, with the error if there is one."""
        job_id, action = request.path_params["job_id"], request.url.path.rpartition("/")[2]
        form = await forms.read_form(request)
        try:
            if action in CONTROLS:
                await self._state.control(job_id, action)
                done = CONTROLS[action]
            else:
                done = await FORMS[action](self._state, job_id, form)
        except UpdateRejectedError as error:
            text = f"The job rejects that: {error.reason.rstrip('.')}."
            return await self._render(request, form, Notice(text, "bad"), error.http_status)
        except ConsoleError as error:
            notice = Notice(name_fields(str(error)), "bad")
            return await self._render(request, form, notice, error.http_status)
        return self._templates.redirect(done, job_id)

    async def _render(
        self,
        request: Request,
        form: FormValues | None = None,
        notice: Notice | None = None,
        status: int = 200,
    ) -> Response:
        job = await load_snapshot(self._state, request.path_params["job_id"])
        # The versions ignore typed values: the form stays while the job does not change.
        unfilled = self._render_parts(request, job)
        parts = self._render_parts(request, job, form) if form else unfilled
        return self._templates.render(
            request,
            "job.html",
            status,
            notice,
            job=job,
            view=build_view(job, request.state.person),
            parts={name: (html, part_version(unfilled[name])) for name, html in parts.items()},
            form=form,
        )

    async def stream(self, request: Request) -> Response:
        job_id = request.path_params["job_id"]
        await load_snapshot(self._state, job_id)  # raises for an unknown job

        async def parts() -> AsyncIterator[dict[str, str]]:
            while True:
                job = await self._share_snapshot(job_id)
                yield self._render_parts(request, job)
                if not job.is_open:
                    return
                await self._state.sleep(_POLL_SECONDS)

        return stream_parts(request, self._state, parts())

    def _render_parts(
        self, request: Request, job: JobSnapshot, form: FormValues | None = None
    ) -> dict[str, str]:
        view = build_view(job, request.state.person)
        plan = view.state.plan
        values = {
            "job": job,
            "view": view,
            "form": form or FormValues(forms.plan_fields(plan) if plan else {}),
            "rows": len(plan.facets) + forms.NEW_FACETS if plan else 0,
        }
        return {name: self._templates.render_part(request, name, **values) for name in LIVE_PARTS}

    async def _share_snapshot(self, job_id: str) -> JobSnapshot:
        loading = self._snapshots.get(job_id)
        if loading is None:
            loading = asyncio.ensure_future(load_snapshot(self._state, job_id))
            # Retrieved here, because no viewer may be left to do it.
            loading.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            self._snapshots[job_id] = loading
        # A viewer that disconnects must not cancel the snapshot of the others.
        return await asyncio.shield(loading)

    async def delete(self, request: Request) -> Response:
        job_id = request.path_params["job_id"]
        await forms.read_form(request)
        receipt = await self._state.delete(job_id)
        objects = count(sum(total["count"] for total in receipt["objects"].values()), "object")
        histories = count(receipt["histories"], "history", "histories")
        size = format_size(receipt["bytes"])
        text = f"The job {job_id} is deleted: {histories}, and {objects} of the store ({size})."
        return self._templates.redirect(text)

    async def confirm_restart(self, request: Request) -> Response:
        """A page that asks for confirmation, because a restart closes an open run."""
        job = await load_snapshot(self._state, request.path_params["job_id"])
        name = request.query_params.get("from", "")
        return self._templates.render(request, "restart.html", job=job, checkpoint=name)

    async def show_fork_form(self, request: Request) -> Response:
        form = FormValues({"from": request.query_params.get("from", "")})
        return await self._render_fork_form(request, form)

    async def fork(self, request: Request) -> Response:
        state, job_id = self._state, request.path_params["job_id"]
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
            return await self._render_fork_form(request, form, notice, error.http_status)
        state.start_worker(new_id)
        budget = f" It spends at most ${limit:,.2f}." if limit is not None else ""
        return self._templates.redirect(
            f"Forked from {job_id} at {origin.checkpoint}; earlier work is not paid again.{budget}",
            new_id,
        )

    async def _render_fork_form(
        self, request: Request, form: FormValues, notice: Notice | None = None, status: int = 200
    ) -> Response:
        job = await load_snapshot(self._state, request.path_params["job_id"])
        return self._templates.render(
            request,
            "fork.html",
            status,
            notice,
            job=job,
            form=form,
            names=list(dict.fromkeys(row["name"] for row in reversed(job.checkpoints))),
            models=MODEL_NAMES,
            efforts=[effort.value for effort in Effort],
        )


async def _approve(state: AppState, job_id: str, form: FormValues) -> str:
    """Approve the plan as the form has it, or reject it."""
    if form["decision"] == "reject":
        note = form["note"].strip()[:2000]
        await state.send_update(job_id, "approve", Approve(decision="reject", note=note))
        return "It is planned again, with your note." if note else "The job ends."
    known = await jobs.query_state(await jobs.find_running(state.client, job_id))
    if known is None or known.plan is None:
        raise BadInputError("There is no plan to approve now: reload the page.")
    plan = forms.parse_plan(form, known.plan)
    if form.errors:
        raise BadInputError(form.error("plan") or "The plan is invalid: see its fields.")
    await state.send_update(job_id, "approve", Approve(decision="approve", plan=plan))
    return "The plan is approved" + (" as you edited it." if plan else ".")


async def _steer(state: AppState, job_id: str, form: FormValues) -> str:
    job = await jobs.find_running(state.client, job_id)
    changes = await _parse_changes(job, form)
    usd, tokens = forms.parse_budget(form) if form["change"] == "budget" else (None, None)
    if form.errors:
        raise BadInputError("The change is invalid: see the message beside the field.")
    if not changes and usd is None and tokens is None:
        raise BadInputError("There is nothing to change: fill in a field.")
    await state.wait_for_worker(job_id, jobs.steer(job, changes, usd, tokens))
    return "The job is steered." if changes else "The budget is set."


async def _parse_changes(job: Job, form: FormValues) -> list[Change]:
    question = form["question"].strip()
    try:
        match form["change"]:
            case "note":
                return [AddNote(text=form["note"])]
            case "add":
                state = await jobs.query_state(job)
                known = {f.id for f in state.plan.facets} if state and state.plan else set()
                return [AddFacet(facet=build_facet(form["title"].strip(), question, taken=known))]
            case "drop":
                return [DropFacet(facet_id=form["facet"])]
            case "refine":
                return [RefineFacet(facet_id=form["facet"], question=question)]
    except ValidationError as error:
        field, message = first_fault(error)
        form.errors[f"{form['change']}-{field}"] = f"{message}."
    return []


async def _restart(state: AppState, job_id: str, form: FormValues) -> str:
    checkpoint = await state.restart(job_id, form["from"] or None)
    return f"Restarted from {checkpoint}; earlier work is not paid again."


FORMS: dict[str, Callable[[AppState, str, FormValues], Awaitable[str]]] = {
    "approve": _approve,
    "steer": _steer,
    "restart": _restart,
}
"""What a form of the page does, by its action; each returns what is said when it is done."""

CONTROLS: dict[Control, str] = {
    "pause": "Paused: nothing is spent until it is resumed.",
    "resume": "It continues.",
    "finish": "It finishes with what was found; the report comes next.",
    "cancel": "Cancelled. A restart continues it.",
}
"""What is said of a job that a button controls."""
