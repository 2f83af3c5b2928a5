"""Everything known about a job at one moment.

A running job answers queries. If no worker answers, or the job ended without a report, the last
checkpoint is used; a finished job has its result.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from temporalio.exceptions import ApplicationError

from console.client import jobs
from console.client.checkpoints import StoredCheckpoint, summarize_checkpoint
from console.client.job_list import JobRecord, read_blocked
from console.client.jobs import Job, StartState
from console.client.progress import Progress, read_progress
from console.errors import ConsoleError
from console.web.state import AppState
from workflows.contracts.evidence import Contradiction
from workflows.contracts.request import ResearchRequest
from workflows.contracts.result import ResearchResult, Status
from workflows.contracts.state import Blocked, ResearchState
from workflows.rules.status import describe_status

if TYPE_CHECKING:
    from temporalio.client import WorkflowExecutionDescription

CheckpointRow = dict[str, Any]
Checkpoints = tuple[tuple[CheckpointRow, ...], ResearchState | None]


@dataclass(frozen=True)
class JobSnapshot:
    job: Job
    description: WorkflowExecutionDescription
    record: JobRecord
    request: ResearchRequest
    blocked: Blocked | None = None
    progress: Progress | None = None
    is_stopped: bool = False
    """Whether it is unfinished on the embedded server and no command works on it."""
    state: ResearchState | None = None
    as_of: str = ""
    """The checkpoint the state of an open job comes from, if no worker answered."""
    result: ResearchResult | None = None
    failure: str = ""
    """Why the job ended without a report."""
    contradictions: tuple[Contradiction, ...] = ()
    checkpoints: tuple[CheckpointRow, ...] = ()

    @property
    def id(self) -> str:
        return self.job.id

    @property
    def is_open(self) -> bool:
        return self.job.found is StartState.RUNNING

    @property
    def status(self) -> Status | None:
        """None before the first checkpoint of a job that no worker answers for."""
        if self.progress and self.progress.answered:
            return self.progress.status
        return describe_status(self.state) if self.state else None


async def load_snapshot(app: AppState, job_id: str) -> JobSnapshot:
    """Raises `BadInputError` for an unknown job, `ConsoleError` if the server does not answer."""
    job, description = await jobs.find(app.client, job_id)
    request = await fetch_request(app, job_id, description.run_id)
    known = JobSnapshot(job, description, JobRecord.of(description), request)
    return await (_load_open if known.is_open else _load_closed)(app, known)


async def _load_closed(app: AppState, known: JobSnapshot) -> JobSnapshot:
    app.worker_errors.pop(known.id, None)
    run_id = known.description.run_id
    checkpoints, last = await load_checkpoints(app, known.id, (run_id,))
    outcome = await app.fetch_outcome(known.job, run_id)
    known = replace(
        known,
        request=last.request if last else known.request,
        state=last,
        checkpoints=checkpoints,
    )
    if isinstance(outcome, ResearchResult):
        return replace(known, result=outcome, contradictions=outcome.contradictions)
    contradictions = await _load_contradictions(app, last)
    return replace(known, failure=outcome, contradictions=contradictions)


async def _load_open(app: AppState, known: JobSnapshot) -> JobSnapshot:
    blocked, progress = await read_blocked(known.description), await read_progress(known.job)
    if progress.answered:
        # The job goes on, here or elsewhere.
        app.worker_errors.pop(known.id, None)
    # A second query would wait for its timeout as well.
    state = await jobs.query_state(known.job) if progress.answered else None
    names = tuple(checkpoint.name for checkpoint in state.checkpoints) if state else ()
    version = (known.description.run_id, *names) if names else ()
    checkpoints, last = await load_checkpoints(app, known.id, version)
    as_of = ""
    if state is None and last is None:
        # A fork begins with the state of another job.
        _, last = await jobs.fetch_start_input(app.client, known.id)
    if state is None and last is not None:
        state, as_of = last, last.checkpoints[-1].name if last.checkpoints else "the beginning"
    return replace(
        known,
        request=state.request if state else known.request,
        # The job itself knows first that it goes on; its record follows.
        blocked=state.blocked if state and not as_of else blocked,
        progress=progress,
        is_stopped=(
            not progress.answered
            and app.session.server is not None
            and known.id not in app.session.workers
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


async def load_checkpoints(app: AppState, job_id: str, version: tuple[str, ...]) -> Checkpoints:
    """The checkpoints as rows, and the last state; cached while the job's version is the same."""

    async def load() -> Checkpoints:
        with contextlib.suppress(ConsoleError):
            found = await app.checkpoints.find(job_id)
            rows = [await _load_row(app, checkpoint) for checkpoint in found]
            return tuple(rows), await app.checkpoints.load(found[-1]) if found else None
        return (), None

    if not version:
        return await load()
    return await app.checkpoint_cache.get_or_load((job_id, *version), load)


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
