"""The page of a job, the stream of its changes, and the report of a finished one."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from console.client import jobs, validation
from console.client.asking import MAX_REASON, load_report, report_citation
from console.client.audit import Actor, JsonLines, act_as, recorded
from console.client.jobs import StartState
from console.errors import BadInputError
from console.report.formats import FORMATS
from console.report.page import CONTENT_POLICY, FORM_POLICY, render_page
from console.report.quote_links import QuoteLinks
from console.web import forms
from console.web.auth import SHARED_PATH, Authenticator, find_address
from console.web.forms import FormValues
from console.web.job_snapshot import JobSnapshot, fetch_outcome, load_snapshot
from console.web.job_view import JobView, build_view
from console.web.people import ACTIONS, require
from console.web.rendering import Templates, part_version, stream_parts
from console.web.state import AppState, Notice
from workflows.config.settings import Settings
from workflows.contracts.result import ResearchResult

LIVE_PARTS = ("glance", "facets", "gaps", "contested", "checkpoints", "remarks", "actions")
"""The parts that change. `actions` has forms and is not replaced while somebody types."""

SHARE_DAYS = ("1", "7", "30")
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
        fields = {"id": link.id, "version": str(version), "expires": str(expires), "by": by}
        self._lines.write(job=job, **fields)
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


class ReportDownloads:
    def __init__(self, state: AppState, templates: Templates, authenticator: Authenticator) -> None:
        self._state = state
        self._templates = templates
        self._authenticator = authenticator
        self._links = ShareLinks(state.settings)

    async def show_links(self, request: Request) -> Response:
        """The links to the report that still work, and a form for another one."""
        require(request, ACTIONS["share"])
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
        person = require(request, ACTIONS["share"])
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
        job_id, secret = request.path_params["job_id"], request.path_params["secret"]
        job_id = validation.check_job_id(job_id)
        link = self._authenticator.check_secret(
            request, secret, partial(self._links.find, job_id), "open link"
        )
        if link is None:
            raise HTTPException(410, "This link is wrong or has ended: ask who sent it.")
        # The link counts, not who opens it.
        actor = Actor(address=find_address(request), log=self._authenticator.log)
        act_as(actor)
        result = await load_report(self._state.session, f"{job_id}@{link.version}")
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
            max_reason=MAX_REASON,
        )
        back = f"/jobs/{quote(result.id, safe='')}"
        text = await asyncio.to_thread(render_page, result, back, box=Markup(box))  # noqa: S704
        policy = f"{FORM_POLICY}; frame-ancestors 'none'"
        return HTMLResponse(text, headers={"Content-Security-Policy": policy})

    async def call_citation_wrong(self, request: Request) -> Response:
        require(request, ACTIONS["read"])
        form = await forms.read_form(request)
        result = await self._fetch_result(request)
        claim, _, n = form["citation"].rpartition(" ")
        number = int(n) if n.isdecimal() else 0
        report_citation(self._state.settings, result, claim, number, form["reason"])
        back = f"/jobs/{quote(result.id, safe='')}/report?version={result.version}&kept=1#feedback"
        return RedirectResponse(back, status_code=303)

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
