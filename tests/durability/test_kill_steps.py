"""A worker is killed, another goes on: the same report, and no kept turn is bought again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.durability.campaign import Who, campaign, kills, publish
from tests.durability.jobs import FIRST_RESEARCH, JsonObject
from tests.durability.site import Site
from tests.durability.steps import Extent, Step

LANES = int(os.environ.get("KILL_LANES") or 3)
STRIDE = int(os.environ.get("KILL_STRIDE") or 1)


@pytest.mark.timeout(300)
async def test_a_job_whose_worker_is_killed_again_and_again_comes_to_the_same_report(
    site: Site, reference: JsonObject
) -> None:
    steps: list[tuple[Step, Who]] = [
        (Step("checkpoint", 2), "worker"),
        (Step("turn half delivered", 3), "worker"),
        (Step("event of the pass", 5), "worker"),
    ]
    row = await kills(site, steps, reference)
    assert row.faults() == []
    assert row.kills == 3


@pytest.mark.timeout(240)
async def test_a_turn_that_was_not_sent_yet_is_not_counted_as_bought(
    site: Site, reference: JsonObject
) -> None:
    # While the first researcher's turn is in flight, the others' wait for it: only one was sent.
    row = await kills(site, [(Step("turn in flight", FIRST_RESEARCH), "worker")], reference)
    assert row.faults() == []
    assert row.reported == row.lost == 1


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
async def test_a_worker_killed_at_every_step_costs_no_kept_turn(
    extent: Extent, reference: JsonObject, tmp_path: Path
) -> None:
    steps: list[tuple[Step, Who]] = [(step, "worker") for step in extent.steps(STRIDE)]
    rows = await campaign(tmp_path, steps, reference, LANES)
    publish(rows)
    assert [fault for row in rows for fault in row.faults()] == []
    assert sum(row.kills for row in rows) >= 0.9 * len(steps)
