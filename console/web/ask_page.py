"""Ask on in a report: the page with the answer and its citations, the versions, and comparisons."""

from __future__ import annotations

from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from console.client import asking, validation
from console.errors import BadInputError
from console.report.chapters import MarkdownRenderer
from console.report.quote_links import QuoteLinks
from console.web import forms
from console.web.forms import FormValues, name_fields
from console.web.job_snapshot import load_snapshot
from console.web.people import ACTIONS, require
from console.web.rendering import Templates
from console.web.state import AppState, Notice
from workflows.contracts.asking import Answer
from workflows.contracts.result import PlanOut, ResearchResult, SourceOut


class AskPages:
    def __init__(self, state: AppState, templates: Templates) -> None:
        self._state = state
        self._templates = templates

    async def show(self, request: Request) -> Response:
        require(request, ACTIONS["ask"])
        return await self._render(request, FormValues({"version": _version(request)}))

    async def ask(self, request: Request) -> Response:
        require(request, ACTIONS["ask"])
        job_id = validation.check_job_id(request.path_params["job_id"])
        form = await forms.read_form(request)
        version = int(form["version"]) if form["version"].isdigit() else 0
        try:
            answer = await asking.ask(self._state.session, job_id, form["question"], version)
        except BadInputError as error:
            form.errors["question"] = name_fields(str(error))
            return await self._render(request, form, status=400)
        return await self._render(request, form, answer)

    async def commission(self, request: Request) -> Response:
        require(request, ACTIONS["commission"])
        job_id = validation.check_job_id(request.path_params["job_id"])
        form = await forms.read_form(request)
        taken = await asking.commission(self._state.session, job_id, form["question"])
        limit = f" It spends at most ${taken.budget_usd:,.2f} in all." if taken.budget_usd else ""
        notice = self._state.put_notice(
            Notice(
                f"Researched for version {taken.version} of the report; earlier work is not paid"
                f" again.{limit}"
            )
        )
        return RedirectResponse(f"/jobs/{quote(job_id)}?notice={notice}", status_code=303)

    async def compare(self, request: Request) -> Response:
        """What changed between two reports, each named as ID or ID@N."""
        require(request, ACTIONS["read"])
        job_id = validation.check_job_id(request.path_params["job_id"])
        names = [request.query_params.get(side, "").strip() for side in ("before", "after")]
        before, after = (name or job_id for name in names)
        found = await asking.compare(self._state.session, before, after)
        return self._templates.render(
            request,
            "compare.html",
            job_id=job_id,
            before=before,
            after=after,
            changes=_to_html(found.markdown),
        )

    async def _render(
        self, request: Request, form: FormValues, answer: Answer | None = None, status: int = 200
    ) -> Response:
        snapshot = await load_snapshot(self._state, request.path_params["job_id"])
        return self._templates.render(
            request,
            "ask.html",
            status,
            job=snapshot,
            form=form,
            answer=answer,
            text=_to_html(answer.text, answer) if answer else "",
            versions=await asking.find_versions(self._state.session, snapshot.job.id),
        )


def _version(request: Request) -> str:
    asked = request.query_params.get("version", "")
    return asked if asked.isdigit() else ""


def _to_html(markdown: str, answer: Answer | None = None) -> Markup:
    """Markdown as the report shows it; a citation leads to its quotes on the same page."""
    sources = tuple(
        SourceOut(
            n=citation.n, id=str(citation.n), uri="", title="", date=None, kind="", authority=0.0,
            origin="", sha256="",
        )
        for citation in (answer.citations if answer else ())
    )  # fmt: skip
    shown = ResearchResult(
        id="", question="", status="complete", model="", plan=PlanOut(kind=""), sources=sources,
        report_markdown="",
    )  # fmt: skip
    return MarkdownRenderer(QuoteLinks(shown)).to_html(markdown)
