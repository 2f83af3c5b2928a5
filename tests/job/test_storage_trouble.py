"""Storage trouble in a local activity is waited for, then parks the job; it never fails it."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.client.jobs import fetch_report
from tests.job.conftest import NO_GAPS, PASSENGERS, UNREVIEWED, Office, Wire, planned, status_when
from workflows.contracts.messages import Approve, Resume
from workflows.coordinator import ResearchWorkflow


def take_away(store: Path) -> None:
    store.rename(store.with_name("away"))
    store.write_text("not a folder")


def bring_back(store: Path) -> None:
    store.unlink()
    store.with_name("away").rename(store)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("wait", [0.0, 3600.0], ids=["parked", "waited for"])
async def test_a_store_that_fails_a_checkpoint_does_not_fail_the_job(
    office: Office, wait: float
) -> None:
    office.settings = office.settings.model_copy(update={"storage_wait": wait})
    store = Path(office.settings.store)
    wire = Wire(planned(PASSENGERS), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        # The first thing to be written after the approval is a checkpoint.
        handle = await office.start(approval={"seconds": 3600})
        await status_when(handle, lambda s: s.approve_by is not None)
        take_away(store)
        await handle.execute_update(ResearchWorkflow.approve, Approve(decision="approve"))
        status = await status_when(handle, lambda s: bool(s.blocked or s.waiting_for))
        if wait:
            assert "bring the folder or bucket back" in status.waiting_for
        else:
            assert status.blocked
            assert status.blocked.step == "keep_checkpoint"
            assert "store" in status.blocked.remedy
        bring_back(store)
        if not wait:
            await handle.execute_update(ResearchWorkflow.resume, Resume())
        assert (await fetch_report(handle)).status == "complete"
