"""Corpora of the store, made from what this machine can read and indexed by the workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from temporalio.client import Client, WorkflowFailureError
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from activities.storage import corpus_versions
from activities.storage.corpus_versions import CorpusHead, Limits, Rules
from activities.storage.document_sources import CorpusError
from activities.storage.store import Store
from console.client import jobs, validation
from console.client.progress import describe_indexing
from console.errors import BadInputError, ConsoleError, NotFoundError
from console.runtime.data_converter import load_keyring
from workflows.config.settings import Settings
from workflows.contracts.activity_io import OpenCorpus
from workflows.contracts.request import ResearchRequest
from workflows.contracts.state import CorpusReady

OnProgress = Callable[[str], None]
_POLL_SECONDS = 1.0


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
    limits = Limits(settings.corpus_files, settings.corpus_bytes)

    def show(done: int, total: int) -> None:
        if on_progress is not None and done % 100 == 0:
            on_progress(f"uploading: {done:,} of {total:,} files")

    try:
        return await corpus_versions.publish(
            open_store(settings), name, source, rules=rules, limits=limits, on_progress=show
        )
    except CorpusError as error:
        raise BadInputError(f"{error}.") from error
    except ApplicationError as error:
        raise ConsoleError(f"{error.message}.") from error


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
    await find(settings, corpus)
    return request


async def find(settings: Settings, name: str) -> CorpusHead:
    """The corpus of this name. Raises `BadInputError` if there is none."""
    try:
        return await corpus_versions.load_head(open_store(settings), name)
    except CorpusError as error:
        raise NotFoundError(f"There is no folder {name} here, and {error}.") from error


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
    ending = asyncio.ensure_future(handle.result())
    try:
        while not (await asyncio.wait({ending}, timeout=_POLL_SECONDS))[0]:
            text = await describe_indexing(handle)
            if text and on_progress is not None:
                on_progress(text)
        ready: CorpusReady = ending.result()
        return ready
    except asyncio.CancelledError:
        with suppress(RPCError):
            await handle.cancel()
        raise
    except WorkflowFailureError as error:
        raise ConsoleError(f"The corpus was not indexed: {jobs.root_cause(error)}") from error
    finally:
        ending.cancel()
