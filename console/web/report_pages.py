"""The report of a finished job: read, downloaded, shared, asked and compared."""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from console.client import asking, validation
from console.client.audit import Actor, JsonLines, act_as, recorded
from console.errors import BadInputError
from console.report.chapters import MarkdownRenderer
from console.report.page import CONTENT_POLICY, FORM_POLICY, render_page
from console.report.quote_links import QuoteLinks
from console.web import forms
from console.web.auth import SHARED_PATH, Authenticator, find_address
from console.web.forms import FormValues
from console.web.job_snapshot import load_snapshot
from console.web.rendering import Templates, send_report
from console.web.state import AppState
from workflows.config.settings import Settings
from workflows.contracts.asking import Answer
from workflows.contracts.result import PlanOut, ResearchResult, SourceOut

SHARE_DAYS = ("1", "7", "30")


@dataclass(frozen=True)
class ShareLink:
    id: str
    job: str
    version: int
    expires: int
    by: str = ""

    @property
    def is_expired(self) -> bool:
        return time.time() >= self.expires


class ShareLinks:
    """Kept as lines of JSON beside the audit log, and signed with a key that the first link makes.

    A link ends at its time, when it is revoked, and with the key: who deletes `share.key` ends all.
    """

    def __init__(self, settings: Settings) -> None:
        self._lines = JsonLines(Path(settings.state_dir) / "share_links.jsonl")
        self._key_file = Path(settings.state_dir) / "share.key"

    def create(self, job: str, version: int, days: int, by: str) -> ShareLink:
        expires = int(time.time()) + days * 24 * 3600
        link = ShareLink(secrets.token_hex(8), job, version, expires, by)
        self._lines.write(**{name: str(value) for name, value in asdict(link).items()})
        return link

    def revoke(self, job: str, link_id: str, by: str) -> None:
        self._lines.write(job=job, id=link_id, revoked="yes", by=by)

    def list_valid(self, job: str) -> list[ShareLink]:
        """The links of a job that still work."""
        links: dict[str, ShareLink] = {}
        for line in self._lines.read(job):
            if line.get("revoked"):
                links.pop(line["id"], None)
            else:
                numbers = int(line["version"]), int(line["expires"])
                links[line["id"]] = ShareLink(line["id"], job, *numbers, line["by"])
        return [link for link in links.values() if not link.is_expired]

    def sign(self, link: ShareLink) -> str:
        """The secret part of the link's address."""
        text = f"{link.id} {link.job} {link.version} {link.expires}"
        return f"{link.id}-{hmac.digest(self._load_key(), text.encode(), 'sha256').hex()}"

    def find(self, job: str, secret: str) -> ShareLink | None:
        """The valid link with this secret. Every signature is compared in constant time."""
        found = None
        for link in self.list_valid(job):
            if hmac.compare_digest(self.sign(link).encode(), secret.encode()):
                found = link
        return found

    def _load_key(self) -> bytes:
        try:
            descriptor = os.open(self._key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return self._key_file.read_bytes()
        with open(descriptor, "wb") as file:
            file.write(secrets.token_bytes(32))
        return self._key_file.read_bytes()


class ReportPages:
    def __init__(self, state: AppState, templates: Templates, authenticator: Authenticator) -> None:
        self._state = state
        self._templates = templates
        self._authenticator = authenticator
        self._links = ShareLinks(state.settings)

    async def show_links(self, request: Request) -> Response:
        """The links to the report that still work, and a form for another one."""
        result = await self._fetch_result(request)
        return self._templates.render(
            request,
            "share.html",
            result=result,
            links=[(link, self._links.sign(link)) for link in self._links.list_valid(result.id)],
            origin=f"{request.url.scheme}://{request.url.netloc}{SHARED_PATH}",
        )

    async def change_links(self, request: Request) -> Response:
        """Share the newest version for some days, or revoke a link."""
        person = request.state.person
        form = await forms.read_form(request)
        result = await self._fetch_result(request)
        with recorded("revoke link" if form["revoke"] else "share", result.id):
            if form["revoke"]:
                self._links.revoke(result.id, form["revoke"], person.name)
            elif form["days"] in SHARE_DAYS:
                self._links.create(result.id, result.version, int(form["days"]), person.name)
            else:
                raise BadInputError("Choose how long the link works.")
        return RedirectResponse(f"/jobs/{quote(result.id, safe='')}/share", status_code=303)

    async def show_shared(self, request: Request) -> Response:
        """One version of a report for who has the link, and nothing else of the console."""
        job_id = validation.check_job_id(request.path_params["job_id"])
        secret = request.path_params["secret"]
        link = self._authenticator.check_secret(
            request, secret, partial(self._links.find, job_id), "open link"
        )
        if link is None:
            raise HTTPException(410, "This link is wrong or has ended: ask who sent it.")
        # The link counts, not who opens it.
        actor = Actor(address=find_address(request), log=self._authenticator.log)
        act_as(actor)
        result = await asking.load_report(self._state.session, f"{job_id}@{link.version}")
        actor.record("open link", job_id, f"done: {link.id}")
        text = await asyncio.to_thread(render_page, result)
        policy = f"{CONTENT_POLICY}; frame-ancestors 'none'"
        headers = {"Content-Security-Policy": policy, "X-Robots-Tag": "noindex"}
        return HTMLResponse(text, headers=headers)

    async def show(self, request: Request) -> Response:
        """The content of report.html with a way back and boxes for questions and feedback."""
        result = await self._fetch_result(request)
        links = await asyncio.to_thread(QuoteLinks, result)
        box = self._templates.render_part(
            request,
            "report_boxes",
            result=result,
            cited=links.entries,
            may_ask=request.state.person.may("ask"),
            is_kept="kept" in request.query_params,
            max_reason=asking.MAX_REASON,
        )
        back = f"/jobs/{quote(result.id, safe='')}"
        text = await asyncio.to_thread(render_page, result, back, box=Markup(box))  # noqa: S704
        policy = f"{FORM_POLICY}; frame-ancestors 'none'"
        return HTMLResponse(text, headers={"Content-Security-Policy": policy})

    async def call_citation_wrong(self, request: Request) -> Response:
        form = await forms.read_form(request)
        result = await self._fetch_result(request)
        claim, _, n = form["citation"].rpartition(" ")
        number = int(n) if n.isdecimal() else 0
        asking.report_citation(self._state.settings, result, claim, number, form["reason"])
        back = f"/jobs/{quote(result.id, safe='')}/report?version={result.version}&kept=1#feedback"
        return RedirectResponse(back, status_code=303)

    async def download(self, request: Request) -> Response:
        result = await self._fetch_result(request)
        return await send_report(result, request.url.path.rpartition("/report.")[2])

    async def _fetch_result(self, request: Request) -> ResearchResult:
        job_id = request.path_params["job_id"]
        if version := request.query_params.get("version"):
            return await asking.load_report(self._state.session, f"{job_id}@{version}")
        return await self._state.fetch_report(job_id)

    async def show_ask_form(self, request: Request) -> Response:
        version = request.query_params.get("version", "")
        form = FormValues({"version": version if version.isdigit() else ""})
        return await self._render_ask_form(request, form)

    async def ask(self, request: Request) -> Response:
        job_id = request.path_params["job_id"]
        form = await forms.read_form(request)
        version = int(form["version"]) if form["version"].isdigit() else 0
        with form.collect_error("question"):
            answer = await asking.ask(self._state.session, job_id, form["question"], version)
            return await self._render_ask_form(request, form, answer)
        return await self._render_ask_form(request, form, status=422)

    async def commission(self, request: Request) -> Response:
        job_id = request.path_params["job_id"]
        form = await forms.read_form(request)
        taken = await asking.commission(self._state.session, job_id, form["question"])
        limit = f" It spends at most ${taken.budget_usd:,.2f} in all." if taken.budget_usd else ""
        return self._templates.redirect(
            f"Researched for version {taken.version} of the report; earlier work is not paid"
            f" again.{limit}",
            job_id,
        )

    async def compare(self, request: Request) -> Response:
        """What changed between two reports, each named as ID or ID@N."""
        job_id = request.path_params["job_id"]
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

    async def _render_ask_form(
        self, request: Request, form: FormValues, answer: Answer | None = None, status: int = 200
    ) -> Response:
        job = await load_snapshot(self._state, request.path_params["job_id"])
        return self._templates.render(
            request,
            "ask.html",
            status,
            job=job,
            form=form,
            answer=answer,
            text=_to_html(answer.text, answer) if answer else "",
            versions=await asking.find_versions(self._state.session, job.id),
        )


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
