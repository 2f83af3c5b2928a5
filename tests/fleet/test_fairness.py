"""Nobody waits behind another tenant's queue, and what is urgent goes first.

One place for subagents, and many jobs before the one that is looked at. Its delay is how long its
own subagents waited for the place; one job's length is how long they then held it, in the same run,
so a slow machine changes both alike.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType

from tests.fleet.conftest import Handle, Site, provider
from workflows.config.policies import SUBAGENT_QUEUE

SCHEDULED = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
STARTED = EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED
COMPLETED = EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
ONE_AT_A_TIME = {"RESEARCH_WORKER_ROLE": "subagents", "RESEARCH_WORKER_SUBAGENTS": "1"}


@dataclass
class Stay:
    """Of one subagent: when it came, had a place, and left; in nanoseconds."""

    came: int
    begun: int = 0
    left: int = 0


async def stays(job: Handle) -> list[Stay]:
    """Of every subagent of the job that had a place."""
    found: dict[int, Stay] = {}
    async for event in job.fetch_history_events():
        at = event.event_time.ToNanoseconds()
        if event.event_type == SCHEDULED:
            if event.activity_task_scheduled_event_attributes.task_queue.name == SUBAGENT_QUEUE:
                found[event.event_id] = Stay(at)
        elif event.event_type == STARTED:
            begun = event.activity_task_started_event_attributes.scheduled_event_id
            if begun in found:
                found[begun].begun = at
        elif event.event_type == COMPLETED:
            done = event.activity_task_completed_event_attributes.scheduled_event_id
            if done in found:
                found[done].left = at
    return [stay for stay in found.values() if stay.begun]


async def queued(jobs: list[Handle]) -> None:
    """Until each has a subagent waiting."""
    async with asyncio.timeout(100):
        for job in jobs:
            while not (await job.describe()).raw_description.pending_activities:  # noqa: ASYNC110
                await asyncio.sleep(0.05)


async def goes_soon(site: Site, count: int, many: dict[str, Any], one: dict[str, Any]) -> None:
    """A single job that comes after many is delayed by no more than one job's length."""
    with provider(0.4) as endpoint, site.worker(RESEARCH_WORKER_ROLE="coordinator"):
        others = [await site.start(**many) for _ in range(count)]
        await queued(others)
        single = await site.start(**one)
        await queued([single])
        with site.worker(endpoint, **ONE_AT_A_TIME):
            await site.results([single], 100)
            own = await stays(single)
            begun = sorted([stay.begun for job in others for stay in await stays(job)])
        for job in others:
            await job.terminate()
    assert len(own) >= 5, "a job of several subagents, one after the other"
    before = sum(at < own[0].begun for at in begun)
    assert before <= len(own), f"{before} of the {count} went before it"
    # Before the worker came, everybody waited.
    opened = min([own[0].begun, *begun])
    delay = sum(stay.begun - max(stay.came, opened) for stay in own)
    length = sum(stay.left - stay.begun for stay in own)
    assert delay <= length, f"delayed by {delay / 1e9:.1f} s; a job takes {length / 1e9:.1f} s"


@pytest.mark.slow
async def test_thirty_jobs_of_a_tenant_do_not_hold_up_anothers_single_one(site: Site) -> None:
    await goes_soon(site, 30, {"tenant": "a"}, {"tenant": "b"})


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_two_hundred_jobs_of_a_tenant_do_not_hold_up_anothers_single_one(site: Site) -> None:
    await goes_soon(site, 200, {"tenant": "a"}, {"tenant": "b"})


@pytest.mark.slow
async def test_an_urgent_job_goes_before_those_that_came_first(site: Site) -> None:
    await goes_soon(site, 20, {"priority": 3}, {"priority": 1})
