"""Publishing: what the store holds of a job, put together into its result."""

from __future__ import annotations

import asyncio

from temporalio import activity

from activities.heartbeat import beating
from activities.workshop import Workshop
from workflows.briefs import PublishBrief
from workflows.contracts import ResearchResult
from workflows.evidence import Cycle, Findings
from workflows.ledger import Ledger
from workflows.publication import publish
from workflows.report import Draft


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
            return publish(state, ledger, draft, cycles, brief.seconds)
