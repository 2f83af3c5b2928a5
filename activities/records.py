"""Activities that need no model: opening a corpus, checkpoints, control messages, publishing."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.context import ActivityContext
from activities.evidence.draft import Draft
from activities.evidence.ledger import Ledger
from activities.evidence.publish import publish
from activities.evidence.run_comparison import compare, compare_answers, tell, told
from activities.fleet.heartbeat import send_heartbeats, show_progress
from activities.sources.corpus_indexes import split_packs
from activities.storage.corpus_versions import (
    find_changes,
    load_differing,
    load_listing,
    select,
)
from activities.storage.document_sources import CorpusError
from activities.storage.retention import delete_old
from activities.storage.store import ObjectNotFound, Store
from workflows.config.settings import KEEP_DAYS
from workflows.config.store_keys import control_key
from workflows.contracts.activity_io import (
    ControlMessagesPosted,
    CorpusOpened,
    KeepCheckpoint,
    OpenCorpus,
    ParseFiles,
    PostControlMessages,
    PublishBrief,
    Published,
    RetentionBrief,
    RetentionResult,
)
from workflows.contracts.asking import CompareReports, Comparison
from workflows.contracts.evidence import Cycle, Findings, Quote
from workflows.contracts.result import ReportRef, ResearchResult
from workflows.contracts.state import CorpusReady, Timing
from workflows.rules.report_paging import split_pages
from workflows.stages.activity_interfaces import RecordActivities

REACH = 220
"""How many characters before and after a quote the report shows."""
_CONCURRENT_TEXTS = 16
_SPACE = re.compile(r"\s+")


class Records(RecordActivities):
    def __init__(
        self,
        context: ActivityContext,
        subagent_queue: str | None = None,
        timing: Timing | None = None,
        keep_days: Mapping[str, float] = KEEP_DAYS,
    ) -> None:
        """`subagent_queue` is where the jobs of this worker send their subagents."""
        self._context = context
        self._store = context.store
        self._subagent_queue = subagent_queue
        self._timing = timing or Timing()
        self._keep_days = keep_days

    @activity.defn
    async def open_corpus(self, brief: OpenCorpus) -> CorpusOpened:
        """Settle the version and have it indexed.

        Where more has to be parsed than one worker should, the parts are returned instead.
        """
        if brief.store_id and brief.store_id != await self._store.identify():
            raise ApplicationError(
                "the worker's store is not the one the job was started with",
                type="wrong_store",
                non_retryable=True,
            )
        if brief.corpus is None:
            return CorpusOpened(corpus=CorpusReady())
        corpora = self._context.corpora
        async with send_heartbeats():
            try:
                name, version = await self._context.find_version(brief.corpus)
            except CorpusError as error:
                raise ApplicationError(str(error), type="bad_input", non_retryable=True) from error
            version = await select(self._store, version, brief.labels)
            ready = await corpora.find(name, version)
            if ready is not None:
                return CorpusOpened(corpus=ready)
            base = await corpora.find_base(name, brief.labels)
            known = base.version if base else ""
            packs = await corpora.find_new_packs(version, known)
            parts = list(split_packs(packs))
            if len(parts) > 1 and not brief.is_parsed:
                return CorpusOpened(
                    corpus=CorpusReady(files=sum(ref.files for ref in packs)),
                    version=f"{name}@{version}",
                    parse=tuple(
                        ParseFiles(
                            version=version,
                            base=known,
                            start=start,
                            end=end,
                            files=sum(ref.files for ref in packs[start:end]),
                        )
                        for start, end in parts
                    ),
                )
            ready = await corpora.make_ready(name, version, brief.labels, _show_files)
            return CorpusOpened(corpus=ready)

    @activity.defn
    async def parse_files(self, brief: ParseFiles) -> int:
        """Parse some of the packs; returns how many files they have.

        Each result is stored at once, so a retry goes on.
        """
        corpora = self._context.corpora
        async with send_heartbeats():
            packs = await corpora.find_new_packs(brief.version, brief.base)
            return await corpora.parse(packs[brief.start : brief.end], _show_files)

    @activity.defn
    async def keep_checkpoint(self, brief: KeepCheckpoint) -> str:
        """Store the state under its key, which is returned. A repeated call changes nothing."""
        await self._store.put_new(brief.key, brief.state.model_dump_json().encode())
        return brief.key

    @activity.defn
    async def post_control_messages(self, brief: PostControlMessages) -> ControlMessagesPosted:
        """Store what running subagents look up before each model call."""
        messages = brief.messages.model_dump_json().encode()
        await self._store.replace(control_key(brief.job_id), messages)
        return ControlMessagesPosted(subagent_queue=self._subagent_queue, timing=self._timing)

    @activity.defn
    async def publish(self, brief: PublishBrief) -> Published:
        """Put the result together from what the store holds of the job, and store it.

        A repeated call finds the report of the first one.
        """
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
            result = publish(state, ledger, draft, cycles, brief.seconds, contexts)
            if state.previous:
                result = await self._add_changes(result, state.previous)
            data = result.model_dump_json().encode()
            data = await store.settle(brief.key, data)
            result = ResearchResult.model_validate_json(data)
        return Published(
            result=result,
            report=ReportRef(
                key=brief.key,
                sha256=hashlib.sha256(data).hexdigest(),
                bytes=len(data),
                pages=len(split_pages(result)),
            ),
        )

    async def _add_changes(self, result: ResearchResult, previous: str) -> ResearchResult:
        """The result with what changed since the schedule's last run."""
        kept = await self._store.get(previous)
        try:
            before = ResearchResult.model_validate_json(kept or b"")
        except ValidationError:
            activity.logger.warning(
                "the last run's report %s is gone or of another version: nothing is compared",
                previous,
            )
            return told(result, None)
        # Thousands of claims take a while, and heartbeats must go on meanwhile.
        changes = await asyncio.to_thread(compare, before, result)
        documents = await self._compare_documents(before, result)
        return told(result, changes.model_copy(update=documents))

    @activity.defn
    async def compare_reports(self, request: CompareReports) -> Comparison:
        """What changed from one stored report to another, of the same job or of another one."""
        async with send_heartbeats():
            before, after = [
                await self._store.load(key, ResearchResult)
                for key in (request.before, request.after)
            ]
            found = await asyncio.to_thread(compare, before, after)
            changes = found.model_copy(
                update=await self._compare_documents(before, after)
                | {"answer": compare_answers(before, after)}
            )
        names = [f"{result.id}@{result.version}" for result in (before, after)]
        heading = f"## What changed from {names[0]} to {names[1]}"
        return Comparison(changes=changes, markdown=tell(changes, heading))

    async def _compare_documents(
        self, before: ResearchResult, after: ResearchResult
    ) -> dict[str, Any]:
        """The documents of the corpus that are new, changed or gone."""
        if not before.corpus or not after.corpus:
            return {}
        try:
            versions = [
                await load_listing(self._store, corpus.version)
                for corpus in (before.corpus, after.corpus)
            ]
            old, new = await load_differing(self._store, *versions)
        except ObjectNotFound:
            activity.logger.warning("the last run's list of files is gone: nothing is compared")
            return {}
        found = find_changes(old, new)
        return {
            "new_documents": found.new,
            "changed_documents": found.changed,
            "gone_documents": found.gone,
        }

    @activity.defn
    async def delete_old_objects(self, brief: RetentionBrief) -> RetentionResult:
        """Delete what is older than its class may become. A retry goes on where this one ended."""
        done = 0

        def show(count: int) -> None:
            nonlocal done
            done += count
            show_progress(objects=done)

        async with send_heartbeats():
            return await delete_old(
                self._store,
                activity.client(),
                self._keep_days,
                dry_run=brief.dry_run,
                on_read=show,
            )


def _show_files(done: int, total: int) -> None:
    show_progress(files_parsed=done, files=total)


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
