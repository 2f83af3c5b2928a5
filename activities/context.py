"""What every activity stands on: the store, the models, the corpora. Made once per worker."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cachetools import LRUCache

from activities.agent.interrupts import Interrupts
from activities.agent.loop import Subagent
from activities.agent.request_template import RequestTemplate, build_template, build_tool_set
from activities.agent.toolbox import Toolbox
from activities.agent.turns import TurnSource
from activities.fleet.limits import Fleet
from activities.llm.client import Models
from activities.mcp.servers import McpServers
from activities.sources.corpus_indexes import Corpora
from activities.sources.index_cache import CACHE_BYTES, IndexCache
from activities.storage.corpus_publishing import Limits, publish
from activities.storage.corpus_versions import (
    is_shared,
    is_source,
    load_head,
    name_of,
    split_version,
)
from activities.storage.document_sources import CorpusError
from activities.storage.journal import Journal
from activities.storage.store import Store
from activities.telemetry import TurnTelemetry
from workflows.config.roles import VERIFIER, Role, effort_for, model_for
from workflows.config.settings import MAX_TOKENS, Provider
from workflows.config.store_keys import safe, templates_folder
from workflows.contracts.activity_io import Job
from workflows.contracts.evidence import Source
from workflows.contracts.request import OFFLINE
from workflows.contracts.spend import Allowance

_logger = logging.getLogger(__name__)
_CACHED_TEMPLATES = 200
_WIDE_WINDOW = 64_000
"""Tokens; with a smaller context window a search returns fewer passages."""
_FEWEST_HITS = 3
_CACHED_SOURCES = 20_000


class ActivityContext:
    def __init__(
        self,
        store: Store,
        models: Models,
        indexes: Path,
        servers: McpServers | None = None,
        fleet: Fleet | None = None,
        provider: Provider = "anthropic",
        folders: Sequence[str] = (),
        max_tokens: int = MAX_TOKENS,
        limits: Limits | None = None,
        index_cache_bytes: int = CACHE_BYTES,
        ocr: bool = False,
    ) -> None:
        """`provider` is a label of telemetry; `indexes` is the folder of fetched indexes.

        Where `folders` are named, documents are taken from these only: a client that starts a job
        may name any path. `limits` hold for corpora that this worker makes.
        """
        self.store = store
        self.models = models
        self.fleet = fleet
        self._provider = provider
        self._max_tokens = max_tokens
        self.indexes = IndexCache(store, indexes, index_cache_bytes)
        self.corpora = Corpora(store, self.indexes, ocr=ocr)
        self._limits = limits
        self._allowed = [Path(folder).resolve() for folder in folders]
        self._servers = servers
        self._sources: LRUCache[str, Source] = LRUCache(_CACHED_SOURCES)
        self._templates: LRUCache[str, RequestTemplate] = LRUCache(_CACHED_TEMPLATES)

    async def close(self) -> None:
        await self.corpora.close()
        self.indexes.close()
        await self.models.close()
        if self._servers:
            await self._servers.close()

    async def create_subagent(
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
        await self.models.wait_until_loaded()
        template = await self._template(role, job)
        interrupts = Interrupts(
            self.store, job.id, task, allowance or job.allowance, seconds, finishes=finishes
        )
        # Only the verifier can wait for a batch: the job waits for all others.
        batched = job.economy and role.name == VERIFIER.name and template.model != OFFLINE
        telemetry = TurnTelemetry(role.name, template.model, job.id, self._provider, facet)
        telemetry.start()
        journal = Journal(self.store, job.journal, task)
        return Subagent(
            TurnSource(self.models, journal, template, interrupts, telemetry, in_batches=batched)
        )

    async def _template(self, role: Role, job: Job) -> RequestTemplate:
        """The template this job began with: a release that rewords a prompt repeats no call."""
        model = model_for(role, job.model, job.models)
        effort = effort_for(role, job.efforts)
        # What the job asked for, not what this worker has: an MCP server that is away changes
        # nothing.
        chosen = job.model_dump_json(include={"corpus", "web", "code"}) + effort
        digest = hashlib.sha256(chosen.encode()).hexdigest()[:12]
        name = f"{role.prompt or role.name}-{safe(model)}-{digest}"
        key = f"{templates_folder(job.journal)}/{name}.json"
        if key not in self._templates:
            stored = await self.store.get(key)
            if stored is None:
                mcp_tools = await self._servers.tools(role.name) if self._servers else ()
                tools = build_tool_set(role, job, mcp_tools)
                template = build_template(role, model, effort, tools, self._max_tokens)
                stored = await self.store.settle(key, template.model_dump_json().encode())
            self._templates[key] = RequestTemplate.model_validate_json(stored)
        return self._templates[key]

    async def create_toolbox(
        self,
        role: Role,
        job: Job,
        cycles: int = 0,
        pages: Mapping[str, Source] | None = None,
        is_guided: bool = False,
    ) -> Toolbox:
        """`pages` are stored web pages that the role may read; `is_guided` as in `Toolbox`."""
        window = self.models.context_window(model_for(role, job.model, job.models))
        if 0 < window < _WIDE_WINDOW:
            # One search must not fill the window.
            role = replace(role, hits=max(_FEWEST_HITS, role.hits * window // _WIDE_WINDOW))
        return Toolbox(
            role,
            await self.indexes.open(job.corpus) if job.corpus else None,
            self.store,
            cycles,
            self._sources,
            servers=self._servers,
            pages=pages,
            is_guided=is_guided,
        )

    async def find_version(self, corpus: str) -> tuple[str, str]:
        """Name and version of the documents that a request names.

        What comes from a bucket or a shared disk is brought up to date first, as is a folder that
        is named by its path: only this worker may have it. Others are refreshed where their folder
        is.
        """
        if not is_source(corpus):
            name, version = split_version(corpus)
            if version:
                return name, version
            head = await load_head(self.store, name)
            if is_shared(head.source) and self._is_within_reach(head.source):
                head = await publish(self.store, name, head.source, limits=self._limits)
            return name, head.version
        if not self._is_allowed(corpus):
            raise CorpusError(
                f"this worker may not read {corpus}: add it to RESEARCH_CORPORA, or name a folder"
                " inside one of those, or a corpus of the store"
            )
        head = await publish(self.store, name_of(corpus), corpus, limits=self._limits)
        return head.name, head.version

    def _is_allowed(self, source: str) -> bool:
        folder = _find_folder(source).resolve()
        return not self._allowed or any(map(folder.is_relative_to, self._allowed))

    def _is_within_reach(self, source: str) -> bool:
        """Whether this worker can bring a corpus up to date. A disk that is not mounted is an empty
        folder: the last version stands, instead of one without documents."""
        folder = _find_folder(source)
        if not source.startswith("file://"):
            return True
        if self._is_allowed(source) and folder.is_dir() and any(folder.iterdir()):
            return True
        _logger.warning("%s is not here or empty: the version of its last refresh is read", source)
        return False


def _find_folder(source: str) -> Path:
    return Path(unquote(urlsplit(source).path) if source.startswith("file://") else source)
