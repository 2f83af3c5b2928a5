"""Corpora of the store, made from what this machine can read and indexed by the workers."""

from __future__ import annotations

import asyncio
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, BinaryIO

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError

from activities.storage import corpus_publishing, corpus_versions
from activities.storage.corpus_publishing import Limits
from activities.storage.corpus_versions import CorpusHead, Rules
from activities.storage.document_sources import (
    MAX_FILE_BYTES,
    CorpusError,
    is_hidden,
    is_readable,
)
from activities.storage.store import Store
from console.client import jobs, validation
from console.client.audit import current_actor, recorded
from console.client.progress import describe_indexing
from console.errors import COMMAND, BadInputError, NotFoundError
from console.formatting import cut
from console.runtime.data_converter import explain_store_errors, load_keyring
from workflows.config.settings import Settings
from workflows.contracts.activity_io import OpenCorpus
from workflows.contracts.request import LABEL, ResearchRequest
from workflows.contracts.state import CorpusReady

MAX_UPLOAD_BYTES = 200_000_000
MAX_UPLOAD_FILES = 1000

ALL_FILES = "*"
"""The pattern of a rule that holds for every file."""

OnProgress = Callable[[str], None]
_POLL_SECONDS = 1.0
_MAX_PATH = 500


@dataclass(frozen=True)
class FileRecord:
    path: str
    size: int
    labels: tuple[str, ...] = ()
    problem: str = ""
    """Why it could not be read at its source."""


def open_store(settings: Settings) -> Store:
    return Store.open(settings.store, load_keyring(settings))


async def publish(
    settings: Settings,
    name: str,
    source: str,
    *,
    rules: Rules | None = None,
    on_progress: OnProgress | None = None,
) -> CorpusHead:
    """Upload what changed in a folder or bucket. Raises `BadInputError` where that cannot be."""
    limits = Limits(settings.corpus_files, settings.corpus_bytes, settings.ocr)

    def show(done: int, total: int) -> None:
        if on_progress is not None:
            on_progress(f"uploading: {done:,} of {total:,} files")

    with _explain_errors(name):
        return await corpus_publishing.publish(
            open_store(settings), name, source, rules=rules, limits=limits, on_progress=show
        )


@contextmanager
def _explain_errors(name: str) -> Iterator[None]:
    try:
        with explain_store_errors(f"The corpus {name} is not stored"):
            yield
    except CorpusError as error:
        raise BadInputError(f"{error}.") from error


async def publish_for(
    request: ResearchRequest, settings: Settings, on_progress: OnProgress | None = None
) -> ResearchRequest:
    """The request with the version it reads, so that its workers need no folder."""
    corpus = request.corpus
    if corpus is None or corpus_versions.split_version(corpus)[1]:
        return request
    if corpus_versions.is_source(corpus):
        head = await publish(
            settings, corpus_versions.name_of(corpus), corpus, on_progress=on_progress
        )
        return request.model_copy(update={"corpus": f"{head.name}@{head.version}"})
    try:
        await find(settings, corpus)
    except NotFoundError as error:
        raise BadInputError(str(error)) from error
    return request


async def find(settings: Settings, name: str) -> CorpusHead:
    """The corpus of this name. Raises `BadInputError` if there is none for the actor."""
    try:
        head = await corpus_versions.find_head(open_store(settings), name)
    except CorpusError as error:
        raise NotFoundError(f"There is no folder {name} here, and {error}.") from error
    if head is None or not _is_visible(head):
        known = ", ".join(head.name for head in await list_heads(settings)) or "none"
        raise NotFoundError(
            f"There is no folder {name} here, and the store has no corpus {name!r} (there are:"
            f" {known}): add it with `corpus add`, or correct --corpus."
        )
    return head


async def list_heads(settings: Settings) -> list[CorpusHead]:
    """The corpora whose documents the actor's jobs may see."""
    heads = await corpus_versions.list_heads(open_store(settings))
    return [head for head in heads if _is_visible(head)]


def _is_visible(head: CorpusHead) -> bool:
    """By its tenant, if it has one, and by the labels of all its files."""
    actor = current_actor()
    return actor.sees(head.tenant or actor.tenant, head.rules.get(ALL_FILES, ()))


async def list_files(settings: Settings, name: str) -> tuple[CorpusHead, list[FileRecord]]:
    """A corpus, and those of its files that the actor's jobs may see."""
    head = await find(settings, name)
    store, labels = open_store(settings), current_actor().labels
    files = await corpus_versions.load_files(
        store, await corpus_versions.load_listing(store, head.version)
    )
    return head, [
        FileRecord(file.path, file.size, file.labels, file.problem)
        for file in files
        if labels is None or set(file.labels) <= set(labels)
    ]


async def remove(settings: Settings, name: str) -> None:
    """Forget a corpus. Jobs that read one of its versions go on."""
    await find(settings, name)
    with recorded("corpus remove", name):
        await corpus_versions.remove(open_store(settings), name)


def read_rules(texts: Iterable[str]) -> Rules:
    """The labels of files from `PATTERN=LABEL` texts."""
    rules: Rules = {}
    for text in texts:
        pattern, _, label = text.rpartition("=")
        if not pattern or not re.fullmatch(LABEL, label):
            raise BadInputError(f"--label {text!r} cannot be read: write it as 'PATTERN=LABEL'.")
        rules[pattern] = (*rules.get(pattern, ()), label)
    return rules


async def upload(
    settings: Settings,
    name: str,
    files: Sequence[tuple[str, BinaryIO]],
    rules: Rules | None = None,
) -> CorpusHead:
    """Add files to a corpus, or replace those of the same path; .zip archives are unpacked.

    A new corpus belongs to the actor's tenant and, without other rules, to the actor's labels.
    """
    store, actor = open_store(settings), current_actor()
    with _explain_errors(name):
        head = await corpus_versions.find_head(store, name)
    if head is not None and not _is_visible(head):
        raise BadInputError(f"The name {name} is taken: choose another one.")
    if head is None and rules is None and actor.labels:
        rules = {ALL_FILES: actor.labels}
    try:
        contents = await asyncio.to_thread(_read_files, files, settings.ocr)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        # RuntimeError: an encrypted file, or one of an unknown compression.
        raise BadInputError(
            f"An archive cannot be unpacked ({cut(str(error), 80)}): send the documents themselves."
        ) from None
    limits = Limits(settings.corpus_files, settings.corpus_bytes, settings.ocr)
    with _explain_errors(name), recorded("corpus upload", name):
        return await corpus_publishing.upload(
            store, name, contents, rules=rules, limits=limits, tenant=actor.tenant
        )


def _read_files(files: Sequence[tuple[str, BinaryIO]], images: bool) -> dict[str, bytes]:
    """The files by path, within the limits of one upload, whatever an archive says of itself."""
    contents: dict[str, bytes] = {}
    left = MAX_UPLOAD_BYTES
    for path, file in _unpack(files, images):
        most = min(left, MAX_FILE_BYTES)
        data = file.read(most + 1)
        if len(data) > most or len(contents) == MAX_UPLOAD_FILES:
            raise BadInputError(
                f"{cut(path, 80)!r} exceeds an upload: at most {MAX_UPLOAD_FILES:,} files,"
                f" {MAX_FILE_BYTES:,} bytes each and {MAX_UPLOAD_BYTES:,} together, also unpacked;"
                " send the rest in another one, or use `corpus add`."
            )
        if not path.isprintable() or len(path) > _MAX_PATH:
            raise BadInputError(f"{cut(path, 80)!r} cannot be the path of a file: rename it.")
        contents[path] = data
        left -= len(data)
    if not contents:
        raise BadInputError("No file can be read: upload documents, or a .zip archive of them.")
    return contents


def _unpack(files: Sequence[tuple[str, BinaryIO]], images: bool) -> Iterator[tuple[str, IO[bytes]]]:
    """The files; in place of an archive the documents in it, without hidden and other files."""
    for path, file in files:
        if not path.lower().endswith(".zip"):
            yield path, file
            continue
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                if is_readable(member.filename, images) and not is_hidden(member.filename):
                    with archive.open(member) as content:
                        yield member.filename, content


async def describe_refresh(settings: Settings, name: str) -> str:
    """What brings a corpus up to date for jobs that name it."""
    head = await find(settings, name)
    if corpus_versions.is_shared(head.source):
        return f"Each run brings the corpus {name} up to date with {head.source} first."
    if head.source == corpus_publishing.UPLOAD:
        return f"Each run reads what was uploaded to the corpus {name} by then."
    return (
        f"Each run reads the corpus {name} as it was last refreshed from {head.source}:"
        f" `{COMMAND} corpus refresh {name}` there, before a run, brings it up to date. What all"
        " workers can reach is refreshed by the runs: a bucket, or `file://` for a shared disk."
    )


async def index(
    client: Client, head: CorpusHead, task_queue: str, on_progress: OnProgress | None = None
) -> CorpusReady:
    """Have the workers index the newest version; a cancelled wait cancels the work.

    All documents are parsed; the index of what a job's labels allow is made from them when a job
    carries these labels for the first time.
    """
    labels = sorted({label for own in head.rules.values() for label in own})
    handle = await client.start_workflow(
        "CorpusWorkflow",
        OpenCorpus(corpus=f"{head.name}@{head.version}", labels=tuple(labels)),
        id=f"corpus-{validation.check_job_id(head.name)}-{head.version[:12]}",
        task_queue=task_queue,
        result_type=CorpusReady,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
    )

    async def show_progress() -> None:
        text = await describe_indexing(handle)
        if text and on_progress is not None:
            on_progress(text)

    try:
        return await jobs.wait_for_workflow(
            handle, "The corpus was not indexed", show_progress, _POLL_SECONDS
        )
    except asyncio.CancelledError:
        with suppress(RPCError):
            await handle.cancel()
        raise
