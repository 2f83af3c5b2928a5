"""Activities that need no model: opening a corpus, checkpoints, control messages, publishing."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.context import ActivityContext
from activities.evidence.compare import compare, told
from activities.evidence.draft import Draft
from activities.evidence.ledger import Ledger
from activities.evidence.publish import publish
from activities.fleet.heartbeat import send_heartbeats
from activities.storage.store import Store
from workflows.config.store_keys import control_key
from workflows.contracts.activity_io import (
    CompareBrief,
    ControlMessagesPosted,
    CorpusOpened,
    KeepCheckpoint,
    KeepReport,
    Kept,
    OpenCorpus,
    PostControlMessages,
    PublishBrief,
)
from workflows.contracts.evidence import Cycle, Findings, Quote
from workflows.contracts.result import ReportRef, ResearchResult
from workflows.contracts.state import CorpusReady, Timing, UnreadableFile
from workflows.rules.report_pages import split_pages
from workflows.stages.activity_interfaces import RecordActivities

REACH = 220
"""How many characters before and after a quote the report shows."""
_CONCURRENT_TEXTS = 16
_LISTED = 100
"""How many unreadable files are named."""
_SPACE = re.compile(r"\s+")


class Records(RecordActivities):
    def __init__(
        self,
        context: ActivityContext,
        subagent_queue: str | None = None,
        timing: Timing | None = None,
    ) -> None:
        """`subagent_queue` is where the jobs of this worker send their subagents."""
        self._context = context
        self._store = context.store
        self._subagent_queue = subagent_queue
        self._timing = timing or Timing()

    @activity.defn
    async def open_corpus(self, brief: OpenCorpus) -> CorpusOpened:
        """Index the folder; files that cannot be read are listed."""
        if brief.store_id and brief.store_id != await self._store.identify():
            raise ApplicationError(
                "the worker's store is not the one the job was started with",
                type="wrong_store",
                non_retryable=True,
            )
        if brief.path is None:
            return CorpusOpened(corpus=CorpusReady())
        if not await asyncio.to_thread(Path(brief.path).is_dir):
            raise ApplicationError(
                f"the worker sees no folder {brief.path!r}; give a path that all workers can read",
                type="bad_input",
                non_retryable=True,
            )
        async with send_heartbeats():
            report = await self._context.index(brief.path)
        unreadable = [UnreadableFile(uri=u.uri, reason=u.reason) for u in report.unreadable]
        return CorpusOpened(
            corpus=CorpusReady(
                path=brief.path,
                documents=report.documents,
                unreadable=tuple(unreadable[:_LISTED]),
                unreadable_count=len(unreadable),
            )
        )

    @activity.defn
    async def keep_checkpoint(self, brief: KeepCheckpoint) -> Kept:
        """Store the state under its key. A repeated call stores the same and changes nothing."""
        await self._store.put_new(brief.key, brief.state.model_dump_json().encode())
        return Kept(key=brief.key)

    @activity.defn
    async def post_control_messages(self, brief: PostControlMessages) -> ControlMessagesPosted:
        """Store what running subagents look up before each model call."""
        messages = brief.messages.model_dump_json().encode()
        await self._store.replace(control_key(brief.job_id), messages)
        return ControlMessagesPosted(subagent_queue=self._subagent_queue, timing=self._timing)

    @activity.defn
    async def publish(self, brief: PublishBrief) -> ResearchResult:
        """Put the result together from what the store holds of the job."""
        store, state = self._store, brief.state
        async with send_heartbeats():
            ledger = await store.load(state.ledger.key, Ledger) if state.ledger else Ledger()
            draft = await store.load(state.draft.key, Draft) if state.draft else None
            keys = [o.findings.key for o in state.outcomes.values() if o.findings]
            findings = await asyncio.gather(*(store.load(key, Findings) for key in keys))
            cycles: dict[str, list[Cycle]] = {}
            for found in findings:
                cycles.setdefault(found.facet_id, []).extend(found.cycles)
            contexts = await _quote_contexts(store, ledger)
            return publish(state, ledger, draft, cycles, brief.seconds, contexts)

    @activity.defn
    async def compare(self, brief: CompareBrief) -> ResearchResult:
        """Add to the result what changed since the schedule's last run."""
        async with send_heartbeats():
            kept = await self._store.get(brief.previous.key)
            try:
                before = ResearchResult.model_validate_json(kept or b"")
            except ValidationError:
                activity.logger.warning(
                    "the last run's report %s is gone or of another version: nothing is compared",
                    brief.previous.key,
                )
                return told(brief.result, None)
            # Thousands of claims take a while, and heartbeats must go on meanwhile.
            changes = await asyncio.to_thread(compare, before, brief.result)
            return told(brief.result, changes)

    @activity.defn
    async def keep_report(self, brief: KeepReport) -> ReportRef:
        """Store the full report, which the small result of the workflow refers to."""
        data = brief.result.model_dump_json().encode()
        await self._store.put_new(brief.key, data)
        return ReportRef(
            key=brief.key,
            sha256=hashlib.sha256(data).hexdigest(),
            bytes=len(data),
            pages=len(split_pages(brief.result)),
        )


async def _quote_contexts(store: Store, ledger: Ledger) -> Mapping[Quote, tuple[str, str]]:
    """The text before and after each quote in the stored copy of its source."""
    quotes: dict[str, set[Quote]] = {}
    for claim in ledger.citable():
        for quote in claim.quotes:
            quotes.setdefault(quote.source_id, set()).add(quote)
    found: dict[Quote, tuple[str, str]] = {}
    # A few copies at a time: all copies of a large job would not fit into memory.
    few = asyncio.Semaphore(_CONCURRENT_TEXTS)

    async def look_up(source_id: str) -> None:
        async with few:
            text = await store.text(ledger.sources[source_id].sha256)
        for quote in quotes[source_id] if text else ():
            if quote.start is not None and quote.end is not None:
                found[quote] = text_around(text or "", quote.start, quote.end)

    await asyncio.gather(*(look_up(source_id) for source_id in quotes))
    return found


def text_around(text: str, start: int, end: int, reach: int = REACH) -> tuple[str, str]:
    """The text before and after a span: white space collapsed, no word cut in two."""
    left, right = max(0, start - reach), min(len(text), end + reach)
    before, after = _SPACE.sub(" ", text[left:start]), _SPACE.sub(" ", text[end:right])
    if left and not text[left - 1].isspace():
        before = before.partition(" ")[2] or before
    if right < len(text) and not text[right].isspace():
        after = after.rpartition(" ")[0] or after
    return (
        f"… {before.lstrip()}" if left else before.lstrip(),
        f"{after.rstrip()} …" if right < len(text) else after.rstrip(),
    )
