"""Delete jobs, forget documents and tenants, each with a receipt that holds no content.

Objects of the store go first and histories last: a deletion that was interrupted is repeated by the
same command, because the histories still name what belongs to the job.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from temporalio.api.common.v1 import WorkflowExecution as WorkflowExecutionId
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.storage import corpus_versions, forgetting, retention
from activities.storage.references import find_mentioned, find_open
from activities.storage.retention import exclude_others
from activities.storage.store import Store
from console.client import jobs
from console.client.asking import JOBS
from console.client.audit import FeedbackLog, current_actor, recorded
from console.client.corpora import find as find_corpus
from console.client.corpora import remove as remove_corpus
from console.client.jobs import WORKFLOW
from console.devserver.server import compact_database, find_database
from console.errors import BadInputError, ConflictError, ConsoleError
from workflows.config.settings import Settings
from workflows.config.store_keys import listing_key
from workflows.contracts.activity_io import ObjectTotal
from workflows.contracts.state import ResearchState

OnProgress = Callable[[str], None]
Receipt = dict[str, Any]
_GONE_SECONDS = 180.0
_log = logging.getLogger(__name__)


async def delete_jobs(
    client: Client,
    settings: Settings,
    store: Store,
    job_ids: Collection[str],
    on_progress: OnProgress = lambda _: None,
) -> Receipt:
    """Delete jobs with their histories and all that they wrote. Raises `BadInputError` for an open
    one, and for one that an open job is a fork of."""
    with ExitStack() as records:
        for job_id in job_ids:
            records.enter_context(recorded("delete", job_id))
        runs = {job_id: await _find_runs(client, job_id) for job_id in job_ids}
        open_ids = await find_open(client)
        await _check_closed(store, job_ids, open_ids)
        on_progress("reading what the jobs refer to")
        closed = {run for own in runs.values() for run in own}
        mentioned = await find_mentioned(client, closed)
        others = open_ids.keys() - {workflow_id for workflow_id, _ in closed}
        needed = await find_mentioned(client, [(workflow_id, None) for workflow_id in others])
        async with exclude_others(store, "deletion"):
            deleted = await retention.delete_jobs(
                store, job_ids, mentioned, needed, has_open_jobs=bool(others)
            )
        missing = [job_id for job_id in job_ids if not runs[job_id]]
        if missing and not deleted.objects and not closed:
            raise jobs.JobNotFoundError(missing[0])
        on_progress("deleting histories")
        count = await _delete_histories(client, closed)
        FeedbackLog(settings).delete(job_ids)
        await _tidy_machine(settings, store)
        return _make_receipt(
            deleted.objects,
            jobs=sorted(job_ids),
            histories=count,
            left=deleted.left,
            turns_left_in_journals_of=deleted.shared_journals,
        )


async def forget_document(
    client: Client,
    settings: Settings,
    store: Store,
    source: str,
    *,
    with_reports: bool = False,
    on_progress: OnProgress = lambda _: None,
) -> Receipt:
    """Delete a document from all corpora, and with `with_reports` the jobs that have read it."""
    with recorded("forget document", source):
        receipt = await _forget_document(client, store, source, on_progress)
    if with_reports and (read_by := receipt["read_by"]):
        deleted = await delete_jobs(client, settings, store, read_by, on_progress)
        return receipt | {"deleted_jobs": deleted}
    await _tidy_machine(settings, store)
    return receipt


async def _forget_document(
    client: Client, store: Store, source: str, on_progress: OnProgress
) -> Receipt:
    inventory = await store.inventory()
    document = await forgetting.find_document(store, inventory, source)
    if not document.files:
        raise BadInputError(
            f"No corpus has a document {source}: give its path as `corpus show NAME` lists it, or"
            " its SHA-256."
        )
    open_ids = await find_open(client)
    mentioned = await find_mentioned(client, [(workflow_id, None) for workflow_id in open_ids])
    needed = await forgetting.find_needed(store, inventory, open_ids, mentioned)
    readers = [
        job_id
        for job_id in open_ids
        if document.listings.intersection(
            store.paths(listing_key(await _find_version(client, job_id)))
        )
    ]
    if readers or needed & document.listings:
        raise BadInputError(
            f"Open jobs read this document ({', '.join(readers) or 'see `list`'}): wait for them,"
            " or `cancel` them, and repeat the command."
        )
    on_progress("looking for the jobs that have read it")
    read_by = await forgetting.find_readers(store, inventory, document)
    async with exclude_others(store, "deletion"):
        forgotten = await forgetting.forget_document(store, inventory, document, needed)
    return _make_receipt(
        forgotten.objects,
        documents=len(document.files),
        corpora=forgotten.corpora,
        read_by=read_by,
    )


async def forget_tenant(
    client: Client,
    settings: Settings,
    store: Store,
    tenant: str,
    *,
    corpora: Sequence[str] = (),
    on_progress: OnProgress = lambda _: None,
) -> Receipt:
    """Delete all jobs of a tenant, and the corpora that are named."""
    with recorded("forget tenant", tenant):
        for name in corpora:
            await find_corpus(settings, name)
        found = await find_jobs_of(client, store, tenant)
        if not found and not corpora:
            raise BadInputError(f"There is no job of the tenant {tenant}: `list` shows the jobs.")
        for name in corpora:
            await remove_corpus(settings, name)
        receipt = (
            await delete_jobs(client, settings, store, found, on_progress)
            if found
            else _make_receipt({}, jobs=[])
        )
        return receipt | {"corpora": list(corpora)}


async def find_jobs_of(client: Client, store: Store, tenant: str) -> list[str]:
    """The jobs of a tenant that the server or the store knows."""
    if '"' in tenant or "\\" in tenant:
        raise BadInputError(f"{tenant!r} is no tenant: correct the name.")
    query = f'WorkflowType="{WORKFLOW}" AND ResearchTenant="{tenant}"'
    found = {run.id async for run in client.list_workflows(query)}
    for path in await store.inventory("checkpoints"):
        if (data := await store.read(path)) is not None:
            with suppress(ValidationError):  # of another version
                state = ResearchState.model_validate_json(data)
                found |= {state.id} if state.request.tenant == tenant else set()
    return sorted(found)


async def _find_runs(client: Client, job_id: str) -> set[tuple[str, str]]:
    """All runs of a job, of its passes and deliveries, and of what was asked and compared of it."""
    found: set[tuple[str, str]] = set()
    query = f'WorkflowId="{job_id}" OR WorkflowId STARTS_WITH "{job_id}/"'
    async for run in client.list_workflows(query):
        if run.id == job_id or run.workflow_type != WORKFLOW:
            found.add((run.id, run.run_id))
    asked = client.list_workflows('WorkflowType IN ("AskWorkflow", "CompareWorkflow")')
    async for run in asked:
        if job_id in await run.memo_value(JOBS, []):
            found.add((run.id, run.run_id))
    # The newest run may not be visible yet.
    if (description := await jobs.describe(client, job_id)) is not None:
        found.add((job_id, description.run_id))
    return found


async def _check_closed(store: Store, job_ids: Collection[str], open_ids: Collection[str]) -> None:
    for job_id in job_ids:
        if job_id in open_ids:
            raise ConflictError(
                f"The job {job_id} is open: `cancel {job_id}` ends it, then it can be deleted."
            )
    inventory = await store.inventory("checkpoints")
    own = await retention.find_job_folders(store, inventory, job_ids)
    for open_id in open_ids:
        fork = await retention.find_job_folders(store, inventory, [open_id])
        if fork.journals & own.jobs:
            raise ConflictError(
                f"The open job {open_id} is a fork and uses the journal of this one: wait for it,"
                f" or `cancel {open_id}`."
            )


async def _find_version(client: Client, workflow_id: str) -> str:
    """The version of its corpus that an open job was started on; empty if it names none."""
    description = await client.get_workflow_handle(workflow_id).describe()
    if description.workflow_type != WORKFLOW:
        return ""
    request, _ = await jobs.fetch_start_input(client, workflow_id)
    return corpus_versions.split_version(request.corpus or "")[1]


async def _delete_histories(client: Client, runs: Collection[tuple[str, str]]) -> int:
    """Delete runs and wait until the server has done so. Raises `ConsoleError` if it has not."""
    for workflow_id, run_id in runs:
        execution = WorkflowExecutionId(workflow_id=workflow_id, run_id=run_id)
        try:
            await client.workflow_service.delete_workflow_execution(
                DeleteWorkflowExecutionRequest(
                    namespace=client.namespace, workflow_execution=execution
                )
            )
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise jobs.no_answer(error) from error
    deadline = asyncio.get_running_loop().time() + _GONE_SECONDS
    for workflow_id, run_id in runs:
        while await _exists(client, workflow_id, run_id):
            if asyncio.get_running_loop().time() > deadline:
                raise ConsoleError(
                    f"The server has not deleted the history of {workflow_id} yet; all that the job"
                    " stored is gone. Repeat the command later."
                )
            await asyncio.sleep(0.2)
    return len(runs)


async def _exists(client: Client, workflow_id: str, run_id: str) -> bool:
    try:
        await client.get_workflow_handle(workflow_id, run_id=run_id).describe()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            visible = client.list_workflows(f'WorkflowId="{workflow_id}" AND RunId="{run_id}"')
            return bool([run async for run in visible])
        raise jobs.no_answer(error) from error
    return True


async def _tidy_machine(settings: Settings, store: Store) -> None:
    """Delete what this machine keeps of deleted objects and rows."""
    folder = Path(settings.state_dir)
    await retention.delete_stale_indexes(store, folder / "indexes")
    if not settings.has_server and find_database(folder).exists():
        await asyncio.to_thread(compact_database, folder)


def _make_receipt(objects: dict[str, ObjectTotal], **facts: object) -> Receipt:
    receipt = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "by": current_actor().name,
        "objects": {name: total.model_dump() for name, total in objects.items()},
        "bytes": sum(total.bytes for total in objects.values()),
        **facts,
    }
    _log.info("deleted: %s", receipt)
    return receipt
