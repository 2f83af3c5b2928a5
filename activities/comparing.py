"""Comparing: what the last run of a schedule found is kept, and held against what this one did."""

from __future__ import annotations

import asyncio
import json

from pydantic import ValidationError
from temporalio import activity

from activities.evidence.compare import compare, told
from activities.heartbeat import beating
from activities.store import Missing
from activities.workshop import Workshop
from workflows.briefs import CompareBrief, Kept
from workflows.changes import KeepPrevious
from workflows.contracts import ResearchResult


class Comparing:
    def __init__(self, workshop: Workshop) -> None:
        self._store = workshop.store

    @activity.defn
    async def keep_previous(self, brief: KeepPrevious) -> Kept:
        """The last result, as it was written. Kept twice, the first stands: both are the same."""
        await self._store.put_new(brief.key, json.dumps(brief.result).encode())
        return Kept(key=brief.key)

    @activity.defn
    async def compare(self, brief: CompareBrief) -> ResearchResult:
        """The result with what changed in it."""
        async with beating():
            kept = await self._store.get(brief.previous.key)
            if kept is None:
                raise Missing(brief.previous.key)
            try:
                before = ResearchResult.model_validate_json(kept)
            except ValidationError:
                activity.logger.warning("the last run's result cannot be read: nothing is compared")
                return told(brief.result, None)
            # Thousands of claims take a while, and heartbeats must go on meanwhile.
            changes = await asyncio.to_thread(compare, before, brief.result)
            return told(brief.result, changes)
