"""What a research subagent was told first and what it had found, so that it can be asked on.

A follow-up goes to the same subagent with its full transcript. The transcript is known by its first
words, and what the coordinator knows changes while others report; so the first words are kept. What
was found is kept beside them: where the transcript is lost, a fresh subagent starts from that.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from activities.storage.store import Store
from workflows.config.store_keys import safe
from workflows.contracts.activity_io import ResearchBrief
from workflows.contracts.evidence import Findings

JsonObject = dict[str, Any]


class Thread:
    """One subagent's task, over all the times it is asked."""

    def __init__(self, store: Store, brief: ResearchBrief) -> None:
        self._store = store
        # What the others know, the money and the clock differ from one time to the next.
        same = brief.model_dump(
            mode="json",
            exclude={"known", "known_findings", "follow_ups", "allowance", "seconds"},
        )
        told = json.dumps(
            {**same, "job": [brief.job.question, brief.job.pinned, brief.job.today]},
            sort_keys=True,
        )
        digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        self._key = f"threads/{safe(brief.job.journal)}/{safe(brief.task)}-{digest}"

    async def opened_with(self, prompt: JsonObject) -> JsonObject:
        """The first words of this thread: these, unless it was opened before."""
        kept = await self._store.settle(f"{self._key}.json", json.dumps(prompt).encode())
        opened: JsonObject = json.loads(kept)
        return opened

    async def found(self) -> Findings | None:
        """What this subagent had found when it was asked last."""
        kept = await self._store.get(f"{self._key}.found.json")
        return None if kept is None else await self._store.load(json.loads(kept)["key"], Findings)

    async def keep(self, findings_key: str) -> None:
        pointer = json.dumps({"key": findings_key}).encode()
        await self._store.replace(f"{self._key}.found.json", pointer)
