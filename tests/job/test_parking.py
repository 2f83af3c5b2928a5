"""What asking again cannot mend parks the job, with a reason and a remedy, until somebody acts."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from console.client.jobs import fetch_report
from tests.activities.scripted import failure
from tests.job.conftest import (
    NO_GAPS,
    PASSENGERS,
    POWER,
    UNREVIEWED,
    Office,
    Rule,
    Wire,
    about,
    planned,
    status_when,
)
from workflows.contracts.messages import Resume
from workflows.coordinator import ResearchWorkflow

SPENT = httpx2.Response(
    429,
    json={
        "type": "error",
        "error": {
            "type": "rate_limit_error",
            "message": "monthly limit",
            "details": {"error_code": "enforced_spend_limit_reached"},
        },
    },
)


async def test_documents_outside_the_folders_a_worker_may_read_are_not_opened(
    office: Office, tmp_path: Path
) -> None:
    allowed = str(tmp_path / "elsewhere")
    office.settings = office.settings.model_copy(update={"corpora": (allowed,)})
    async with office.working(Wire()):
        handle = await office.start()
        status = await status_when(handle, lambda s: s.blocked is not None)
        await handle.cancel()
    assert status.blocked
    assert "RESEARCH_CORPORA" in status.blocked.reason
    assert status.turns == 0


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [
        pytest.param(failure(401, "authentication_error"), "ANTHROPIC_API_KEY", id="a wrong key"),
        pytest.param(failure(404, "not_found_error"), "the model's name", id="an unknown model"),
        pytest.param(failure(400, "invalid_request_error"), "refuses", id="a bad request"),
        pytest.param(SPENT, "spend limit", id="a spent limit"),
    ],
)
async def test_only_what_failed_is_asked_again_after_resume(
    office: Office, answer: httpx2.Response, remedy: str
) -> None:
    fault = Rule("ResearchAnswer", lambda _: answer, when=about(POWER["title"]), times=1)
    wire = Wire(fault, planned(PASSENGERS, POWER), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        handle = await office.start()
        status = await status_when(handle, lambda s: s.blocked is not None)
        assert status.blocked
        assert status.blocked.step == "research"
        assert remedy in status.blocked.remedy
        assert await handle.execute_update(ResearchWorkflow.resume, Resume()) == "resumed"
        result = await fetch_report(handle)
    assert result.status == "complete"
    assert result.telemetry.turns_bought_again == 0
    plans = len(wire.asked("PlanDraft")) + len(wire.asked("PlanReview"))
    assert plans == 2, "nothing before the failure was bought again"
