"""Runs of a job: begun, restarted from a checkpoint, forked. Nothing here prints.

A run starts from a request alone, or from the state an earlier run had kept. A job that ended well
is never started again under its own id; one that still runs is closed first, its passes with it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from console import checks, jobs, wishes
from console.faults import BadInputError, ConsoleError
from console.jobs import CLOSED_TO_RESTART, GOING, WORKFLOW, Found, Job
from console.store import Checkpoints, Kept
from workflows.config.policies import WORKFLOW_TASK_TIMEOUT
from workflows.config.settings import Settings
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.contracts.state import ResearchState
from workflows.rules.restart import change_request, fork_state, restart_state
from workflows.rules.status import describe_request

BEGINNING = "the beginning"

"""Of the question, beside the job in the server's record: lists show it, and nobody is asked."""

_CLOSING_SECONDS = 15.0


@dataclass(frozen=True)
class Origin:
    """Where a run is taken up: a checkpoint, or the beginning where there is no state."""

    request: ResearchRequest
    state: ResearchState | None = None
    run_id: str = ""
    checkpoint: str = BEGINNING


async def begin(
    client: Client, kept: Checkpoints, job_id: str, request: ResearchRequest
) -> tuple[Job, Origin]:
    """Start the job, or find the one that has this id; one that ended badly is restarted."""
    about = await jobs.describe(client, job_id)
    if about is None:
        if not await _start(client, job_id, request):
            return await begin(client, kept, job_id, request)  # somebody else was faster
        return Job(jobs.handle(client, job_id), Found.NEW), Origin(request)
    known, _ = await jobs.given(client, job_id)
    if known.question != request.question:
        raise BadInputError(
            f"The id {job_id} belongs to a job with another question: choose another --id."
        )
    if about.status is WorkflowExecutionStatus.COMPLETED or about.status in GOING:
        found = Found.RUNNING if about.status in GOING else Found.FINISHED
        return Job(jobs.handle(client, job_id), found), Origin(known)
    return await restart(client, kept, job_id)


async def restart(
    client: Client, kept: Checkpoints, job_id: str, name: str | None = None
) -> tuple[Job, Origin]:
    """A new run of the job, from its last checkpoint or a named one."""
    about = await jobs.describe(client, job_id)
    _not_complete(job_id, about)
    # Looked for before anything is closed: a name that is not there must change nothing.
    origin = await origin_of(client, kept, job_id, about, name)
    if about is not None and about.status in GOING:
        await _close(client, job_id)
        about = await jobs.describe(client, job_id)
        _not_complete(job_id, about)
        origin = await origin_of(client, kept, job_id, about, name)
    state = origin.state
    if state is not None:
        state = restart_state(state, run_id=origin.run_id, checkpoint=origin.checkpoint)
    if not await _start(client, job_id, origin.request, state):
        raise ConsoleError(f"The job {job_id} was started by somebody else just now: `watch` it.")
    return Job(jobs.handle(client, job_id), Found.RESTARTED), origin


async def fork(client: Client, origin: Origin, new_id: str, changes: Mapping[str, str]) -> Job:
    """Another job from there, with other settings."""
    assert origin.state is not None  # noqa: S101
    state = fork_state(
        origin.state,
        job_id=new_id,
        run_id=origin.run_id,
        checkpoint=origin.checkpoint,
        changes=changes,
    )
    reuse = WorkflowIDReusePolicy.REJECT_DUPLICATE
    if not await _start(client, new_id, state.request, state, reuse):
        raise BadInputError(f"There is a job {new_id} already: choose another --id.")
    return Job(jobs.handle(client, new_id), Found.NEW)


async def fork_from(
    client: Client,
    kept: Checkpoints,
    settings: Settings,
    job_id: str,
    *,
    name: str | None,
    changes: Mapping[str, str],
    new_id: str,
) -> tuple[Job, Origin, float | None]:
    """Another job from a checkpoint of this one; where it began, and the limit it was given.

    The limit is None where one was named, inherited, or no price is known.
    """
    about = await jobs.describe(client, job_id)
    origin = await origin_of(client, kept, job_id, about, name)
    if origin.state is None:
        raise BadInputError(
            f"The job {job_id} has no checkpoint yet: wait until `checkpoints {job_id}` shows"
            " one, or run its question anew."
        )
    try:
        request = change_request(origin.request, changes)
    except ValueError as error:
        raise BadInputError(f"--set {error}.") from None
    checks.affordable(request, settings)
    limit = None
    if request.budget.usd is None and "budget_usd" not in changes:
        limit = wishes.default_limit(request.model, request.effort)
    if limit is not None:
        changes = {**changes, "budget_usd": str(limit)}
    return await fork(client, origin, new_id, changes), origin, limit


async def origin_of(
    client: Client,
    kept: Checkpoints,
    job_id: str,
    about: WorkflowExecutionDescription | None,
    name: str | None,
) -> Origin:
    """The named checkpoint of the job, or its last run's last; else where that run began."""
    known = await kept.of(job_id)
    if about is None and not known:
        raise BadInputError(f"There is no job {job_id}: `list` shows the ones there are.")
    if name is not None:
        named = [item for item in known if item.name == name]
        if not named:
            names = ", ".join(dict.fromkeys(item.name for item in known)) or "none yet"
            raise BadInputError(f"The job {job_id} has no checkpoint {name!r}: it has {names}.")
        return await _from(kept, named[-1])
    own = [item for item in known if about is None or item.run_id == about.run_id]
    if own:
        return await _from(kept, own[-1])
    assert about is not None  # noqa: S101
    request, state = await jobs.given(client, job_id)
    if state is None:
        return Origin(request, run_id=about.run_id)
    point = state.checkpoints[-1].name if state.checkpoints else BEGINNING
    return Origin(state.request, state, about.run_id, point)


async def matching(client: Client, query: str) -> dict[str, set[str]]:
    """The runs a visibility query finds, by the id of their job; each id once."""
    found: dict[str, set[str]] = {}
    try:
        async for run in client.list_workflows(f'WorkflowType="{WORKFLOW}" AND ({query})'):
            found.setdefault(run.id, set()).add(run.run_id)
    except RPCError as error:
        if error.status is RPCStatusCode.INVALID_ARGUMENT:
            raise BadInputError(
                f"The query cannot be read ({error.message}): write it as"
                " 'ExecutionStatus=\"Failed\"' or 'ResearchStatus=\"blocked\"'."
            ) from error
        raise ConsoleError(f"The server does not answer ({error.message}): try again.") from error
    return found


async def _from(kept: Checkpoints, item: Kept) -> Origin:
    state = await kept.load(item)
    return Origin(state.request, state, item.run_id, item.name)


async def _start(
    client: Client,
    job_id: str,
    request: ResearchRequest,
    state: ResearchState | None = None,
    reuse: WorkflowIDReusePolicy = WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
) -> bool:
    """False where a job with this id runs or was completed."""
    try:
        await client.start_workflow(
            WORKFLOW,
            args=[request] if state is None else [request, state],
            id=job_id,
            task_queue=TASK_QUEUE,
            task_timeout=WORKFLOW_TASK_TIMEOUT,
            id_reuse_policy=reuse,
            **describe_request(request),
        )
    except WorkflowAlreadyStartedError:
        return False
    return True


def _not_complete(job_id: str, about: WorkflowExecutionDescription | None) -> None:
    if about is not None and about.status is WorkflowExecutionStatus.COMPLETED:
        raise BadInputError(
            f"The job {job_id} is complete, there is nothing to restart: `fork {job_id}` goes on"
            " from one of its checkpoints as another job."
        )


async def _close(client: Client, job_id: str) -> None:
    """End the run, and see that its pass is over: two must not work on one job.

    The pass is asked to cancel when its job is gone; one that nobody runs cannot answer and is
    ended here.
    """
    passes = await _open_passes(client, job_id)
    with contextlib.suppress(RPCError):  # it ended by itself in between
        await client.get_workflow_handle(job_id).terminate(reason=CLOSED_TO_RESTART)
    passes |= await _open_passes(client, job_id)
    deadline = asyncio.get_running_loop().time() + _CLOSING_SECONDS
    for child_id in sorted(passes):
        child = client.get_workflow_handle(child_id)
        while (await child.describe()).status is WorkflowExecutionStatus.RUNNING:
            if asyncio.get_running_loop().time() > deadline:
                with contextlib.suppress(RPCError):
                    await child.terminate(reason="its job was restarted from a checkpoint")
            await asyncio.sleep(0.1)


async def _open_passes(client: Client, job_id: str) -> set[str]:
    about = await jobs.describe(client, job_id)
    children = about.raw_description.pending_children if about else []
    return {child.workflow_id for child in children}
