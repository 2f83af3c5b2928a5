"""The suite can fail: a worker that forgets, and one that does not count, are found out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durability.campaign import Row, settle, strike
from tests.durability.jobs import JsonObject
from tests.durability.site import Site
from tests.durability.steps import Step

FAULTY = Path(__file__).with_name("faulty_worker.py")


async def killed_for(site: Site, fault: str, step: Step, reference: JsonObject) -> Row:
    """A job whose worker is killed at the step and replaced by one with a fault."""
    row = Row(str(step), "worker")
    armed = await step.arm(site)
    job = await site.start_job()
    await step.reached(job, armed)
    strike(site, "worker")
    row.in_flight = len(job.account().lost)
    site.start_worker(FAULTY, FAULT=fault)
    await site.endpoint.go()
    settle(row, job, await job.result(), reference)
    return row


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_a_journal_that_forgets_is_found_out(site: Site, reference: JsonObject) -> None:
    # In the planner's second turn: its first one is kept, and the next worker asks for it again.
    row = await killed_for(site, "forgetful", Step("turn in flight", 2), reference)
    assert row.bought_again > 0
    assert any("kept turns asked for again" in fault for fault in row.faults())


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_a_count_that_is_not_true_is_found_out(site: Site, reference: JsonObject) -> None:
    row = await killed_for(site, "miscounting", Step("turn in flight", 2), reference)
    assert row.lost > 0
    assert any("the report says 0 bought again" in fault for fault in row.faults())


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_another_report_is_found_out(site: Site, reference: JsonObject) -> None:
    other = {**reference, "report_markdown": "# Something else"}
    job = await site.start_job()
    row = Row("undisturbed", "worker")
    settle(row, job, await job.result(), other)
    assert [fault for fault in row.faults() if "another report" in fault]
