"""A hundred jobs at once, and every few seconds a worker is killed: all of them finish."""

from __future__ import annotations

import os

import pytest

from tests.durability.fleet import Fleet, survive
from tests.durability.jobs import JsonObject
from tests.durability.site import Site

JOBS = int(os.environ.get("KILL_JOBS") or 100)


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_a_hundred_jobs_finish_while_workers_are_killed(
    site: Site, reference: JsonObject
) -> None:
    await site.endpoint.delay(0.2)
    fleet = Fleet(site, seed=1, size=3, every=5.0)
    rows = await survive(fleet, JOBS, reference, more=lambda: False, seconds=3000)
    lost, unsent = sum(row.lost for row in rows), sum(row.unsent for row in rows)
    print(f"\n{len(rows)} jobs, {len(fleet.struck)} workers killed, {lost} turns lost,"
          f" {unsent} put down and not sent")  # fmt: skip
    assert len(rows) == JOBS
    assert [fault for row in rows for fault in row.faults()] == []
    assert fleet.struck, "the jobs were over before anything was killed"
