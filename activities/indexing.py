"""Opening a corpus: the folder is indexed, and what cannot be read is reported, not hidden."""

from __future__ import annotations

import asyncio
from pathlib import Path

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeat import beating
from activities.workshop import Workshop
from workflows.briefs import CorpusOpened, OpenCorpus
from workflows.contracts import CorpusReady, UnreadableFile

_LISTED = 100


class Indexing:
    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    @activity.defn
    async def open_corpus(self, brief: OpenCorpus) -> CorpusOpened:
        if brief.path is None:
            return CorpusOpened(corpus=CorpusReady())
        if not await asyncio.to_thread(Path(brief.path).is_dir):
            raise ApplicationError(
                f"the worker sees no folder {brief.path!r}; give a path that all workers can read",
                type="bad_input",
                non_retryable=True,
            )
        async with beating():
            report = await self._workshop.index(brief.path)
        unreadable = [UnreadableFile(uri=u.uri, reason=u.reason) for u in report.unreadable]
        return CorpusOpened(
            corpus=CorpusReady(
                path=brief.path,
                documents=report.documents,
                unreadable=tuple(unreadable[:_LISTED]),
                unreadable_count=len(unreadable),
            )
        )
