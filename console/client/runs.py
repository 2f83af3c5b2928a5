"""Start, restart and fork jobs.

A run starts from a request alone, or from the state of a checkpoint. A job that completed is never
started again under its id; an open run is closed, with its refinement passes, before a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.common import (
    SearchAttributeKey,
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from activities.storage.reports import list_versions
from console.client import jobs, validation
from console.client.audit import TENANT, current_actor, recorded
from console.client.checkpoints import CheckpointStore, StoredCheckpoint
from console.client.jobs import CLOSED_FOR_RESTART, OPEN_STATUSES, WORKFLOW, Job, StartState
from console.client.research_request import default_budget_usd
from console.client.session import find_task_queue
from console.errors import BadInputError, ConflictError, ConsoleError, NotFoundError
from workflows.contracts.facets import Facet
from workflows.contracts.request import ResearchRequest
from workflows.contracts.spend import Budget
from workflows.contracts.state import ResearchState
from workflows.rules.restart import SETTABLE, change_request, fork_state, restart_state
from workflows.rules.status import describe_request

BEGINNING = "the beginning"
_CLOSE_SECONDS = 15.0


@dataclass(frozen=True)
class Origin:
    """Where a run starts: a checkpoint, or the beginning if there is no state."""

    request: ResearchRequest
    state: ResearchState | None = None
    run_id: str = ""
    checkpoint: str = BEGINNING
    faults: tuple[str, ...] = ()
    """What is wrong with newer checkpoints, which were passed over."""


async def begin(
    client: Client, checkpoints: CheckpointStore, job_id: str, request: ResearchRequest
) -> tuple[Job, Origin]:
    """Start the job, or find the existing one of this id; restart it if it ended badly."""
    request = current_actor().restrict(request)
    try:
        description = await jobs.describe(client, job_id)
    except jobs.JobNotFoundError:
        # A job that the actor must not see.
        raise BadInputError(f"The id {job_id} is taken: choose another --id.") from None
    if description is None:
        request = request.model_copy(update={"store_id": await checkpoints.identify()})
        with recorded("start", job_id):
            is_new = await _start(client, checkpoints, job_id, request)
        if not is_new:
            # Another process started it in the meantime.
            return await begin(client, checkpoints, job_id, request)
        return Job(jobs.get_handle(client, job_id), StartState.NEW), Origin(request)
    known, _ = await jobs.fetch_start_input(client, job_id)
    if known.question != request.question:
        raise ConflictError(
            f"The id {job_id} belongs to a job with another question: choose another --id."
        )
    if description.status in OPEN_STATUSES:
        return Job(jobs.get_handle(client, job_id), StartState.RUNNING), Origin(known)
    if description.status is WorkflowExecutionStatus.COMPLETED:
        return Job(jobs.get_handle(client, job_id), StartState.FINISHED), Origin(known)
    return await restart(client, checkpoints, job_id)


async def restart(
    client: Client,
    checkpoints: CheckpointStore,
    job_id: str,
    name: str | None = None,
    facet: str | Facet | None = None,
    budget: Budget | None = None,
) -> tuple[Job, Origin]:
    """Start a new run of the job from its last checkpoint or a named one.

    With `facet`, that facet is researched once more, or added, also where the job is complete; the
    new run publishes another version of the report. `budget` replaces the job's.
    """
    with recorded("restart", job_id):
        description = await jobs.describe(client, job_id)
        if facet is None:
            _check_not_complete(job_id, description)
        # Before the open run is closed: an unknown checkpoint name must change nothing.
        origin = await find_origin(client, checkpoints, job_id, description, name)
        if description is not None and description.status in OPEN_STATUSES:
            await _close(client, job_id)
            description = await jobs.describe(client, job_id)
            if facet is None:
                _check_not_complete(job_id, description)
            origin = await find_origin(client, checkpoints, job_id, description, name)
        state = origin.state
        if state is not None:
            published = await list_versions(checkpoints.store, job_id)
            try:
                state = restart_state(
                    state,
                    run_id=origin.run_id,
                    checkpoint=origin.checkpoint,
                    facet=facet,
                    version=published[-1].n + 1 if published else 1,
                )
            except ValueError as error:
                named = facet.id if isinstance(facet, Facet) else facet
                raise BadInputError(f"--facet {named}: {error}.") from None
            if budget is not None:
                state.request = state.request.model_copy(update={"budget": budget})
        reuse = (
            WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY
            if facet is None
            else WorkflowIDReusePolicy.ALLOW_DUPLICATE
        )
        request = state.request if state else origin.request
        if not await _start(client, checkpoints, job_id, request, state, reuse):
            raise ConsoleError(f"Another process has just started the job {job_id}: `watch` it.")
        return Job(jobs.get_handle(client, job_id), StartState.RESTARTED), origin


async def fork(
    client: Client,
    checkpoints: CheckpointStore,
    job_id: str,
    *,
    name: str | None,
    changes: Mapping[str, str],
    new_id: str,
) -> tuple[Job, Origin, float | None]:
    """Start another job from a checkpoint of this one, with other settings.

    Returns the job, its origin, and the default budget if it got one.
    """
    description = await jobs.describe(client, job_id)
    origin = await find_origin(client, checkpoints, job_id, description, name)
    if origin.state is None:
        raise BadInputError(
            f"The job {job_id} has no checkpoint yet: wait until `checkpoints {job_id}` shows"
            " one, or run its question again."
        )
    try:
        request = change_request(origin.request, changes)
    except ValueError as error:
        raise BadInputError(f"--set {error}.") from None
    validation.check_models(request, checkpoints.settings)
    limit = None
    if request.budget.usd is None and "budget_usd" not in changes:
        limit = default_budget_usd(request.model, request.effort)
    if limit is not None:
        changes = {**changes, "budget_usd": str(limit)}
    state = fork_state(
        origin.state,
        job_id=new_id,
        run_id=origin.run_id,
        checkpoint=origin.checkpoint,
        changes=changes,
    )
    reuse = WorkflowIDReusePolicy.REJECT_DUPLICATE
    with recorded(f"fork of {job_id}", new_id):
        is_new = await _start(client, checkpoints, new_id, state.request, state, reuse)
    if not is_new:
        raise ConflictError(f"There is already a job {new_id}: choose another --id.")
    return Job(jobs.get_handle(client, new_id), StartState.NEW), origin, limit


def parse_changes(assignments: Sequence[str]) -> dict[str, str]:
    """The settings of a fork from `key=value` texts."""
    changes: dict[str, str] = {}
    for text in assignments:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise BadInputError(f"--set {text!r} cannot be read: write it as key=value.")
        if key not in SETTABLE:
            raise BadInputError(f"--set {key} is not possible: choose among {', '.join(SETTABLE)}.")
        changes[key] = value
    return changes


async def find_origin(
    client: Client,
    checkpoints: CheckpointStore,
    job_id: str,
    description: WorkflowExecutionDescription | None,
    name: str | None,
) -> Origin:
    """The named checkpoint, or the last one of the last run, or that run's input."""
    known = await checkpoints.find(job_id)
    if description is None and not known:
        raise NotFoundError(f"There is no job {job_id}: `list` shows the existing ones.")
    if name is not None:
        named = [checkpoint for checkpoint in known if checkpoint.name == name]
        if not named:
            names = ", ".join(dict.fromkeys(item.name for item in known)) or "none yet"
            raise BadInputError(f"The job {job_id} has no checkpoint {name!r}: it has {names}.")
        return await _load_origin(checkpoints, named)
    own = [item for item in known if description is None or item.run_id == description.run_id]
    if not own and description is not None:
        # A run that was reset has its first checkpoints under the run it was reset from.
        inherited = await jobs.fetch_checkpoint_keys(client, job_id)
        own = [item for item in known if item.key in inherited]
    if own:
        return await _load_origin(checkpoints, own)
    assert description is not None  # noqa: S101
    request, state = await jobs.fetch_start_input(client, job_id)
    if state is None:
        return Origin(request, run_id=description.run_id)
    checkpoint = state.checkpoints[-1].name if state.checkpoints else BEGINNING
    return Origin(state.request, state, description.run_id, checkpoint)


async def find_runs(client: Client, query: str) -> dict[str, set[str]]:
    """The run ids that a visibility query finds, by job id."""
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


async def _load_origin(
    checkpoints: CheckpointStore, candidates: Sequence[StoredCheckpoint]
) -> Origin:
    newest = await checkpoints.load_newest(candidates)
    assert newest is not None  # noqa: S101
    checkpoint, state, faults = newest
    if not current_actor().sees(state.request.tenant, state.request.labels):
        raise jobs.JobNotFoundError(state.id)
    return Origin(state.request, state, checkpoint.run_id, checkpoint.name, tuple(faults))


async def _start(
    client: Client,
    checkpoints: CheckpointStore,
    job_id: str,
    request: ResearchRequest,
    state: ResearchState | None = None,
    reuse: WorkflowIDReusePolicy = WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
) -> bool:
    """False if a job of this id is open or completed."""
    by = current_actor().name
    request = request.model_copy(update={"by": by})
    if state is not None and state.parent is not None:
        how, state = state.parent.how, state.model_copy()
        state.record_act(how, by, datetime.now(UTC).isoformat())
    try:
        await client.start_workflow(
            WORKFLOW,
            args=[request] if state is None else [request, state],
            id=job_id,
            task_queue=find_task_queue(checkpoints.settings, job_id),
            task_timeout=checkpoints.settings.pace.task,
            id_reuse_policy=reuse,
            search_attributes=tenant_attribute(request),
            **describe_request(request),
        )
    except WorkflowAlreadyStartedError:
        return False
    return True


def tenant_attribute(request: ResearchRequest) -> TypedSearchAttributes:
    """Set at the start, so that the job is in its tenant's list before a worker runs it."""
    key = SearchAttributeKey.for_keyword(TENANT)
    pairs = [SearchAttributePair(key, request.tenant)] if request.tenant else []
    return TypedSearchAttributes(pairs)


def _check_not_complete(job_id: str, description: WorkflowExecutionDescription | None) -> None:
    if description is not None and description.status is WorkflowExecutionStatus.COMPLETED:
        raise ConflictError(
            f"The job {job_id} is complete, there is nothing to restart: `fork {job_id}` continues"
            " from one of its checkpoints as another job."
        )


async def _close(client: Client, job_id: str) -> None:
    """Terminate the run and wait until its passes have ended: no two runs work on one job.

    Temporal cancels a pass when its parent closes. A pass that no worker runs cannot react to that
    and is terminated here.
    """
    passes = await _find_open_passes(client, job_id)
    with contextlib.suppress(RPCError):  # the run ended in the meantime
        await client.get_workflow_handle(job_id).terminate(reason=CLOSED_FOR_RESTART)
    passes |= await _find_open_passes(client, job_id)
    deadline = asyncio.get_running_loop().time() + _CLOSE_SECONDS
    for child_id in sorted(passes):
        child = client.get_workflow_handle(child_id)
        while (await child.describe()).status is WorkflowExecutionStatus.RUNNING:
            if asyncio.get_running_loop().time() > deadline:
                with contextlib.suppress(RPCError):
                    await child.terminate(reason="its job was restarted from a checkpoint")
            await asyncio.sleep(0.1)


async def _find_open_passes(client: Client, job_id: str) -> set[str]:
    description = await jobs.describe(client, job_id)
    return set(jobs.find_passes(description)) if description else set()
