"""Messages to running jobs, and the events of a job as they happen."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from fastapi.sse import format_sse_event
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

from console.api.dependencies import (
    Console,
    JobId,
    Operator,
    Reader,
    Researcher,
    describe_problems,
)
from console.api.job_endpoints import JobDetails
from console.client import asking, jobs
from console.web.job_snapshot import load_snapshot
from console.web.rendering import EventStream
from console.web.state import AppState
from workflows.contracts.asking import MAX_ASKED, Answer
from workflows.contracts.evidence import Message
from workflows.contracts.messages import Approve, Steer

router = APIRouter(tags=["jobs"], responses=describe_problems(409))

_POLL_SECONDS = 1.0


class Controlled(BaseModel):
    id: str
    answer: str


class Question(Message):
    question: str = Field(min_length=1, max_length=MAX_ASKED)
    version: int = Field(default=0, ge=0, le=9999)
    """Of the report; 0 is the newest."""


class WrongCitation(Message):
    claim: str = Field(min_length=1, max_length=64)
    """The id of the claim in the report."""
    source: int = Field(ge=1, le=99_999)
    """The number that the report cites the source by."""
    reason: str = Field(min_length=1, max_length=asking.MAX_REASON)
    version: int = Field(default=0, ge=0, le=9999)
    """Of the report; 0 is the newest."""


class Restart(Message):
    checkpoint: str | None = Field(default=None, max_length=300)
    """By default the last one."""
    facet: str | None = Field(default=None, max_length=64)
    """Research this facet once more, also where the job is complete."""


@router.post("/jobs/{job_id}/approve")
async def approve_plan(
    job_id: JobId, answer: Approve, _: Researcher, console: Console
) -> Controlled:
    """Approve the plan, replace it by an edited one, or reject it."""
    answered = await console.send_update(job_id, "approve", answer)
    return Controlled(id=job_id, answer=answered)


@router.post("/jobs/{job_id}/steer")
async def steer_job(job_id: JobId, changes: Steer, _: Researcher, console: Console) -> Controlled:
    """Add, drop or refine facets, add a note, set the budget."""
    answered = await console.send_update(job_id, "steer", changes)
    return Controlled(id=job_id, answer=answered)


@router.post("/jobs/{job_id}/pause")
async def pause_job(job_id: JobId, _: Researcher, console: Console) -> Controlled:
    """Make no model calls until the job is resumed."""
    return Controlled(id=job_id, answer=await console.control(job_id, "pause"))


@router.post("/jobs/{job_id}/resume")
async def resume_job(job_id: JobId, _: Researcher, console: Console) -> Controlled:
    """Continue a job that is blocked, paused or stopped."""
    return Controlled(id=job_id, answer=await console.control(job_id, "resume"))


@router.post("/jobs/{job_id}/finish")
async def finish_job(job_id: JobId, _: Researcher, console: Console) -> Controlled:
    """Start no more research; write the report from what was found."""
    return Controlled(id=job_id, answer=await console.control(job_id, "finish"))


@router.post("/jobs/{job_id}/cancel")
async def cancel_job(job_id: JobId, _: Researcher, console: Console) -> Controlled:
    """End a job without a report."""
    return Controlled(id=job_id, answer=await console.control(job_id, "cancel"))


@router.post("/jobs/{job_id}/restart")
async def restart_job(job_id: JobId, origin: Restart, _: Operator, console: Console) -> Controlled:
    """Start a new run from a checkpoint; earlier work is not paid again."""
    checkpoint = await console.restart(job_id, origin.checkpoint, origin.facet)
    return Controlled(id=job_id, answer=f"restarted from {checkpoint}")


@router.post("/jobs/{job_id}/ask")
async def ask_report(job_id: JobId, asked: Question, _: Researcher, console: Console) -> Answer:
    """Answer a question from what the job has found, with citations, through the same checks."""
    # Says whether there is such a job that the person may see.
    await jobs.find(console.client, job_id)
    return await asking.ask(console.session, job_id, asked.question, asked.version)


@router.post("/jobs/{job_id}/feedback")
async def call_citation_wrong(
    job_id: JobId, wrong: WrongCitation, _: Reader, console: Console
) -> Controlled:
    """Say that a citation of the report is wrong, and why."""
    await jobs.find(console.client, job_id)
    name = f"{job_id}@{wrong.version}" if wrong.version else job_id
    result = await asking.load_report(console.session, name)
    asking.report_citation(console.settings, result, wrong.claim, wrong.source, wrong.reason)
    return Controlled(id=job_id, answer="kept")


@router.get(
    "/jobs/{job_id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def follow_job(
    job_id: JobId,
    _: Reader,
    console: Console,
    request: Request,
    last_event_id: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """Server-sent events: `checkpoint` for each one, `job` at each change, `end` at the end.

    The stream goes on after `Last-Event-ID`: checkpoints are neither lost nor repeated.
    """
    await jobs.find(console.client, job_id)
    return EventStream(request, console, _poll(console, job_id, last_event_id or ""))


async def _poll(console: AppState, job_id: str, last: str) -> AsyncIterator[list[bytes]]:
    """The id of an event: how many checkpoints were sent, and a hash of the job as last sent."""
    number, _, sent = last.partition("-")
    seen = int(number) if number.isascii() and number.isdigit() else 0
    while True:
        details = JobDetails.of(await load_snapshot(console, job_id))
        events = []
        for checkpoint in details.checkpoints[seen:]:
            seen += 1
            events.append(_format_event("checkpoint", f"{seen}-{sent}", checkpoint))
        version = hashlib.sha256(details.model_dump_json().encode()).hexdigest()[:16]
        if version != sent:
            sent = version
            events.append(_format_event("job", f"{seen}-{sent}", details))
        if details.closed:
            end = Controlled(id=job_id, answer=details.state)
            yield [*events, _format_event("end", f"{seen}-{sent}", end)]
            return
        yield events
        await console.sleep(_POLL_SECONDS)


def _format_event(kind: str, event_id: str, data: BaseModel) -> bytes:
    return format_sse_event(event=kind, id=event_id, data_str=data.model_dump_json())
