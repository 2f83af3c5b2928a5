"""Runs whole jobs for a set: an embedded server, a worker and a store, removed afterwards.

Every finished job is checked mechanically and, where a model is to judge, by the rubric. A job that
waits for an operator will not end, so it is ended here and counts as blocked.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx2
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError

from activities.context import ActivityContext
from benchmarks.quality.checks import check_report
from benchmarks.quality.rubric import Judge
from benchmarks.quality.sets import JsonObject, Options, Outcome
from console.client.jobs import fetch_report
from console.devserver.server import run_dev_server
from console.runtime.connection import connect
from worker import build_context, build_worker
from workflows.config.settings import Settings
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.contracts.result import ResearchResult, ResearchSummary
from workflows.coordinator import ResearchWorkflow

_LOOK_SECONDS = 5.0


class JobBlocked(Exception):
    """The job waits for an operator; the message is its reason."""


@dataclass
class JobRunner:
    """Runs jobs with the settings of a run and measures their reports."""

    client: Client
    context: ActivityContext
    options: Options
    judge: Judge | None

    async def research(
        self, question: str, corpus: str, request: Mapping[str, object] | None = None
    ) -> ResearchResult:
        """Run one job to its end; raises `JobBlocked`."""
        fields = {"model": self.options.model, **(request or {}), **self.options.request}
        job = await self.client.start_workflow(
            ResearchWorkflow.run,
            ResearchRequest.model_validate({"question": question, "corpus": corpus, **fields}),
            id=f"quality-{uuid4().hex[:12]}",
            task_queue=TASK_QUEUE,
        )
        ending = asyncio.ensure_future(fetch_report(job))
        while not (await asyncio.wait({ending}, timeout=_LOOK_SECONDS))[0]:
            if reason := await _find_block(job):
                ending.cancel()
                await job.terminate("blocked")
                raise JobBlocked(reason)
        return ending.result()

    async def measure(self, result: ResearchResult) -> Outcome:
        """What can be said of any report."""
        store = self.context.store
        hashes = {source.sha256 for source in result.sources}
        texts = {one: await store.text(one) or "" for one in sorted(hashes)}
        measures = check_report(result, texts)
        notes: JsonObject = {
            "question": result.question,
            "status": result.status,
            "cited": [source.uri for source in result.sources if source.n is not None],
            "report": result.report_markdown,
        }
        if self.judge is None:
            notes["rubric"] = "not judged: no model"
        else:
            scores, notes["rubric"] = await self.judge.score(result)
            measures |= scores
        return Outcome(measures, notes)


async def _find_block(job: WorkflowHandle[ResearchWorkflow, ResearchSummary]) -> str:
    try:
        status = await job.query(ResearchWorkflow.status)
    except RPCError:
        return ""  # a busy worker answers the next time
    return f"{status.blocked.step}: {status.blocked.reason}" if status.blocked else ""


@asynccontextmanager
async def start_runner(
    options: Options, transport: httpx2.AsyncBaseTransport | None = None
) -> AsyncIterator[JobRunner]:
    """Start a server and a worker for jobs; `transport` stands in for the models' network."""
    with tempfile.TemporaryDirectory() as home, run_dev_server(Path(home)) as running:
        # The environment names the provider; the place is ours alone.
        chosen = {name: value for name, value in os.environ.items() if name != "RESEARCH_STORE"}
        settings = Settings.read({**chosen, "RESEARCH_HOME": home})
        client = await connect(settings, running.address)
        context = build_context(settings, transport)
        judge = Judge(context.models, options.judge) if options.judge else None
        async with build_worker(client, settings, context):
            yield JobRunner(client, context, options, judge)
        await context.close()
