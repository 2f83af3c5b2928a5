"""The server is killed and started again on its SQLite file, alone and together with the worker."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.durability.campaign import Who, campaign, kills, publish
from tests.durability.jobs import JsonObject
from tests.durability.site import Site
from tests.durability.steps import Extent, Step
from tests.durability.test_kill_steps import LANES

STRIDE = int(os.environ.get("KILL_STRIDE") or 4)


@pytest.mark.timeout(300)
async def test_a_job_outlives_its_server_and_both_at_once(
    site: Site, reference: JsonObject
) -> None:
    row = await kills(
        site,
        [
            (Step("turn in flight", 9), "server"),
            (Step("event of the pass", 8), "both"),
        ],
        reference,
    )
    assert row.faults() == []
    assert row.kills == 2


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("who", ["server", "both"])
async def test_killed_at_every_step_it_costs_no_kept_turn(
    who: Who, extent: Extent, reference: JsonObject, tmp_path: Path
) -> None:
    rows = await campaign(tmp_path, [(s, who) for s in extent.steps(STRIDE)], reference, LANES)
    publish(rows)
    assert [fault for row in rows for fault in row.faults()] == []
