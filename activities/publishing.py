"""Publishing: what the store holds of a job, put together into its result."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

from temporalio import activity

from activities.evidence.ledger import Ledger
from activities.evidence.publish import publish
from activities.evidence.report_gate import Draft
from activities.heartbeat import beating
from activities.store import Store
from activities.workshop import Workshop
from workflows.briefs import PublishBrief
from workflows.evidence import Cycle, Findings, Quote
from workflows.results import ResearchResult

REACH = 220
"""How many letters before and after a quote a reader is shown."""
_AT_ONCE = 16
_SPACE = re.compile(r"\s+")


class Publishing:
    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    @activity.defn
    async def publish(self, brief: PublishBrief) -> ResearchResult:
        store, state = self._workshop.store, brief.state
        async with beating():
            ledger = await store.load(state.ledger.key, Ledger) if state.ledger else Ledger()
            draft = await store.load(state.draft.key, Draft) if state.draft else None
            keys = [o.findings.key for o in state.outcomes.values() if o.findings]
            findings = await asyncio.gather(*(store.load(key, Findings) for key in keys))
            cycles: dict[str, list[Cycle]] = {}
            for found in findings:
                cycles.setdefault(found.facet_id, []).extend(found.cycles)
            around = await _surroundings(store, ledger)
            return publish(state, ledger, draft, cycles, brief.seconds, around)


async def _surroundings(store: Store, ledger: Ledger) -> Mapping[Quote, tuple[str, str]]:
    """What stands about each quote in the stored copy of its source."""
    quotes: dict[str, set[Quote]] = {}
    for claim in ledger.citable():
        for quote in claim.quotes:
            quotes.setdefault(quote.source_id, set()).add(quote)
    found: dict[Quote, tuple[str, str]] = {}
    # A few copies at a time: all of a large job's would not fit into memory.
    few = asyncio.Semaphore(_AT_ONCE)

    async def look_up(source_id: str) -> None:
        async with few:
            text = await store.text(ledger.sources[source_id].sha256)
        for quote in quotes[source_id] if text else ():
            if quote.start is not None and quote.end is not None:
                found[quote] = beside(text or "", quote.start, quote.end)

    await asyncio.gather(*(look_up(source_id) for source_id in quotes))
    return found


def beside(text: str, start: int, end: int, reach: int = REACH) -> tuple[str, str]:
    """What stands before and after a place in a text: white space folded, no word torn."""
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
