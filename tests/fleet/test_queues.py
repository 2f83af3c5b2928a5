"""Coordinators and subagents wait on queues of their own: each kind of worker does its own part."""

from __future__ import annotations

import asyncio
import subprocess
import time

from tests.fleet.conftest import Site, eventually
from workflows.contracts.state import Phase
from workflows.coordinator import ResearchWorkflow


async def pending(site: Site, job: str) -> list[str]:
    """Activities of the job that no worker has taken, by name."""
    described = await site.client.get_workflow_handle(job).describe()
    return [
        waiting.activity_type.name
        for waiting in described.raw_description.pending_activities
        if waiting.last_started_time.seconds == 0
    ]


async def test_a_coordinator_alone_waits_for_subagents_and_both_finish(site: Site) -> None:
    job = await site.start(model="offline")
    with site.worker(RESEARCH_WORKER_ROLE="coordinator"):
        async with asyncio.timeout(60):
            while await pending(site, job.id) != ["open_corpus"]:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        status = await job.query(ResearchWorkflow.status)
        assert status.phase is Phase.STARTING
        with site.worker(RESEARCH_WORKER_ROLE="subagents"):
            [result] = await site.results([job], 60)
    assert result.claims


def polls(site: Site, process: subprocess.Popen[bytes]) -> bool:
    """Whether a worker for subagents is at work: it gave its sign."""
    assert process.poll() is None, site.logs[-1].read_text()
    return site.signs == 1


async def test_subagents_alone_take_up_no_job(site: Site) -> None:
    job = await site.start(model="offline")
    alone = site.worker(RESEARCH_WORKER_ROLE="subagents", RESEARCH_FLEET_SUBAGENTS="4")
    with alone as process:
        await eventually(lambda: polls(site, process), "a worker")
        # Long enough for whoever polls the jobs' queue to have taken this one.
        until = time.monotonic() + 3
        while time.monotonic() < until:
            described = await job.describe()
            assert described.history_length <= 2, "somebody took it up"
            await asyncio.sleep(0.2)
        with site.worker(RESEARCH_WORKER_ROLE="coordinator"):
            [result] = await site.results([job], 60)
    assert result.claims
