"""Research on a schedule: what changed since the last run, and the commands that keep schedules."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleHandle,
    ScheduleOverlapPolicy,
    ScheduleSpec,
)
from temporalio.testing import ActivityEnvironment
from typer.testing import CliRunner

from activities.records import Records
from activities.storage.corpus_publishing import publish
from console.cli import schedule
from console.cli.app import CommandGroup
from console.client.jobs import fetch_report
from tests.job.conftest import (
    DOCUMENTS,
    NO_GAPS,
    PASSENGERS,
    QUESTION,
    UNREVIEWED,
    Handle,
    Office,
    Wire,
    documents,
    planned,
)
from tests.triggers.conftest import Held, eventually, reconnected, unique
from worker import build_context
from workflows.config.store_keys import report_key
from workflows.contracts.activity_io import PublishBrief
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.coordinator import ResearchWorkflow

pytestmark = pytest.mark.sandbox


def wire(*rules: Any) -> Wire:
    return Wire(planned(PASSENGERS), UNREVIEWED, NO_GAPS, *rules)


async def scheduled(office: Office) -> ScheduleHandle:
    name = unique("watch")
    request = ResearchRequest(question=QUESTION, corpus=str(office.corpus), report_changes=True)
    action = ScheduleActionStartWorkflow(
        ResearchWorkflow.run, args=[request], id=name, task_queue=TASK_QUEUE
    )
    return await office.client.create_schedule(name, Schedule(action=action, spec=ScheduleSpec()))


async def run(client: Client, schedule: ScheduleHandle, n: int) -> Handle:
    """Its n-th run, which begins now or when the one before is over."""
    await schedule.trigger(overlap=ScheduleOverlapPolicy.BUFFER_ONE)

    async def begun() -> Any:
        runs = (await schedule.describe()).info.recent_actions
        return len(runs) >= n and runs[n - 1].action

    action = await eventually(begun)
    # Two runs that begin within one second have one id.
    return client.get_workflow_handle_for(
        ResearchWorkflow.run, action.workflow_id, run_id=action.first_execution_run_id
    )


def change(corpus: Path) -> None:
    report = corpus / "harbour/annual_report.md"
    report.write_text(DOCUMENTS["harbour/annual_report.md"].replace("412,000", "431,000"), "utf-8")
    (corpus / "harbour/news.md").write_text(
        "# News\n\nA night service of the harbour line carried 12,800 passengers in 2025.\n",
        "utf-8",
    )


async def test_a_run_reports_what_changed_since_the_last_also_where_results_lie_in_the_store(
    office: Office, temporal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.runtime.data_converter.THRESHOLD", 1024)
    office = await reconnected(office, temporal, office.settings)
    schedule = await scheduled(office)
    async with office.working(wire()):
        first = await fetch_report(await run(office.client, schedule, 1))
        same = await fetch_report(await run(office.client, schedule, 2))
        await asyncio.to_thread(change, office.corpus)
        last = await fetch_report(await run(office.client, schedule, 3))
    await schedule.delete()
    assert first.changes is None
    assert "What changed" not in first.report_markdown
    assert same.changes is not None
    assert same.changes.none
    assert (same.changes.previous, same.changes.since) == (first.id, first.started_at)
    changes = last.changes
    assert changes is not None
    assert changes.previous == same.id
    assert any("12,800" in claim.text for claim in changes.new_claims)
    assert [(c.what, "412,000" in c.before.text, "431,000" in c.after.text)
            for c in changes.changed_claims] == [("figures", True, True)]  # fmt: skip
    assert any("431,000" in " ".join(c.sides) for c in changes.new_contradictions)
    assert [s.uri for s in changes.new_sources] == ["harbour/news.md"]
    assert [s.uri for s in changes.changed_sources] == ["harbour/annual_report.md"]
    assert changes.new_documents == ("harbour/news.md",)
    assert changes.changed_documents == ("harbour/annual_report.md",)
    assert changes.gone_documents == ()
    assert "**New documents**\n\n- `harbour/news.md`" in last.report_markdown
    assert f"## What changed since {same.started_at[:10]}" in last.report_markdown


async def test_a_run_that_is_taken_up_from_its_state_still_knows_the_last_one(
    office: Office,
) -> None:
    """Only a schedule is told of the last result; a restart is not."""
    schedule = await scheduled(office)
    async with office.working(wire()):
        first = await fetch_report(await run(office.client, schedule, 1))
    held = Held("Passengers")
    async with office.working(wire(held.rule)):
        second = await run(office.client, schedule, 2)
        await asyncio.wait_for(held.asked.wait(), 60)
        state = await second.query(ResearchWorkflow.state)
        await second.terminate()
        held.released.set()
        again = await fetch_report(
            await office.client.start_workflow(
                ResearchWorkflow.run,
                args=[state.request, state],
                id=second.id,
                task_queue=TASK_QUEUE,
            )
        )
    await schedule.delete()
    assert again.changes is not None
    assert (again.changes.previous, again.changes.none) == (first.id, True)


async def test_a_last_result_that_cannot_be_read_is_said_and_does_not_end_the_job(
    office: Office,
) -> None:
    async with office.working(wire()):
        job = await office.start()
        await job.result()
        state = await job.query(ResearchWorkflow.state)
    context = build_context(office.settings)
    records, key = Records(context), report_key("../job", 1, "run")
    await context.store.put_new(key, b'{"from": "another version"}')
    state.previous = key
    brief = PublishBrief(state=state, seconds=1.0, key=report_key("../job", 2, "run"))
    published = await ActivityEnvironment().run(records.publish, brief)
    again = await ActivityEnvironment().run(
        records.publish, brief.model_copy(update={"seconds": 2})
    )
    await context.close()
    assert again == published, "a repeated call returns the report that is stored"
    assert published.result.changes is None
    assert "cannot be read" in published.result.report_markdown
    assert ".." not in Path(key).parts


async def test_a_run_brings_what_its_worker_can_reach_up_to_date_and_nothing_else(
    office: Office,
) -> None:
    context = build_context(office.settings)
    by_address = await publish(context.store, "shared", f"file://{office.corpus}")
    by_path = await publish(context.store, "own", str(office.corpus))
    assert (await context.find_version("shared"))[1] == by_address.version
    change(office.corpus)
    newer = (await context.find_version("shared"))[1]
    assert newer != by_address.version
    # The folder of another machine may have the same path.
    assert (await context.find_version("own"))[1] == by_path.version
    for path in office.corpus.iterdir():
        shutil.rmtree(path)
    assert (await context.find_version("shared"))[1] == newer, "a disk that is not mounted is empty"
    office.corpus.rmdir()
    assert (await context.find_version("shared"))[1] == newer
    await context.close()


# --- the commands -------------------------------------------------------------------------------


@pytest.fixture
def call(
    temporal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str]]:
    """A `schedule` command on the server, in this process: its exit code and what it says."""
    app = typer.Typer(cls=CommandGroup)
    app.add_typer(schedule.app, name="schedule")
    documents(tmp_path / "documents")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TEMPORAL_ADDRESS", temporal)
    monkeypatch.setenv("RESEARCH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    def typed(*arguments: str) -> tuple[int, str]:
        ended = CliRunner().invoke(app, ["schedule", *arguments])
        if ended.exception is not None and not isinstance(ended.exception, SystemExit):
            raise ended.exception
        return ended.exit_code, ended.output

    return typed


def shown(call: Callable[..., tuple[int, str]], holds: Callable[[Any], Any], *words: str) -> Any:
    """What a command says as JSON, once it is as wanted: lists lag behind."""
    deadline = time.monotonic() + 60
    while not holds(said := json.loads(call(*words, "--json")[1])):
        assert time.monotonic() < deadline, said
    return said


def test_a_schedule_is_made_shown_paused_run_and_taken_away(
    call: Callable[..., tuple[int, str]], temporal: str
) -> None:
    name = unique("watch")
    code, said = call("create", name, QUESTION, "--every", "24h", "--corpus", "documents")
    assert code == 0, said
    assert "first run is at" in said
    assert re.search(r"corpus refresh documents-\w+` there, before a run", said)
    code, said = call("create", name, QUESTION, "--every", "24h", "--corpus", "documents")
    assert code == 2
    assert "already" in said
    rows = shown(call, lambda rows: name in [row["name"] for row in rows], "list")
    assert [(row["paused"], row["last"]) for row in rows if row["name"] == name] == [
        (False, "never")
    ]
    assert call("pause", name, "--note", "holidays")[0] == 0
    about = shown(call, lambda about: about["paused"], "show", name)
    assert (about["question"], about["note"], about["runs"]) == (QUESTION, "holidays", [])
    assert call("unpause", name)[0] == 0
    assert call("trigger", name)[0] == 0
    about = shown(call, lambda about: about["runs"], "show", name)
    job = about["runs"][0]["id"]
    assert job.startswith(f"{name}-")
    assert f"result {job}" in call("show", name)[1]
    assert call("delete", name)[0] == 0
    code, said = call("show", name)
    assert code == 2
    assert "schedule list" in said

    async def look_and_end() -> str:
        client = await Client.connect(temporal)
        handle = client.get_workflow_handle(job)
        history = await handle.fetch_history()
        await handle.terminate()
        started = history.events[0].workflow_execution_started_event_attributes
        return started.input.payloads[0].data.decode()

    assert json.loads(asyncio.run(look_and_end()))["report_changes"] is True


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ([], "--every 24h"),
        (["--every", "24h", "--cron", "0 6 * * *"], "not both"),
        (["--every", "soon"], "7d, 2h or 30m"),
        (["--every", "0h"], "7d, 2h or 30m"),
        (["--every", "24h", "--time-zone", "Europe/Berlin"], "--time-zone belongs to --cron"),
        (["--cron", "whenever it rains"], "correct --cron"),
        (["--cron", "0 6 * * *", "--time-zone", "Atlantis"], "--time-zone"),
    ],
)
def test_a_time_that_cannot_be_is_refused_with_a_remedy(
    call: Callable[..., tuple[int, str]], options: list[str], remedy: str
) -> None:
    code, said = call("create", unique("x"), QUESTION, "--corpus", "documents", *options)
    assert (code, remedy in said) == (2, True), said


def test_the_embedded_server_is_no_place_for_a_schedule(
    call: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEMPORAL_ADDRESS")
    for words in (["list"], ["create", "x", QUESTION, "--every", "24h"]):
        code, said = call(*words)
        assert (code, "set TEMPORAL_ADDRESS" in said) == (2, True), said
