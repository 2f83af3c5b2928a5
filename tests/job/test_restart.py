"""A run starts from a state: restart, fork, continue-as-new and reset buy nothing a second time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.common import RawValue
from temporalio.testing import WorkflowEnvironment

from activities.storage.store import Store
from console.client.jobs import fetch_report
from console.devserver.server import SEARCH_ATTRIBUTES, find_binary
from console.runtime.data_converter import data_converter
from tests.activities.scripted import failure
from tests.job.conftest import (
    NO_GAPS,
    PASSENGERS,
    POWER,
    UNREVIEWED,
    Handle,
    Office,
    Rule,
    Wire,
    documents,
    planned,
    reply,
    status_when,
    wanted,
)
from tests.job.test_steering import Gate, researched
from workflows.config.settings import Settings
from workflows.config.store_keys import checkpoints_folder
from workflows.contracts.messages import Resume
from workflows.contracts.request import TASK_QUEUE
from workflows.contracts.result import ResearchSummary
from workflows.contracts.state import ResearchState
from workflows.coordinator import ResearchWorkflow
from workflows.rules.restart import fork_state, restart_state

BOTH = (planned(PASSENGERS, POWER), UNREVIEWED)
UPKEEP_GAP = {
    "facet_id": "power",
    "kind": "thin",
    "text": "Maintenance is thin.",
    "question": "How long is each electric boat out of service for maintenance?",
}


def one_gap() -> tuple[Rule, Rule]:
    return Rule("EvaluationAnswer", reply(judgements=[], gaps=[UPKEEP_GAP]), times=1), NO_GAPS


def fingerprints(wire: Wire) -> list[str]:
    return [str(body) for body in wire.requests]


async def checkpoints(office: Office, job: str) -> dict[str, ResearchState]:
    """The stored states by their names; the newest of one name."""
    store = Store.open(office.settings.store)
    keys = sorted(await store.list(checkpoints_folder(job)))
    return {
        key.rpartition("/")[2].removesuffix(".json")[4:]: await store.load(key, ResearchState)
        for key in keys
    }


async def take_up(office: Office, state: ResearchState) -> Handle:
    return await office.client.start_workflow(
        ResearchWorkflow.run,
        args=[state.request, state],
        id=state.id,
        task_queue=TASK_QUEUE,
    )


async def stopped_at(office: Office, schema: str, *rules: Rule, **request: Any) -> tuple[str, Wire]:
    """A job that was terminated while its first request of this kind was in flight."""
    gate = Gate()
    wire = Wire(gate.rule(schema), *rules)
    async with office.working(wire):
        handle = await office.start(**request)
        await asyncio.wait_for(gate.reached.wait(), 60)
        await handle.terminate("stopped by the test")
        gate.open.set()
        with pytest.raises(WorkflowFailureError):
            await fetch_report(handle)
    return handle.id, wire


async def test_a_terminated_run_is_taken_up_from_its_last_checkpoint(office: Office) -> None:
    job, before = await stopped_at(office, "DraftAnswer", *BOTH, NO_GAPS)
    kept = await checkpoints(office, job)
    assert list(kept) == ["opened", "planned", "researched"]
    wire = Wire(*BOTH, NO_GAPS)
    async with office.working(wire):
        state = restart_state(kept["researched"], run_id="r", checkpoint="researched")
        result = await fetch_report(await take_up(office, state))
    # The draft in flight may have been answered, and kept, before its worker heard of the end.
    assert {wanted(b) for b in wire.requests} <= {
        "DraftAnswer",
        "DraftJudgement",
        "EvaluationAnswer",
    }
    assert result.status == "complete"
    assert result.parent
    assert (result.parent.how, result.parent.checkpoint) == ("restart", "researched")
    assert result.telemetry.turns > len(wire.requests), "what the first run bought is on the bill"
    assert before.asked("ResearchAnswer")


async def test_an_earlier_checkpoint_replays_what_the_journal_holds(office: Office) -> None:
    job, before = await stopped_at(office, "DraftAnswer", *BOTH, NO_GAPS)
    kept = await checkpoints(office, job)
    wire = Wire(*BOTH, NO_GAPS)
    async with office.working(wire):
        state = restart_state(kept["planned"], run_id="r", checkpoint="planned")
        result = await fetch_report(await take_up(office, state))
    assert researched(wire) == set(), "every turn of the researchers was in the journal"
    assert result.claims
    assert researched(before) == {PASSENGERS["title"], POWER["title"]}


async def test_a_fork_pays_for_nothing_before_its_checkpoint(office: Office) -> None:
    wire = Wire(*BOTH, *one_gap())
    async with office.working(wire):
        handle = await office.start(max_passes=0)
        first = await fetch_report(handle)
        kept = await checkpoints(office, handle.id)
        bought = len(wire.requests)
        state = fork_state(
            kept["evaluated"],
            job_id=f"{handle.id}-fork",
            run_id="r",
            checkpoint="evaluated",
            changes={"max_passes": "1"},
        )
        second = await fetch_report(await take_up(office, state))
    assert [p.n for p in first.passes] == [0]
    assert [p.n for p in second.passes] == [0, 1]
    assert second.parent
    assert (second.parent.how, second.parent.id) == ("fork", handle.id)
    new = wire.requests[bought:]
    assert {wanted(b) for b in new} <= {
        "ResearchAnswer",
        "EntailmentAnswer",
        "RelationsAnswer",
        "GapRulingsAnswer",
        "DraftAnswer",
        "DraftJudgement",
        "EvaluationAnswer",
    }
    assert all(UPKEEP_GAP["question"] in str(b) for b in new if wanted(b) == "ResearchAnswer")
    assert "nine days" in second.report_markdown


async def test_a_reset_run_replays_from_the_journal(office: Office) -> None:
    wire = Wire(*BOTH, NO_GAPS)
    async with office.working(wire):
        handle = await office.start()
        first = await fetch_report(handle)
        bought = len(wire.requests)
        reset = await office.client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace="default",
                workflow_execution=WorkflowExecution(workflow_id=handle.id),
                reason="test",
                # After the first workflow task: nothing of the job is in the history.
                workflow_task_finish_event_id=4,
                request_id="reset-once",
            )
        )
        again = office.client.get_workflow_handle(
            handle.id, run_id=reset.run_id, result_type=ResearchSummary
        )
        second = await fetch_report(again)
    assert len(wire.requests) == bought
    assert second.report_markdown == first.report_markdown
    assert second.telemetry.turns_bought_again == 0


async def test_a_pass_that_is_ended_behind_our_back_is_started_again(office: Office) -> None:
    gate = Gate()
    wire = Wire(
        gate.rule("ResearchAnswer", when=lambda b: UPKEEP_GAP["question"] in str(b)),
        *BOTH,
        *one_gap(),
    )
    async with office.working(wire):
        handle = await office.start()
        await asyncio.wait_for(gate.reached.wait(), 60)
        await office.client.get_workflow_handle(f"{handle.id}/pass-1").terminate("test")
        gate.open.set()
        status = await status_when(handle, lambda s: s.blocked is not None)
        assert status.blocked
        assert "ended early" in status.blocked.reason
        await handle.execute_update(ResearchWorkflow.resume, Resume())
        result = await fetch_report(handle)
    assert [p.n for p in result.passes] == [0, 1]
    assert result.telemetry.turns_bought_again <= 1


async def test_a_cancelled_job_leaves_no_open_pass(office: Office) -> None:
    gate = Gate()
    wire = Wire(
        gate.rule("ResearchAnswer", when=lambda b: UPKEEP_GAP["question"] in str(b)),
        *BOTH,
        *one_gap(),
    )
    async with office.working(wire):
        handle = await office.start()
        await asyncio.wait_for(gate.reached.wait(), 60)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await fetch_report(handle)
        child = await office.client.get_workflow_handle(f"{handle.id}/pass-1").describe()
        gate.open.set()
    assert child.status is WorkflowExecutionStatus.CANCELED


async def test_a_blocked_job_says_so_in_lists_without_a_worker(office: Office) -> None:
    bad_key = Rule("DraftAnswer", lambda _: failure(401, "authentication_error"), times=1)
    wire = Wire(bad_key, *BOTH, NO_GAPS)
    async with office.working(wire):
        handle = await office.start()
        await status_when(handle, lambda s: s.blocked is not None)
    about = await handle.describe()
    told = (await about.memo())["blocked"]
    assert "ANTHROPIC_API_KEY" in told["remedy"]
    async with office.working(wire):
        await handle.execute_update(ResearchWorkflow.resume, Resume())
        result = await fetch_report(handle)
    assert (await (await handle.describe()).memo()).get("blocked") is None
    assert result.status == "complete"
    # Exactly what failed was asked again.
    assert len(wire.asked("DraftAnswer")) == 2


@pytest.fixture
async def pages(tmp_path: Path) -> AsyncIterator[Office]:
    """An office whose server suggests a new run after a few events."""
    settings = Settings.read({"RESEARCH_HOME": str(tmp_path / "home")})
    limit = "limit.historyCount.suggestContinueAsNew=35"
    arguments = ["--dynamic-config-value", limit, "--log-level", "error"]
    for name in SEARCH_ATTRIBUTES:
        arguments += ["--search-attribute", f"{name}=Keyword"]
    async with await WorkflowEnvironment.start_local(
        data_converter=data_converter(settings),
        dev_server_existing_path=str(find_binary()),
        dev_server_extra_args=arguments,
    ) as env:
        yield Office(env.client, settings, documents(tmp_path / "documents"))


async def test_a_long_job_goes_on_in_a_new_run(pages: Office) -> None:
    wire = Wire(*BOTH, *one_gap())
    async with pages.working(wire):
        handle = await pages.start()
        result = await fetch_report(handle)
        first = pages.client.get_workflow_handle(handle.id, run_id=handle.first_execution_run_id)
        about = await first.describe()
        kept = await checkpoints(pages, handle.id)
    assert about.status is WorkflowExecutionStatus.CONTINUED_AS_NEW
    assert [p.n for p in result.passes] == [0, 1]
    assert result.telemetry.turns_bought_again == 0
    assert len(set(fingerprints(wire))) == len(wire.requests), "no request was made twice"
    assert kept["pass-1"].passes[-1].n == 1
    assert result.telemetry.seconds >= result.passes[0].seconds


async def test_any_client_may_start_a_job_with_plain_json(office: Office) -> None:
    async with office.working(Wire(*BOTH, NO_GAPS)):
        handle = await office.client.start_workflow(
            "ResearchWorkflow",
            {"question": "What is known about the harbour line?", "corpus": str(office.corpus)},
            id="plain/../json job",
            task_queue=TASK_QUEUE,
            task_timeout=timedelta(seconds=4),
            result_type=RawValue,
        )
        await handle.result()
    assert "researched" in await checkpoints(office, handle.id)
