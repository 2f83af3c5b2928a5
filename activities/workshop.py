"""What every activity stands on: the store, the models, the corpora. Made once per worker."""

from __future__ import annotations

import asyncio
from pathlib import Path

from activities.agent import Subagent
from activities.journal import Journal
from activities.model import Models
from activities.roles import Role
from activities.sources.corpus import Corpus
from activities.sources.refresh import IndexReport
from activities.store import Store
from activities.toolbox import Toolbox
from workflows.briefs import Job
from workflows.budget import Allowance
from workflows.evidence import Source


class Workshop:
    def __init__(self, store: Store, models: Models, indexes: Path) -> None:
        self.store = store
        self.models = models
        self._indexes = indexes
        self._corpora: dict[str, Corpus] = {}
        self._kept: dict[str, Source] = {}
        self._opening = asyncio.Lock()

    def subagent(self, job: Job, allowance: Allowance | None = None) -> Subagent:
        return Subagent(self.models, Journal(self.store, job.journal), job.model, allowance)

    async def toolbox(self, role: Role, job: Job, cycles: int = 0) -> Toolbox:
        return Toolbox(role, await self.corpus(job.corpus), self.store, cycles, self._kept)

    async def corpus(self, path: str | None) -> Corpus | None:
        """The corpus of a folder, indexed by this worker if it has not been yet."""
        if path is None:
            return None
        if path not in self._corpora:
            await self.index(path)
        return self._corpora[path]

    async def index(self, path: str) -> IndexReport:
        """Bring the index of a folder up to date; only what changed is parsed."""
        # Two jobs over one folder would parse it twice side by side.
        async with self._opening:
            corpus = self._corpora.get(path)
            if corpus is None:
                corpus = await asyncio.to_thread(Corpus.open, Path(path), self._indexes)
            report = await asyncio.to_thread(corpus.refresh)
            self._corpora[path] = corpus
            return report
