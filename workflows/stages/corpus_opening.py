"""Opening a corpus: a small one in one activity, a large one parsed by several workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from workflows.config.policies import ActivityPolicy
from workflows.contracts.activity_io import OpenCorpus, ParseFiles
from workflows.contracts.state import CorpusReady
from workflows.stages.activity_interfaces import RecordActivities

INDEXING = ActivityPolicy(
    start_to_close=timedelta(hours=2), schedule_to_close=timedelta(hours=8), attempts=10
)
PARSING = ActivityPolicy(
    start_to_close=timedelta(minutes=30), schedule_to_close=timedelta(hours=8), attempts=10
)
MAX_PARALLEL = 50
"""How many parts are parsed at once, over all workers."""

CallActivity = Callable[..., Any]
"""Takes an activity, its brief, its policy and a summary."""
OnProgress = Callable[[int, int], None]


async def open_corpus(
    call: CallActivity, brief: OpenCorpus, on_progress: OnProgress
) -> CorpusReady:
    """The version to read, indexed; `on_progress` is given the files to parse and those parsed."""
    opened = await call(RecordActivities.open_corpus, brief, INDEXING, "open the documents")
    if opened.parse:
        total, done = opened.corpus.files, 0
        few = asyncio.Semaphore(MAX_PARALLEL)

        async def parse(part: ParseFiles) -> None:
            nonlocal done
            async with few:
                summary = f"parse {part.files:,} of {total:,} files"
                parsed = await call(RecordActivities.parse_files, part, PARSING, summary)
            done += parsed.files
            on_progress(total, done)

        on_progress(total, done)
        await asyncio.gather(*map(parse, opened.parse))
        rest = brief.model_copy(update={"corpus": opened.version, "is_parsed": True})
        opened = await call(RecordActivities.open_corpus, rest, INDEXING, "index the documents")
    ready: CorpusReady = opened.corpus
    return ready
