"""A machine that is overrun: heartbeats come late, attempts race, and no turn is bought twice."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.durability.site import Site

LOAD, JOBS = 20, 5


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_under_a_load_of_twenty_no_turn_is_bought_twice(site: Site) -> None:
    await site.endpoint.delay(0.3)
    with busy_processes(LOAD):
        jobs = [await site.start_job() for _ in range(JOBS)]
        results = await asyncio.gather(*(job.result(800) for job in jobs))
    accounts = [job.account() for job in jobs]
    repeated = sum(result.telemetry.turns_bought_again for result in results)
    print(f"\n{sum(a.turns for a in accounts)} turns, {repeated} repeated by the reports' count")
    assert [account.kept_again for account in accounts] == [0] * JOBS
    assert [account.again for account in accounts] == [0] * JOBS
    assert repeated == 0
