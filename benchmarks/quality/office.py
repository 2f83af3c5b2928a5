"""Where sets run whole jobs: an embedded server, a worker, a store, gone again afterwards.

Every finished job is checked mechanically and, where a model is to judge, by the rubric.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx2
from temporalio.client import Client

from activities.context import ActivityContext
from benchmarks.quality.checks import checked
from benchmarks.quality.rubric import Judge
from benchmarks.quality.sets import JsonObject, Options, Outcome
from console.connection import connect
from console.embedded import server
from worker import build_context, build_worker
from workflows.config.settings import Settings
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.contracts.result import ResearchResult
from workflows.coordinator import ResearchWorkflow


@dataclass
class Office:
    """Jobs with the settings of a run."""

    client: Client
    context: ActivityContext
    options: Options
    judge: Judge | None

    async def research(
        self, question: str, corpus: str, request: Mapping[str, object] | None = None
    ) -> ResearchResult:
        fields = {"model": self.options.model, **(request or {}), **self.options.request}
        result: ResearchResult = await self.client.execute_workflow(
            ResearchWorkflow.run,
            ResearchRequest.model_validate({"question": question, "corpus": corpus, **fields}),
            id=f"quality-{uuid4().hex[:12]}",
            task_queue=TASK_QUEUE,
        )
        return result

    async def outcome(self, result: ResearchResult) -> Outcome:
        """What can be said of any report."""
        store = self.context.store
        hashes = {source.sha256 for source in result.sources}
        texts = {one: await store.text(one) or "" for one in sorted(hashes)}
        measures = checked(result, texts)
        notes: JsonObject = {
            "question": result.question,
            "status": result.status,
            "cited": [source.uri for source in result.sources if source.n is not None],
            "report": result.report_markdown,
        }
        if self.judge is None:
            notes["rubric"] = "not judged: no model"
        else:
            scores, notes["rubric"] = await self.judge.scored(result)
            measures |= scores
        return Outcome(measures, notes)


@asynccontextmanager
async def office(
    options: Options, transport: httpx2.AsyncBaseTransport | None = None
) -> AsyncIterator[Office]:
    """An office at work; `transport` stands in for the models' network."""
    with tempfile.TemporaryDirectory() as home, server(Path(home)) as running:
        # The environment names the provider; the place is ours alone.
        chosen = {name: value for name, value in os.environ.items() if name != "RESEARCH_STORE"}
        settings = Settings.read({**chosen, "RESEARCH_HOME": home})
        client = await connect(settings, running.address)
        context = build_context(settings, transport)
        judge = Judge(context.models, options.judge) if options.judge else None
        async with build_worker(client, settings, context):
            yield Office(client, context, options, judge)
        await context.close()
