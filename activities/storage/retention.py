"""An end for everything in the store: what a pass deletes by age, and what goes with a job.

A pass deletes what is older than its class may become, but nothing of an open job, and no text or
document that an open job or a kept report refers to. Ages count from when an object was written or
wanted last.

    journal, checkpoints   by job: as old as its newest object
    reports                one by one
    texts, corpora         only where nothing refers to them; texts outlive the journals that do
    payloads               unless the history of an open workflow refers to them

Passes, deletions and backups exclude each other by a lock in the store.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from temporalio.api.common.v1 import WorkflowExecution as WorkflowExecutionId
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryRequest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from activities.storage.backends import StoredObject
from activities.storage.references import (
    OnRead,
    find_added_corpora,
    find_hashes,
    find_references,
)
from activities.storage.store import PAYLOADS_FOLDER, Store
from workflows.config.store_keys import safe
from workflows.contracts.activity_io import ObjectTotal, RetentionResult

_logger = logging.getLogger(__name__)

CLASSES = {
    "journal": ("journal", "transcripts", "templates"),
    "checkpoints": ("checkpoints", "control"),
    "reports": ("reports",),
    "texts": ("texts", "findings", "ledgers", "rulings", "drafts", "damaged"),
    "corpora": (
        "corpora", "scans", "listings", "originals", "parsed", "manifests", "indexes",
        "index-parts", "newest-indexes",
    ),
    "payloads": (PAYLOADS_FOLDER,),
}  # fmt: skip
OTHER = "other"
_CLASS_OF = {folder: name for name, folders in CLASSES.items() for folder in folders}
_OF_JOBS = ("journal", "checkpoints", "reports")
LOCK = "locks/deletion"
_STALE_SECONDS = 600.0
_DAY = 24 * 3600.0
_MARGIN = 7 * _DAY
"""How much longer texts are kept than the journals and checkpoints that refer to them."""
USED_SECONDS = 1800.0
"""A job may refer to an object this long after it wanted it (see `backends.RENEW_SECONDS`)."""
_JOURNAL_FIELD = re.compile(rb'"journal":\s*("(?:[^"\\]|\\.)*")')
_RUN = re.compile(r"%2F[0-9a-f]{8}-[0-9a-f-]{27}$")

Inventory = Mapping[str, StoredObject]


class StoreInUse(ApplicationError):
    """Another deletion or a backup is under way."""

    def __init__(self, purpose: str) -> None:
        super().__init__(
            f"a {purpose} of this store is under way: repeat this when it is over", type="locked"
        )


@asynccontextmanager
async def exclude_others(store: Store, purpose: str) -> AsyncIterator[None]:
    """Hold the lock of deletions and backups; one that was not renewed is taken from its holder."""
    [path, *_] = store.paths(LOCK)
    held = (await store.inventory("locks")).get(path)
    if held is not None and time.time() - held.at > _STALE_SECONDS:
        await store.delete(LOCK)
    if not await store.put_new(LOCK, purpose.encode()):
        raise StoreInUse((await store.get(LOCK) or b"deletion").decode())

    async def renew() -> None:
        while True:
            await asyncio.sleep(_STALE_SECONDS / 10)
            with suppress(ApplicationError):
                await store.touch(LOCK)

    task = asyncio.create_task(renew())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await store.delete(LOCK)


def class_of(path: str) -> str:
    return _CLASS_OF.get(path.partition("/")[0], OTHER)


def add_up(inventory: Inventory, paths: Iterable[str] | None = None) -> dict[str, ObjectTotal]:
    """Number and bytes of objects, by class."""
    found: dict[str, list[int]] = defaultdict(list)
    for path in inventory if paths is None else paths:
        found[class_of(path)].append(inventory[path].size)
    names = [*CLASSES, OTHER]
    return {
        name: ObjectTotal(count=len(found[name]), bytes=sum(found[name]))
        for name in names
        if name in found
    }


# --- a pass by age ------------------------------------------------------------------------------


async def delete_old(
    store: Store,
    client: Client,
    keep_days: Mapping[str, float],
    *,
    dry_run: bool = False,
    on_read: OnRead = lambda _: None,
) -> RetentionResult:
    """Delete what is older than its class may become and not needed any more."""
    async with exclude_others(store, "retention pass"):
        running = await find_open(client)
        inventory = await store.inventory()
        ages = _Ages(inventory, keep_days)
        open_jobs = await find_job_folders(store, inventory, running)
        old = {
            path
            for name in ("journal", "checkpoints")
            for paths in _group_by_job(inventory, CLASSES[name]).values()
            if ages.are_old(paths) and not open_jobs.have(paths[0])
            for path in paths
        }
        reports = [path for path in inventory if class_of(path) == "reports"]
        old |= {path for path in reports if ages.are_old([path]) and not open_jobs.have(path)}
        roots = [path for path in reports if path not in old]
        roots += [path for path in inventory if is_of_job(path) and open_jobs.have(path)]
        roots += _find_newest_checkpoints(inventory, old)
        roots += await find_added_corpora(store, inventory)
        needed = await find_references(store, inventory, roots, on_read)
        shared = [path for path in inventory if class_of(path) in ("texts", "corpora")]
        old |= {path for path in shared if path not in needed and ages.are_old([path])}
        old |= await _find_old_payloads(client, inventory, ages, running)
        # A job may have been restarted meanwhile.
        restarted = await find_job_folders(store, inventory, await find_open(client))
        old = {path for path in old if not (is_of_job(path) and restarted.have(path))}
        if not dry_run:
            for path in sorted(old):
                await store.remove(path)
                on_read(1)
        deleted = add_up(inventory, old)
        _logger.info("retention %s %s", "would delete" if dry_run else "deleted", deleted)
        return RetentionResult(deleted=deleted, dry_run=dry_run, open_jobs=len(running))


@dataclass(frozen=True)
class _Ages:
    inventory: Inventory
    keep_days: Mapping[str, float]
    now: float = field(default_factory=time.time)

    def limit(self, name: str) -> float:
        """How old objects of a class become, in seconds."""
        seconds = self.keep_days[name] * _DAY or float("inf")
        if name in ("texts", "corpora"):
            return max(seconds, *(self.limit(own) + _MARGIN for own in ("journal", "checkpoints")))
        return seconds

    def are_old(self, paths: Collection[str]) -> bool:
        """Whether the newest of some objects of one class is too old."""
        newest = max(self.inventory[path].at for path in paths)
        return self.now - newest > self.limit(class_of(next(iter(paths))))


async def _find_old_payloads(
    client: Client, inventory: Inventory, ages: _Ages, running: Mapping[str, float]
) -> set[str]:
    old = {p for p in inventory if class_of(p) == "payloads" and ages.are_old([p])}
    # A payload that is used again is made new, so that younger workflows refer to younger ones.
    since = ages.now - ages.limit("payloads") + _DAY
    for workflow_id in [name for name, at in running.items() if at < since] if old else ():
        needed = await find_history_hashes(client, workflow_id)
        old = {path for path in old if path.rpartition("/")[2] not in needed}
    return old


def _find_newest_checkpoints(inventory: Inventory, old: Collection[str]) -> list[str]:
    jobs = _group_by_job(inventory, ("checkpoints",))
    newest = [max(paths, key=lambda path: inventory[path].at) for paths in jobs.values()]
    return [path for path in newest if path not in old]


async def delete_stale_indexes(store: Store, folder: Path) -> int:
    """Delete a machine's copies of indexes that the store does not have any more."""
    files = await asyncio.to_thread(lambda: list(folder.glob("*.sqlite3")))
    stale = [file for file in files if await store.get(f"indexes/{file.stem}.json") is None]
    for file in stale:
        await asyncio.to_thread(file.unlink, missing_ok=True)
    return len(stale)


# --- jobs and their objects ---------------------------------------------------------------------


async def find_open(client: Client) -> dict[str, float]:
    """When each open workflow was started, by its id."""
    found = client.list_workflows('ExecutionStatus="Running"')
    return {run.id: run.start_time.timestamp() async for run in found}


async def find_history_hashes(client: Client, workflow_id: str, run_id: str = "") -> set[str]:
    """The hashes in a history as the server has it: references to payloads are among them."""
    request = GetWorkflowExecutionHistoryRequest(
        namespace=client.namespace,
        execution=WorkflowExecutionId(workflow_id=workflow_id, run_id=run_id),
    )
    found: set[str] = set()
    while True:
        page = await client.workflow_service.get_workflow_execution_history(request, retry=True)
        found |= find_hashes(page.history.SerializeToString())
        request.next_page_token = page.next_page_token
        if not page.next_page_token:
            return found


@dataclass(frozen=True)
class JobFolders:
    """The folders of some jobs, as they stand in paths."""

    jobs: frozenset[str]
    journals: frozenset[str]
    """Journals may be those of other jobs, where a job is a fork."""

    def have(self, path: str) -> bool:
        kind, job = path.split("/", 2)[:2]
        job = job.removesuffix(".json") if kind == "control" else job
        if kind in CLASSES["journal"]:
            return job in self.journals or _RUN.sub("", job) in self.jobs
        return job in self.jobs


async def find_job_folders(
    store: Store, inventory: Inventory, job_ids: Iterable[str]
) -> JobFolders:
    jobs = frozenset(safe(job_id) for job_id in job_ids)
    journals = set(jobs)
    for path in inventory:
        kind, _, rest = path.partition("/")
        if kind == "checkpoints" and rest.partition("/")[0] in jobs:
            for name in _JOURNAL_FIELD.findall(await store.read(path) or b""):
                journals.add(safe(json.loads(name)))
    return JobFolders(jobs, frozenset(journals))


def is_of_job(path: str) -> bool:
    return class_of(path) in _OF_JOBS


def _group_by_job(inventory: Inventory, folders: Collection[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in inventory:
        kind, _, rest = path.partition("/")
        if kind in folders:
            found[rest.partition("/")[0].removesuffix(".json")].append(path)
    return found


@dataclass
class Deletion:
    """What was deleted of some jobs, and what was left because open jobs may need it."""

    objects: dict[str, ObjectTotal] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    shared_journals: list[str] = field(default_factory=list)


async def delete_jobs(
    store: Store,
    job_ids: Collection[str],
    *,
    hashes: Collection[str],
    names: Collection[str],
    payloads: Collection[str],
    has_open_jobs: bool,
    on_read: OnRead = lambda _: None,
) -> Deletion:
    """Delete all that some jobs wrote, and what nothing else refers to.

    `hashes` and `names` occur in their histories; `payloads` are those that no open one refers to.
    """
    inventory = await store.inventory()
    own = await find_job_folders(store, inventory, job_ids)
    # The turns of a fork are in its parent's journal, which stays while the parent does.
    parents = {name for name in own.journals - own.jobs if _RUN.sub("", name) not in own.jobs}
    folders = {"/".join(path.split("/")[:2]) for path in inventory}
    kept_parents = {
        name for name in parents if folders & {f"checkpoints/{name}", f"reports/{name}"}
    }
    own = JobFolders(own.jobs, own.journals - kept_parents)
    roots = {path for path in inventory if is_of_job(path) and own.have(path)}
    others = [path for path in inventory if is_of_job(path) and path not in roots]
    others += await find_added_corpora(store, inventory)
    mine = await find_references(store, inventory, roots, on_read, hashes=hashes, names=names)
    needed = await find_references(store, inventory, others, on_read) if mine - roots else set()
    gone = mine - needed | {
        path for path in inventory if _is_payload(path) and path.rpartition("/")[2] in payloads
    }
    now = time.time()
    left = {
        path
        for path in gone - roots
        if has_open_jobs and not _is_payload(path) and now - inventory[path].at < USED_SECONDS
    }
    for path in sorted(gone - left):
        await store.remove(path)
    return Deletion(add_up(inventory, gone - left), sorted(left), sorted(kept_parents))


def _is_payload(path: str) -> bool:
    return class_of(path) == "payloads"
