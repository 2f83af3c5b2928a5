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
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from activities.storage.backends import StoredObject
from activities.storage.references import (
    HEADS,
    Mentioned,
    OnRead,
    find_dependents,
    find_lasting_corpora,
    find_mentioned,
    find_open,
    find_references,
)
from activities.storage.store import PAYLOADS_FOLDER, Store
from workflows.config.store_keys import safe
from workflows.contracts.activity_io import ObjectTotal, RetentionResult

_logger = logging.getLogger(__name__)

CLASSES = {
    "journal": ("journal", "transcripts", "templates"),
    "checkpoints": ("checkpoints", "control", "idempotency"),
    "reports": ("reports",),
    "texts": ("texts", "findings", "ledgers", "rulings", "drafts", "damaged"),
    "corpora": (
        "corpora", "scans", "listings", "packs", "originals", "parsed", "indexes", "index-parts",
        "newest-indexes",
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
_HALF_WRITTEN_SECONDS = 3600.0
_REFERRING = (*HEADS, "listings/", "packs/", "indexes/")
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
    try:
        async with store.keep_fresh(LOCK, _STALE_SECONDS / 10):
            yield
    finally:
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
        old = {path for path in _find_old_of_jobs(ages) if not open_jobs.have(path)}
        roots = [path for path in inventory if is_of_job(path) and open_jobs.have(path)]
        roots += [path for path in inventory if class_of(path) == "reports" and path not in old]
        roots += _find_newest_checkpoints(inventory, old)
        roots += await find_lasting_corpora(store, inventory)
        # A young version or index may be read again: nothing that it refers to goes before it.
        roots += [p for p in inventory if p.startswith(_REFERRING) and not ages.are_old([p])]
        mentioned = await find_mentioned(client, ages.find_elder(running))
        needed = await find_references(store, inventory, roots, on_read, mentioned=mentioned)
        old |= _find_unneeded(ages, needed, mentioned)
        # A job may have been restarted meanwhile.
        restarted = await find_job_folders(store, inventory, await find_open(client))
        old = {path for path in old if not (is_of_job(path) and restarted.have(path))}
        if not dry_run:
            old = await _remove_unchanged(store, inventory, old, on_read)
            await store.delete_half_written(_HALF_WRITTEN_SECONDS)
        deleted = add_up(inventory, old)
        _logger.info("retention %s %s", "would delete" if dry_run else "deleted", deleted)
        return RetentionResult(deleted=deleted, dry_run=dry_run, open_jobs=len(running))


async def _remove_unchanged(
    store: Store, inventory: Inventory, paths: Collection[str], on_read: OnRead = lambda _: None
) -> set[str]:
    """Remove what nobody has wanted meanwhile; returns what was removed.

    Heads of corpora come first: one that was renewed has its version in use again, and which of
    the objects are that version's is not known any more.
    """
    removed: set[str] = set()
    is_corpus_renewed = False
    for path in sorted(paths):
        on_read(1)
        if is_corpus_renewed and class_of(path) == "corpora":
            continue
        found = await store.find(path)
        # A listing of a bucket may have fractions of a second that an object's own headers lack.
        if found is None or found.at < inventory[path].at + 1:
            await store.remove(path)
            removed.add(path)
        elif path.startswith("corpora/"):
            is_corpus_renewed = True
    return removed


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

    def find_elder(self, running: Mapping[str, float]) -> list[tuple[str, None]]:
        """Open workflows that may refer to something old. What is used again is made new, so that
        younger ones do not."""
        since = self.now - min(map(self.limit, ("texts", "corpora", "payloads"))) + _DAY
        return [(workflow_id, None) for workflow_id, at in running.items() if at < since]


def _find_old_of_jobs(ages: _Ages) -> set[str]:
    """Journals and checkpoints by job, reports one by one."""
    found = {
        path
        for name in ("journal", "checkpoints")
        for paths in _group_by_job(ages.inventory, CLASSES[name]).values()
        if ages.are_old(paths)
        for path in paths
    }
    reports = [path for path in ages.inventory if class_of(path) == "reports"]
    return found | {path for path in reports if ages.are_old([path])}


def _find_unneeded(ages: _Ages, needed: Collection[str], mentioned: Mentioned) -> set[str]:
    """Old texts, documents and payloads that nothing refers to."""
    found = set()
    for path in ages.inventory:
        match class_of(path):
            case "payloads":
                is_needed = path.rpartition("/")[2] in mentioned.hashes
            case "texts" | "corpora":
                is_needed = path in needed
            case _:
                continue
        if not is_needed and ages.are_old([path]):
            found.add(path)
    return found


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
    mentioned: Mentioned,
    needed: Mentioned,
    *,
    has_open_jobs: bool,
) -> Deletion:
    """Delete all that some jobs wrote, and what nothing else refers to.

    `mentioned` is what occurs in their histories, `needed` what occurs in those of open jobs.
    """
    inventory = await store.inventory()
    own = await find_job_folders(store, inventory, job_ids)
    kept_parents = _find_kept_parents(inventory, own)
    own = JobFolders(own.jobs, own.journals - kept_parents)
    roots = {path for path in inventory if is_of_job(path) and own.have(path)}
    roots |= await _find_idempotency_keys(store, inventory, job_ids)
    others = [path for path in inventory if is_of_job(path) and path not in roots]
    others += await find_lasting_corpora(store, inventory)
    mine = await find_references(store, inventory, roots, mentioned=mentioned)
    kept = await find_references(store, inventory, others, mentioned=needed)
    hashes = mentioned.hashes - needed.hashes
    payloads = {path for path in inventory if class_of(path) == "payloads"}
    gone = (mine - kept) | {path for path in payloads if path.rpartition("/")[2] in hashes}
    # What no job reads must not stay without a part of it: a later job would take it for whole.
    unread = [path for path in inventory if path.startswith(_REFERRING) and path not in kept]
    gone |= await find_dependents(store, inventory, unread, gone)
    left: set[str] = set()
    if has_open_jobs:
        since = time.time() - USED_SECONDS
        recent = {path for path in gone - roots - payloads if inventory[path].at > since}
        left = gone & await find_references(store, inventory, recent) - roots
    removed = await _remove_unchanged(store, inventory, gone - left)
    return Deletion(add_up(inventory, removed), sorted(gone - removed), sorted(kept_parents))


def _find_kept_parents(inventory: Inventory, own: JobFolders) -> set[str]:
    """The turns of a fork are in its parent's journal, which stays while the parent does."""
    parents = {name for name in own.journals - own.jobs if _RUN.sub("", name) not in own.jobs}
    folders = {"/".join(path.split("/")[:2]) for path in inventory}
    return {name for name in parents if folders & {f"checkpoints/{name}", f"reports/{name}"}}


async def _find_idempotency_keys(
    store: Store, inventory: Inventory, job_ids: Collection[str]
) -> set[str]:
    found = set()
    for path in inventory:
        if path.startswith("idempotency/") and (data := await store.read(path)) is not None:
            found |= {path} if json.loads(data)["job"] in job_ids else set()
    return found
