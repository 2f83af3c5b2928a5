"""A worker that was frozen while another took over wakes up, and corrupts nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.client.checkpoints import CheckpointStore
from tests.durability.campaign import Row, settle
from tests.durability.jobs import FIRST_RESEARCH, Job, JsonObject
from tests.durability.processes import Process
from tests.durability.site import Site
from tests.durability.steps import Step
from tests.durability.waiting import until
from workflows.config.settings import Settings


async def frozen_in_research(site: Site, turn: int = 9) -> tuple[Job, Process]:
    """A job whose worker is frozen with a researcher's turn in flight, which is then answered."""
    step = Step("turn in flight", turn)
    armed = await step.arm(site)
    job = await site.start_job()
    await step.reached(job, armed)
    zombie = site.worker
    zombie.freeze()
    await site.endpoint.go()
    return job, zombie


def contents(site: Site) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in site.store.rglob("*") if file.is_file()}


@pytest.mark.timeout(300)
async def test_a_zombie_that_wakes_in_the_middle_changes_nothing(
    site: Site, reference: JsonObject
) -> None:
    job, zombie = await frozen_in_research(site)
    kept = len(job.account().kept)
    site.start_worker()
    await until(lambda: len(job.account().kept) > kept, "another worker takes over")
    zombie.thaw()
    row = Row("frozen", "worker", in_flight=5)
    settle(row, job, await job.result(), reference)
    assert row.faults() == []
    readable, faults = await CheckpointStore(Settings(store=str(site.store))).load_all(job.id)
    assert len(readable) == len(job.checkpoint_files())
    assert faults == []


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_zombie_that_wakes_after_the_end_writes_nothing(
    site: Site, reference: JsonObject
) -> None:
    # The first of the researchers' turns: the others wait for it, and wake with the zombie.
    job, zombie = await frozen_in_research(site, FIRST_RESEARCH)
    other = site.start_worker()
    row = Row("frozen", "worker", in_flight=5)
    settle(row, job, await job.result(), reference)
    assert row.faults() == []
    before, bought = contents(site), len(site.endpoint.arrived(job.id))
    other.kill()
    zombie.thaw()
    # It works for whoever asks next: by the time it is done, it has come to terms with the past.
    following = await site.start_job()
    settle(Row("after", "worker"), following, await following.result(), reference)
    after = contents(site)
    assert {file: after[file] for file in before} == before
    assert [file for file in after.keys() - before.keys() if job.id in str(file)] == []
    assert len(site.endpoint.arrived(job.id)) == bought
