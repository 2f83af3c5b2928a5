"""A provider that limits, is overloaded, refuses the key or is gone: the job waits or parks."""

from __future__ import annotations

import httpx2
import pytest

from console.client.jobs import fetch_report
from tests.activities.scripted import JsonObject, failure
from tests.job.conftest import (
    POWER,
    Office,
    Rule,
    Wire,
    status_when,
)
from tests.job.test_failures import BOTH, POWER_RESEARCH, coverage
from workflows.contracts.messages import Finish, Resume
from workflows.coordinator import ResearchWorkflow
from workflows.stages import execution


async def test_a_rate_limit_is_waited_out_and_costs_nothing(office: Office) -> None:
    limited = Rule(
        answer=lambda _: failure(429, "rate_limit_error", retry_after="1"),
        times=1,
        **POWER_RESEARCH,
    )
    result = await office.run(*BOTH, limited)
    assert coverage(result, "power").status == "answered"
    assert result.telemetry.turns_bought_again == 0
    assert result.status == "complete"


@pytest.mark.parametrize(("status", "kind"), [(429, "rate_limit_error"), (529, "overloaded_error")])
async def test_overload_is_waited_out_beyond_all_retries(
    office: Office, status: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "_SHORTEST_DELAY", 0.05)
    monkeypatch.setattr(execution, "_LONGEST_OVERLOAD_DELAY", 0.05)
    busy = Rule(answer=lambda _: failure(status, kind, retry_after="0"), times=15, **POWER_RESEARCH)
    wire = Wire(*BOTH, busy)
    async with office.working(wire):
        result = await fetch_report(await office.start())
    assert coverage(result, "power").status == "answered"
    assert result.status == "complete"
    assert result.telemetry.turns_bought_again == 0
    asked = [b for b in wire.asked("ResearchAnswer") if b["facet"]["title"] == POWER["title"]]
    assert len(asked) > 15, "more often than Temporal retries other errors"
    assert not any("try_now" in b for b in asked), "the question is not narrowed for it"


async def test_overload_that_outlasts_the_wait_parks_the_job(office: Office) -> None:
    office.settings = office.settings.model_copy(update={"overload_wait": 0.0})
    busy = Rule(answer=lambda _: failure(529, "overloaded_error"), times=1, **POWER_RESEARCH)
    async with office.working(Wire(*BOTH, busy)):
        handle = await office.start()
        status = await status_when(handle, lambda s: s.blocked is not None)
        assert status.blocked
        assert "no" in status.blocked.reason
        assert "then resume" in status.blocked.remedy
        await handle.execute_update(ResearchWorkflow.resume, Resume())
        assert (await handle.result()).status == "complete"


async def test_a_job_that_waits_for_the_provider_says_so(office: Office) -> None:
    busy = Rule(
        answer=lambda _: failure(429, "rate_limit_error", retry_after="600"), times=1,
        **POWER_RESEARCH,
    )  # fmt: skip
    async with office.working(Wire(*BOTH, busy)):
        handle = await office.start()
        status = await status_when(handle, lambda s: bool(s.waiting_for))
        assert "asked to wait 600 s" in status.waiting_for
        assert status.blocked is None
        await handle.execute_update(ResearchWorkflow.resume, Resume())
        assert (await handle.result()).status == "complete", "`resume` ends the wait"


async def test_a_bad_key_parks_the_job_until_an_operator_says_go_on(office: Office) -> None:
    wire = Wire(*BOTH, Rule(answer=lambda _: failure(401, "authentication_error", "bad key"),
                            times=1, **POWER_RESEARCH))  # fmt: skip
    async with office.working(wire):
        handle = await office.start()
        status = await status_when(handle, lambda s: s.blocked is not None)
        assert status.blocked is not None
        assert "ANTHROPIC_API_KEY" in status.blocked.remedy
        await handle.execute_update(ResearchWorkflow.resume, Resume())
        result = await fetch_report(handle)
    assert coverage(result, "power").status == "answered"
    assert result.telemetry.turns_bought_again == 0


async def test_a_lost_connection_is_retried_without_buying_anything_twice(
    office: Office,
) -> None:
    lost = Rule("DraftAnswer", lambda _: httpx2.ConnectError("gone"), times=1)
    result = await office.run(*BOTH, lost)
    assert result.telemetry.turns_bought_again == 0
    assert result.status == "complete"


async def test_a_job_told_to_finish_waits_for_no_rate_limit_and_names_the_wait(
    office: Office,
) -> None:
    def limited(body: JsonObject) -> httpx2.Response | None:
        has_searched = len(body["messages"]) > 1
        return failure(429, "rate_limit_error", retry_after="3600") if has_searched else None

    wire = Wire(*BOTH, Rule(answer=limited, **POWER_RESEARCH))
    async with office.working(wire):
        handle = await office.start()
        await status_when(
            handle,
            lambda s: bool(s.waiting_for) and any(f.status == "found" for f in s.facets),
        )
        await handle.execute_update(ResearchWorkflow.finish, Finish())
        result = await fetch_report(handle)
        state = await handle.query(ResearchWorkflow.state)
    assert state.outcomes["power"].status == "rate_limited"
    limit = coverage(result, "power")
    assert limit.status == "failed"
    assert [(way.kind, way.wait_seconds) for way in limit.alternatives] == [("later", 3600)]
    assert "3600 s" in limit.alternatives[0].text
    assert coverage(result, "passengers").claims, "what came back is reported"
