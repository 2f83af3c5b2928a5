"""Days, hours and a month in virtual time: a server that skips ahead while nothing runs."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest
from temporalio.client import (
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleBackfill,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    ScheduleSpec,
    ScheduleState,
    WorkflowFailureError,
)
from temporalio.testing import TimeSkippingConfig, WorkflowEnvironment

from console.client import jobs
from console.client.jobs import fetch_report, get_handle
from console.devserver.server import SEARCH_ATTRIBUTES, find_binary
from console.runtime.data_converter import data_converter
from tests.job.conftest import (
    NO_GAPS,
    PASSENGERS,
    QUESTION,
    UNREVIEWED,
    Handle,
    Office,
    Rule,
    Wire,
    documents,
    planned,
    status_when,
)
from workflows.config.settings import Settings
from workflows.contracts.messages import Approve
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.coordinator import ResearchWorkflow


def wire(*rules: Rule) -> Wire:
    return Wire(*rules, planned(PASSENGERS), UNREVIEWED, NO_GAPS)


@asynccontextmanager
async def open_office(
    folder: Path, config: TimeSkippingConfig
) -> AsyncIterator[tuple[Office, WorkflowEnvironment]]:
    """An office whose jobs have clocks of their own."""
    settings = Settings.read({"RESEARCH_HOME": str(folder / "home")})
    arguments = ["--dynamic-config-value", "frontend.WorkflowTimeSkippingEnabled=true"]
    for name in SEARCH_ATTRIBUTES:
        arguments += ["--search-attribute", f"{name}=Keyword"]
    async with await WorkflowEnvironment.start_time_skipping_v2(
        ts_config=config,
        data_converter=data_converter(settings),
        dev_server_existing_path=str(find_binary()),
        dev_server_extra_args=arguments,
    ) as env:
        yield Office(env.client, settings, documents(folder / "documents")), env


@pytest.fixture
async def skipping(tmp_path: Path) -> AsyncIterator[Office]:
    """Skips ahead by itself whenever a job only waits."""
    async with open_office(tmp_path, TimeSkippingConfig()) as (office, _):
        yield office


async def lasted(handle: Handle) -> timedelta:
    """From the first to the last event, by the job's own clock."""
    events = (await handle.fetch_history()).events
    first, last = (event.event_time.ToDatetime() for event in (events[0], events[-1]))
    return last - first


@pytest.mark.parametrize("default", ["approve", "reject"])
async def test_a_plan_that_nobody_answers_for_days_is_decided_at_its_deadline(
    skipping: Office, default: str
) -> None:
    async with skipping.working(wire()):
        handle = await skipping.start(approval={"seconds": 20 * 86_400, "default": default})
        if default == "approve":
            assert (await fetch_report(handle)).status == "complete"
        else:
            with pytest.raises(WorkflowFailureError):
                await handle.result()
    assert timedelta(days=20) <= await lasted(handle) < timedelta(days=21)


@pytest.mark.slow
async def test_a_rate_limit_of_hours_is_waited_out_and_the_job_comes_to_its_end(
    skipping: Office,
) -> None:
    limited = httpx2.Response(
        429,
        headers={"retry-after": "3600"},
        json={"type": "error", "error": {"type": "rate_limit_error", "message": "later"}},
    )
    rules = [
        Rule("PlanDraft", lambda _: limited, times=3),
        Rule("ResearchAnswer", lambda _: limited, times=6),
        Rule("DraftAnswer", lambda _: limited, times=2),
    ]
    async with skipping.working(wire(*rules)):
        handle = await skipping.start()
        result = await fetch_report(handle)
    assert result.status == "complete"
    assert result.telemetry.turns_bought_again == 0
    assert await lasted(handle) >= timedelta(hours=3 + 6 + 2)


async def test_a_plan_is_approved_after_five_days_and_the_job_goes_on(tmp_path: Path) -> None:
    async with open_office(tmp_path, TimeSkippingConfig(enabled=False)) as (office, env):
        async with office.working(wire()):
            handle = await office.start(approval={"seconds": 20 * 86_400, "default": "reject"})
            await status_when(handle, lambda s: s.approve_by is not None)
            await env.fast_forward(handle, timedelta(days=5))
            status = await handle.query(ResearchWorkflow.status)
            assert status.phase == "approving", "it still waits"
            answer = Approve(decision="approve")
            assert await handle.execute_update(ResearchWorkflow.approve, answer) == "approved"
            assert (await fetch_report(handle)).status == "complete"
        assert timedelta(days=5) <= await lasted(handle) < timedelta(days=6)


DAYS = 30


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_schedule_runs_for_a_month_and_each_report_follows_the_one_before(
    office: Office,
) -> None:
    """A month of a daily schedule, run one after the other."""
    name, end = f"month-{uuid4()}", datetime(2026, 3, 31, 12, tzinfo=UTC)
    request = ResearchRequest(question=QUESTION, corpus=str(office.corpus), report_changes=True)
    schedule = await office.client.create_schedule(
        name,
        Schedule(
            action=ScheduleActionStartWorkflow(
                ResearchWorkflow.run, args=[request], id=name, task_queue=TASK_QUEUE
            ),
            spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(days=1))]),
            state=ScheduleState(paused=True),
        ),
    )
    async with office.working(wire()):
        await schedule.backfill(
            ScheduleBackfill(
                start_at=end - timedelta(days=DAYS),
                end_at=end,
                overlap=ScheduleOverlapPolicy.BUFFER_ALL,
            )
        )
        days = [(end - timedelta(days=day)).date() for day in range(DAYS)][::-1]
        reports = []
        for day in days:
            job = get_handle(office.client, f"{name}-{day}T00:00:00Z")
            for _ in range(300):
                if await jobs.describe(office.client, job.id):
                    break
                await asyncio.sleep(0.2)
            reports.append(await fetch_report(job))
    await schedule.delete()
    assert [report.status for report in reports] == ["complete"] * DAYS
    assert reports[0].changes is None
    for before, after in itertools.pairwise(reports):
        assert after.changes is not None
        assert after.changes.previous == before.id
        assert after.changes.none, "nothing changed in the documents"
