"""The first prompt and the last findings of a research subagent, stored for follow-ups.

A follow-up goes to the same subagent with its full transcript. The journal finds the transcript by
the exact first prompt, which the coordinator could not build again: it knows more by then. The
findings are stored as well: where the transcript is lost, a new subagent starts from them.
"""

from __future__ import annotations

import hashlib
import json

from activities.agent.messages import JsonObject
from activities.storage.store import Store
from workflows.config.store_keys import safe
from workflows.contracts.activity_io import ResearchBrief
from workflows.contracts.evidence import Findings


class Transcript:
    """The stored transcript of one task."""

    def __init__(self, store: Store, brief: ResearchBrief) -> None:
        self._store = store
        # The findings of others, the money and the time left differ from call to call.
        same = brief.model_dump(
            mode="json",
            exclude={"known", "known_findings", "follow_ups", "allowance", "seconds"},
        )
        told = json.dumps(
            {**same, "job": [brief.job.question, brief.job.pinned, brief.job.today]},
            sort_keys=True,
        )
        digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        self.id = f"{safe(brief.task)}-{digest}"
        self._key = f"transcripts/{safe(brief.job.journal)}/{self.id}"

    async def first_prompt(self, prompt: JsonObject) -> JsonObject:
        """The stored first prompt; this one, if there is none."""
        kept = await self._store.settle(f"{self._key}.json", json.dumps(prompt).encode())
        opened: JsonObject = json.loads(kept)
        return opened

    async def findings(self) -> Findings | None:
        """What this subagent had found when it was called last."""
        kept = await self._store.get(f"{self._key}.found.json")
        return None if kept is None else await self._store.load(json.loads(kept)["key"], Findings)

    async def save_findings(self, findings_key: str) -> None:
        pointer = json.dumps({"key": findings_key}).encode()
        await self._store.replace(f"{self._key}.found.json", pointer)
