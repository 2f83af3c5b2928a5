"""Jobs: create, list, read, and their reports."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import fields
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from console.api.dependencies import (
    Console,
    JobId,
    Operator,
    Reader,
    Researcher,
    describe_problems,
)
from console.client import asking, corpora, jobs
from console.client.job_list import JobRecord, list_page
from console.client.job_options import JobOptions, new_job_id
from console.client.jobs import StartState
from console.client.research_request import MAX_FACETS, MAX_PASSES, build_request
from console.client.validation import JOB_ID
from console.errors import BadInputError, ConflictError, NotFoundError
from console.report.formats import FORMATS
from console.web.job_snapshot import JobSnapshot, load_snapshot
from console.web.people import Person
from console.web.rendering import send_report
from console.web.state import AppState
from workflows.contracts.activity_io import ObjectTotal
from workflows.contracts.asking import Clarification
from workflows.contracts.facets import Effort, Plan
from workflows.contracts.request import Approval, Label, ResearchRequest, RubricPoint, WebhookUrl
from workflows.contracts.result import ResearchResult, Status
from workflows.contracts.spend import Budget

router = APIRouter(tags=["jobs"])

# The first is what generators of clients go by: bytes, whatever the format.
_FILES = {
    "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
    **{one.media_type.partition(";")[0]: {} for one in FORMATS.values()},
}

Format = Annotated[str, Path(json_schema_extra={"enum": list(FORMATS)})]
Key = Annotated[
    str | None,
    Header(min_length=1, max_length=200, description="Repeating a request starts no second job."),
]
Domain = Annotated[str, StringConstraints(max_length=300)]


class NewJob(BaseModel):
    """A question and how it is researched. What is left out is as on the command line."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, max_length=40_000)
    id: str | None = Field(default=None, pattern=f"^{JOB_ID}$")
    """The id of the new job; made by the server unless given."""
    corpus: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,160}$")
    """A corpus of the store, `NAME` or `NAME@VERSION`."""
    labels: list[Label] = []
    model: str | None = Field(default=None, max_length=300)
    web: bool | None = None
    allow_domains: list[Domain] = []
    block_domains: list[Domain] = []
    code: bool = False
    economy: bool = False
    effort: Effort = Effort.STANDARD
    max_passes: int | None = Field(default=None, ge=0, le=MAX_PASSES)
    max_facets: int | None = Field(default=None, ge=1, le=MAX_FACETS)
    budget: Budget = Budget()
    approval: Approval | None = None
    """Wait for a person to approve the plan."""
    rubric: list[RubricPoint] = Field(default=[], max_length=40)
    audience: str = Field(default="", max_length=300)
    length: str = Field(default="", max_length=300)
    tone: str = Field(default="", max_length=300)
    webhook: WebhookUrl | None = None

    def build(self, console: AppState) -> ResearchRequest:
        same = {field.name for field in fields(JobOptions)} - {"effort", "rubric"}
        options = JobOptions(
            **self.model_dump(include=same),
            effort=self.effort.value,
            budget_usd=self.budget.usd,
            budget_tokens=self.budget.tokens,
        )
        return build_request(options, console.settings).model_copy(
            update={"approval": self.approval, "rubric": tuple(self.rubric)}
        )


class JobStarted(BaseModel):
    id: str
    found: StartState
    """`new`, or the state of the job that an earlier request with the same key started."""


class Clarified(Clarification):
    id: str
    """The id to start the job with: what its questions left behind is deleted with it."""


class Deleted(BaseModel):
    """The receipt of a deletion; it holds nothing of the job's content."""

    at: str
    by: str
    jobs: list[str]
    histories: int
    objects: dict[str, ObjectTotal]
    """Of the store, by class."""
    bytes: int
    left: list[str]
    """Objects that another open job may need; a retention pass deletes them later."""
    turns_left_in_journals_of: list[str]
    """Jobs that this one was a fork of: its model calls are deleted with theirs."""


class JobFilter(BaseModel):
    model_config = ConfigDict(extra="forbid")

    state: str | None = Field(default=None, max_length=40)
    limit: int = Field(default=50, ge=1, le=100)
    page: str | None = Field(default=None, max_length=4000)
    """The `next` of the page before."""


class JobList(BaseModel):
    jobs: list[JobRecord]
    next: str
    """The token of the next page; empty on the last one."""


class CheckpointOut(BaseModel):
    model_config = ConfigDict(extra="ignore")

    name: str
    run_id: str
    at: str
    phase: str
    usd: float
    turns: int
    holds: str


class JobDetails(BaseModel):
    id: str
    state: str
    question: str
    started: str
    closed: str
    status: Status | None
    """None before the first checkpoint of a job that no worker answers for."""
    steps: list[str] = []
    """What its workers do now."""
    failure: str = ""
    """Why it ended without a report."""
    checkpoints: list[CheckpointOut] = []

    @classmethod
    def of(cls, snapshot: JobSnapshot) -> JobDetails:
        record, progress = snapshot.record, snapshot.progress
        return cls(
            id=record.id,
            state=record.state,
            question=snapshot.request.question,
            started=record.started,
            closed=record.closed,
            status=snapshot.status,
            steps=[step.step for step in progress.pending] if progress else [],
            failure=snapshot.failure,
            checkpoints=[CheckpointOut.model_validate(row) for row in snapshot.checkpoints],
        )


@router.post(
    "/jobs",
    status_code=201,
    responses=describe_problems(409)
    | {200: {"model": JobStarted, "description": "Started by an earlier request with the key"}},
)
async def create_job(
    new: NewJob,
    person: Researcher,
    console: Console,
    request: Request,
    response: Response,
    idempotency_key: Key = None,
) -> JobStarted:
    """Start a job. A repeated `Idempotency-Key` gives the job of the first request."""
    research = await asyncio.to_thread(new.build, console)
    job_id = new.id or new_job_id()
    if idempotency_key is not None:
        job_id = await _settle_id(console, person, idempotency_key, new, job_id)
    known = await jobs.describe(console.client, job_id)
    if known is None:
        job = await console.start(job_id, research)
    elif idempotency_key is None:
        raise ConflictError(f"There is already a job {job_id}: choose another id.")
    else:
        job, _ = await jobs.find(console.client, job_id)
        response.status_code = 200
    response.headers["Location"] = f"{request.scope['root_path']}/jobs/{job_id}"
    return JobStarted(id=job_id, found=job.found)


@router.post("/questions/clarify")
async def clarify_question(new: NewJob, _: Researcher, console: Console) -> Clarified:
    """Up to three questions with suggested answers where the question of a new job is vague."""
    research = await asyncio.to_thread(new.build, console)
    research = await corpora.publish_for(research, console.settings)
    job_id = new.id or new_job_id()
    found = await asking.clarify(console.session, job_id, research)
    return Clarified(id=job_id, **found.model_dump())


async def _settle_id(console: AppState, person: Person, key: str, new: NewJob, job_id: str) -> str:
    """The id of the job that was first asked for with this key. The key is this person's own."""
    digest = hashlib.sha256(f"{person.tenant}\0{person.name}\0{key}".encode()).hexdigest()
    asked = hashlib.sha256(new.model_dump_json().encode()).hexdigest()
    record = json.dumps({"job": job_id, "request": asked}).encode()
    kept = json.loads(await console.checkpoints.store.settle(f"idempotency/{digest}.json", record))
    if kept["request"] != asked:
        raise BadInputError("This Idempotency-Key belongs to another request: choose another one.")
    return str(kept["job"])


@router.get("/jobs")
async def list_jobs(wanted: Annotated[JobFilter, Query()], _: Reader, console: Console) -> JobList:
    """The last runs of jobs, newest first. A page may have fewer jobs than its limit."""
    state = wanted.state
    found, following = await list_page(console.client, state, wanted.limit, wanted.page)
    records = [JobRecord.of(run) for run in found]
    return JobList(
        jobs=[record for record in records if state in (None, "running", record.state)],
        next=following,
    )


@router.get("/jobs/{job_id}")
async def get_job(job_id: JobId, _: Reader, console: Console) -> JobDetails:
    return JobDetails.of(await load_snapshot(console, job_id))


@router.delete("/jobs/{job_id}", responses=describe_problems(409))
async def delete_job(job_id: JobId, _: Operator, console: Console) -> Deleted:
    """Delete a job that has ended, with all that it stored. Answers when it is gone."""
    return Deleted.model_validate(await console.delete(job_id))


@router.get("/jobs/{job_id}/plan", responses=describe_problems(409))
async def get_plan(job_id: JobId, _: Reader, console: Console) -> Plan:
    """The plan, which `approve` may send back edited."""
    state = (await load_snapshot(console, job_id)).state
    if state is None or state.plan is None:
        raise ConflictError(f"The job {job_id} has no plan yet.")
    return state.plan


@router.get("/jobs/{job_id}/report", responses=describe_problems(409))
async def get_report(job_id: JobId, _: Reader, console: Console) -> ResearchResult:
    """The report with its claims, quotes and sources."""
    return await console.fetch_report(job_id)


@router.get(
    "/jobs/{job_id}/report/{report_format}",
    response_class=Response,
    responses=describe_problems(409) | {200: {"content": _FILES}},
)
async def download_report(
    job_id: JobId, report_format: Format, _: Reader, console: Console
) -> Response:
    """The report as a file."""
    if report_format not in FORMATS:
        raise NotFoundError(f"There is no format {report_format}: use {', '.join(FORMATS)}.")
    return await send_report(await console.fetch_report(job_id), report_format)
