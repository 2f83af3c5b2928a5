"""Storage that is gone, that fails, or that is slow: the job waits for it and comes to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durability.campaign import Row, settle
from tests.durability.jobs import Job, JsonObject
from tests.durability.site import Site
from tests.durability.steps import Step
from tests.durability.waiting import eventually
from workflows.contracts.messages import Resume
from workflows.coordinator import ResearchWorkflow

FAULTY = Path(__file__).with_name("faulty_worker.py")


async def with_the_store_away(site: Site) -> Job:
    """A job whose store became a plain file while a researcher's turn was in flight."""
    step = Step("turn in flight", 8)
    armed = await step.arm(site)
    job = await site.start_job()
    await step.reached(job, armed)
    site.store.rename(site.folder / "away")
    site.store.write_text("not a folder")
    await site.endpoint.go()
    return job


def bring_back(site: Site) -> None:
    site.store.unlink()
    (site.folder / "away").rename(site.store)


async def tried_again(job: Job) -> bool:
    described = await job.handle.describe()
    return any(call.attempt > 1 for call in described.raw_description.pending_activities)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_store_that_is_away_for_a_while_costs_nothing(
    site: Site, reference: JsonObject
) -> None:
    job = await with_the_store_away(site)
    await eventually(lambda: tried_again(job), "what failed is tried again")
    bring_back(site)
    row = Row("store away", "worker", in_flight=0)
    settle(row, job, await job.result(), reference)
    assert row.faults() == []


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_store_that_stays_away_blocks_the_job_until_it_is_back_and_someone_says_so(
    site: Site, reference: JsonObject
) -> None:
    site.worker.kill()
    site.start_worker(RESEARCH_STORAGE_WAIT_SECONDS="5")
    job = await with_the_store_away(site)

    async def blocked() -> str | None:
        status = await job.handle.query(ResearchWorkflow.status)
        return status.blocked.remedy if status.blocked else None

    remedy = await eventually(blocked, "the job is blocked", seconds=400)
    assert "store" in remedy
    bring_back(site)
    await job.handle.execute_update(ResearchWorkflow.resume, Resume())
    row = Row("store away", "worker", in_flight=0)
    settle(row, job, await job.result(), reference)
    assert row.faults() == []


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_store_that_is_slow_and_fails_now_and_then_changes_nothing(
    site: Site, reference: JsonObject
) -> None:
    site.worker.kill()
    site.start_worker(FAULTY, FAULT="slow_store")
    job = await site.start_job()
    # A failed write is repeated; it does not cost the turn it was to keep.
    row = Row("slow store", "worker", in_flight=0)
    settle(row, job, await job.result(240), reference)
    assert row.faults() == []
