"""Everything known about a job at one moment.

A running job answers queries. If no worker answers, or the job ended without a report, the last
checkpoint is used; a finished job has its result.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from console.client import jobs, validation
from console.client.checkpoints import StoredCheckpoint, summarize_checkpoint
from console.client.job_list import JobRecord, read_blocked
from console.client.jobs import Job, StartState
from console.client.progress import Progress, read_progress
from console.errors import ConsoleError
from console.web.state import AppState
from workflows.contracts.evidence import Contradiction
from workflows.contracts.request import ResearchRequest
from workflows.contracts.result import ResearchResult
from workflows.contracts.state import Blocked, ResearchState

if TYPE_CHECKING:
    from temporalio.client import WorkflowExecutionDescription

CheckpointRow = dict[str, Any]
Checkpoints = tuple[tuple[CheckpointRow, ...], ResearchState | None]


@dataclass(frozen=True)
class JobSnapshot:
    job: Job
    description: WorkflowExecutionDescription
    state_name: str
    request: ResearchRequest
    blocked: Blocked | None = None
    progress: Progress | None = None
    is_stopped: bool = False
    """Whether it is unfinished on the embedded server and no command works on it."""
    state: ResearchState | None = None
    as_of: str = ""
    """The checkpoint the state comes from, if no worker answered."""
    result: ResearchResult | None = None
    failure: str = ""
    """Why the job ended without a report."""
    contradictions: tuple[Contradiction, ...] = ()
    checkpoints: tuple[CheckpointRow, ...] = ()

    @property
    def is_open(self) -> bool:
        return self.job.found is StartState.RUNNING


async def load_snapshot(app: AppState, job_id: str) -> JobSnapshot:
    """Raises `BadInputError` for an unknown job, `ConsoleError` if the server does not answer."""
    job, description = await jobs.find(app.client, validation.check_job_id(job_id))
    state_name = JobRecord.of(description).state
    request = await fetch_request(app, job_id, description.run_id)
    if job.found is StartState.RUNNING:
        blocked = await read_blocked(description)
        return await _load_open(app, JobSnapshot(job, description, state_name, request, blocked))
    app.worker_errors.pop(job_id, None)
    checkpoints, last = await _load_checkpoints(app, job_id, closed_run=description.run_id)
    outcome = await fetch_outcome(app, job, description.run_id)
    result = outcome if isinstance(outcome, ResearchResult) else None
    return JobSnapshot(
        job=job,
        description=description,
        state_name=state_name,
        request=last.request if last else request,
        state=last,
        as_of=last.checkpoints[-1].name if last and last.checkpoints else "",
        result=result,
        failure="" if isinstance(outcome, ResearchResult) else outcome,
        contradictions=result.contradictions if result else await _load_contradictions(app, last),
        checkpoints=checkpoints,
    )


async def _load_open(app: AppState, known: JobSnapshot) -> JobSnapshot:
    progress = await read_progress(known.job)
    if progress.answered:
        # The job goes on, here or elsewhere.
        app.worker_errors.pop(known.job.id, None)
    # A second query would wait for its timeout as well.
    state = await jobs.query_state(known.job) if progress.answered else None
    names = tuple(checkpoint.name for checkpoint in state.checkpoints) if state else ()
    checkpoints, last = await _load_checkpoints(app, known.job.id, known.description.run_id, names)
    as_of = ""
    if state is None and last is None:
        # A fork begins with the state of another job.
        _, last = await jobs.fetch_start_input(app.client, known.job.id)
    if state is None and last is not None:
        state, as_of = last, last.checkpoints[-1].name if last.checkpoints else "the beginning"
    return JobSnapshot(
        job=known.job,
        description=known.description,
        state_name=known.state_name,
        request=state.request if state else known.request,
        # The job itself knows first that it goes on; its record follows.
        blocked=state.blocked if state and not as_of else known.blocked,
        progress=progress,
        is_stopped=(
            not progress.answered
            and app.session.server is not None
            and known.job.id not in app.session.workers
        ),
        state=state,
        as_of=as_of,
        contradictions=await _load_contradictions(app, state),
        checkpoints=checkpoints,
    )


async def fetch_request(app: AppState, job_id: str, run_id: str) -> ResearchRequest:
    async def load() -> ResearchRequest:
        return (await jobs.fetch_start_input(app.client, job_id))[0]

    return await app.small_cache.get_or_load(("request", run_id), load)


async def fetch_outcome(app: AppState, job: Job, run_id: str) -> ResearchResult | str:
    """The result of a closed run, or the reason why there is none."""
    try:
        return await app.result_cache.get_or_load(run_id, lambda: jobs.fetch_outcome(job))
    except RPCError as error:
        raise jobs.no_answer(error) from error


async def load_last_state(app: AppState, job_id: str, run_id: str) -> ResearchState | None:
    """The last checkpoint of a job whose run is closed."""
    return (await _load_checkpoints(app, job_id, closed_run=run_id))[1]


async def _load_checkpoints(
    app: AppState,
    job_id: str,
    run_id: str = "",
    names: tuple[str, ...] = (),
    closed_run: str = "",
) -> Checkpoints:
    """The checkpoints as rows, and the last state; cached until the job has another checkpoint."""

    async def load() -> Checkpoints:
        with contextlib.suppress(ConsoleError):
            found = await app.checkpoints.find(job_id)
            rows = [await _load_row(app, checkpoint) for checkpoint in found]
            return tuple(rows), await app.checkpoints.load(found[-1]) if found else None
        return (), None

    if not closed_run and not names:
        return await load()
    return await app.checkpoint_cache.get_or_load((job_id, run_id, closed_run, names), load)


async def _load_row(app: AppState, checkpoint: StoredCheckpoint) -> CheckpointRow:
    async def load() -> CheckpointRow:
        return summarize_checkpoint(checkpoint, await app.checkpoints.load(checkpoint))

    return await app.small_cache.get_or_load((checkpoint.key, checkpoint.at), load)


class _Ledger(BaseModel):
    """The part of a ledger that the page of an unfinished job shows."""

    contradictions: tuple[Contradiction, ...] = ()


async def _load_contradictions(
    app: AppState, state: ResearchState | None
) -> tuple[Contradiction, ...]:
    """The contradictions of the ledger in the store; empty if it cannot be read."""
    if state is None or state.ledger is None or not state.ledger.contradictions:
        return ()
    try:
        ledger = await app.checkpoints.store.load(state.ledger.key, _Ledger)
    except (ApplicationError, ValidationError):
        return ()
    return ledger.contradictions
