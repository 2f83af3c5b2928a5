"""What a job is doing now is read from a real server: who works, which try, why, until when."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest
from temporalio.api.common.v1 import ActivityType, Payloads
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.contrib.pydantic import pydantic_data_converter

from console.client import jobs
from console.client.progress import (
    STEPS,
    Progress,
    ProgressPoller,
    _describe_activity,
    merge_parsing,
    read_progress,
)
from console.devserver.server import DevServer
from console.live.status_text import pending_line
from console.runtime.connection import connect
from tests.console.cli.test_commands import GOOD
from tests.console.conftest import Place, call, eventually
from workflows.config.settings import Settings
from workflows.contracts.result import Status
from workflows.contracts.state import Phase

Served = tuple[Place, DevServer]


@pytest.fixture
def configured(served: Served, monkeypatch: pytest.MonkeyPatch) -> DevServer:
    monkeypatch.setenv("TEMPORAL_ADDRESS", served[1].address)
    return served[1]


def looked(server: DevServer, job_id: str) -> Progress:
    async def look() -> Progress:
        client = await connect(Settings.read({}), server.address)
        job, _ = await jobs.find(client, job_id)
        return await read_progress(job)

    return asyncio.run(look())


def test_a_subagent_that_is_tried_again_is_named_with_its_failure(configured: DevServer) -> None:
    call("start", "a struggle", *GOOD, "--id", "hard")

    def failed() -> bool:
        return any(one.last_failure for one in looked(configured, "hard").pending)

    assert eventually(failed)
    now = looked(configured, "hard")
    (one,) = now.pending
    assert (one.step, one.facet_id) == ("researching The one facet", "f")
    assert (one.attempt, one.started, one.turns, one.sources) == (2, False, 4, 2)
    assert one.last_failure == "the provider is overloaded"
    assert one.retry_at is not None
    assert one.since < datetime.now(UTC) < one.retry_at
    assert (datetime.now(UTC) - one.since).total_seconds() < 3600
    assert (now.answered, now.needs, now.ended) == (True, "", None)

    told = json.loads(call("status", "hard", "--json")[1])
    assert told["waiting"][0]["last_failure"] == "the provider is overloaded"
    said = call("status", "hard")[1]
    assert "! researching The one facet (" in said
    assert "try 2 in " in said
    assert call("cancel", "hard")[0] == 0


def test_a_pass_that_works_is_the_phase(configured: DevServer) -> None:
    call("start", "hold in a pass", *GOOD, "--id", "passing")
    assert eventually(lambda: looked(configured, "passing").status.phase is Phase.REFINING)
    assert call("cancel", "passing")[0] == 0


def test_looking_costs_two_calls_a_second(configured: DevServer) -> None:
    call("start", "hold on", *GOOD, "--id", "seen")

    async def look() -> list[float]:
        client = await connect(Settings.read({}), configured.address)
        job, _ = await jobs.find(client, "seen")
        look = ProgressPoller(job)
        await look.poll()
        plain = look.interval
        look._calls = 5
        return [plain, look.interval]

    assert asyncio.run(look()) == [1.0, 2.5]
    assert call("finish", "seen", "--json")[1].startswith('{"id": "seen", "command": "finish"')


async def test_an_activity_whose_times_the_server_has_not_set_did_not_begin_in_1970() -> None:
    waiting = PendingActivityInfo(activity_type=ActivityType(name="research"), attempt=2)
    step = await _describe_activity(
        waiting,
        pydantic_data_converter,
        Status(id="x", phase=Phase.RESEARCHING, question="", model="offline"),
        STEPS,
    )
    assert abs((datetime.now(UTC) - step.since).total_seconds()) < 3600
    assert step.retry_at is None
    assert pending_line(step).startswith("researching (0:0")


async def test_indexing_shows_how_many_files_are_read() -> None:
    beat = await pydantic_data_converter.encode([{"files_parsed": 1200, "files": 5400}])
    reading = PendingActivityInfo(
        activity_type=ActivityType(name="open_corpus"),
        attempt=1,
        heartbeat_details=Payloads(payloads=beat),
    )
    status = Status(id="x", phase=Phase.STARTING, question="", model="offline")
    pending = await _describe_activity(reading, pydantic_data_converter, status, STEPS)
    (step,) = merge_parsing([pending], status)
    assert step.step == "reading the documents: 1,200 of 5,400 files"
