"""What every activity stands on: the store, the models, the corpora. Made once per worker."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

from temporalio.exceptions import ApplicationError

from activities.agent.interrupts import Asides
from activities.agent.loop import Subagent
from activities.agent.request_template import Frame, frame
from activities.agent.tool_definitions import kit
from activities.agent.toolbox import Toolbox
from activities.fleet.limits import Fleet
from activities.llm.batches import Errands
from activities.llm.client import Models
from activities.mcp.registry import McpServers
from activities.sources.corpus import Corpus
from activities.sources.refresh import IndexReport
from activities.storage.journal import Journal
from activities.storage.store import Store
from activities.telemetry import Watch
from workflows.config.model_catalog import card
from workflows.config.roles import VERIFIER, Role, effort_for, model_for
from workflows.config.settings import Provider
from workflows.config.store_keys import safe, templates_folder
from workflows.contracts.activity_io import Job
from workflows.contracts.evidence import Source
from workflows.contracts.request import OFFLINE
from workflows.contracts.spend import Allowance

_FRAMES = 200
"""How many frames of jobs a worker remembers."""


class Workshop:
    def __init__(
        self,
        store: Store,
        models: Models,
        indexes: Path,
        servers: McpServers | None = None,
        fleet: Fleet | None = None,
        provider: Provider = "anthropic",
        corpora: Sequence[str] = (),
    ) -> None:
        """`provider` is whose turns they are, for those who count them.

        Documents are read from `corpora` and what lies in them only, where any are named: whoever
        starts a job may name any path.
        """
        self.store = store
        self.models = models
        self.fleet = fleet
        self._provider = provider
        self._indexes = indexes
        self._allowed = [Path(folder).resolve() for folder in corpora]
        self._servers = servers
        self._corpora: dict[str, Corpus] = {}
        self._kept: dict[str, Source] = {}
        self._frames: dict[str, Frame] = {}
        self._opening = asyncio.Lock()

    async def close(self) -> None:
        await self.models.close()
        if self._servers:
            await self._servers.close()

    async def subagent(
        self,
        role: Role,
        job: Job,
        task: str,
        allowance: Allowance | None = None,
        seconds: float | None = None,
        finishes: bool = False,
        facet: str | None = None,
    ) -> Subagent:
        """A subagent for one task. `finishes`: it answers at once when the job is to finish."""
        await self.models.loaded()
        frame = await self._frame(role, job)
        asides = Asides(
            self.store,
            job.id,
            task,
            allowance or job.allowance,
            seconds,
            window=card(frame.model).context,
            finishes=finishes,
        )
        # Only the verifier can wait: everyone else is waited for.
        batched = job.economy and role is VERIFIER and frame.model != OFFLINE
        errands = Errands(self.models) if batched else None
        watch = Watch(role.name, frame.model, job.id, self._provider, facet)
        watch.begin()
        journal = Journal(self.store, job.journal)
        return Subagent(self.models, journal, frame, asides, errands, watch)

    async def _frame(self, role: Role, job: Job) -> Frame:
        """The frame this job began with: a release that words a prompt anew buys nothing again."""
        model = model_for(role, job.model, job.models)
        effort = effort_for(role, job.efforts)
        # What the job asked for, not what this worker has: a server that is away changes nothing.
        chosen = job.model_dump_json(include={"corpus", "web", "code"}) + effort
        digest = hashlib.sha256(chosen.encode()).hexdigest()[:12]
        key = f"{templates_folder(job.journal)}/{role.name}-{safe(model)}-{digest}.json"
        if key in self._frames:
            return self._frames[key]
        kept = await self.store.get(key)
        if kept is None:
            others = await self._servers.tools(role.name) if self._servers else ()
            made = frame(role, model, effort, kit(role, job, others))
            kept = await self.store.settle(key, made.model_dump_json().encode())
        if len(self._frames) >= _FRAMES:
            self._frames.clear()
        # What is settled never changes, so it need not be looked up for every subagent.
        self._frames[key] = Frame.model_validate_json(kept)
        return self._frames[key]

    async def toolbox(self, role: Role, job: Job, cycles: int = 0) -> Toolbox:
        corpus = await self.corpus(job.corpus)
        return Toolbox(role, corpus, self.store, cycles, self._kept, servers=self._servers)

    async def corpus(self, path: str | None) -> Corpus | None:
        """The corpus of a folder, indexed by this worker if it has not been yet."""
        if path is None:
            return None
        if path not in self._corpora:
            await self.index(path)
        return self._corpora[path]

    async def index(self, path: str) -> IndexReport:
        """Bring the index of a folder up to date; only what changed is parsed."""
        self._check(path)
        # Two jobs over one folder would parse it twice side by side.
        async with self._opening:
            corpus = self._corpora.get(path)
            if corpus is None:
                corpus = await asyncio.to_thread(Corpus.open, Path(path), self._indexes)
            report = await asyncio.to_thread(corpus.refresh)
            self._corpora[path] = corpus
            return report

    def _check(self, path: str) -> None:
        place = Path(path).resolve()
        if self._allowed and not any(place.is_relative_to(folder) for folder in self._allowed):
            raise ApplicationError(
                f"this worker may not read {path}: add it to RESEARCH_CORPORA, or name a folder"
                " that lies in one of those",
                type="bad_input",
                non_retryable=True,
            )
