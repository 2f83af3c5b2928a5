"""Research as a part of somebody else's workflow: as a child, with signals back, shared."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError
from temporalio.client import (
    WithStartWorkflowOperation,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowUpdateFailedError,
)
from temporalio.common import WorkflowIDConflictPolicy

from deploy.examples.plain_json import Clipping
from deploy.examples.watched import Editor
from tests.job.conftest import NO_GAPS, PASSENGERS, QUESTION, UNREVIEWED, Office, Wire, planned
from tests.triggers.conftest import Held, team, unique
from tests.triggers.strangers import Briefing, Listener
from workflows.contracts.messages import MAX_LISTENERS, Join, Joined, Notify
from workflows.contracts.request import TASK_QUEUE, ResearchRequest, shared_id
from workflows.coordinator import ResearchWorkflow


def wire(*rules: Any) -> Wire:
    return Wire(planned(PASSENGERS), UNREVIEWED, NO_GAPS, *rules)


async def test_a_workflow_gets_research_by_the_typed_contract_and_by_name(office: Office) -> None:
    async with office.working(wire()), team(office.client, Briefing, Clipping) as queue:
        asked = [QUESTION, str(office.corpus)]
        typed, plain = await asyncio.gather(
            office.client.execute_workflow(
                Briefing.run, args=asked, id=unique("typed"), task_queue=queue
            ),
            office.client.execute_workflow(
                Clipping.run, args=asked, id=unique("plain"), task_queue=queue
            ),
        )
    assert typed.startswith("complete")
    assert plain.startswith("complete")


async def test_a_field_that_does_not_exist_is_refused_by_name_and_nobody_waits(
    office: Office,
) -> None:
    async with office.working(wire()):
        handle = await office.client.start_workflow(
            "ResearchWorkflow",
            {"question": QUESTION, "efort": "deep"},
            id=unique("mistaken"),
            task_queue=TASK_QUEUE,
        )
        with pytest.raises(WorkflowFailureError) as failed:
            await asyncio.wait_for(handle.result(), 60)
    assert "efort: Extra inputs are not permitted" in str(failed.value.cause)


async def test_a_caller_that_is_cancelled_takes_its_research_with_it(office: Office) -> None:
    held = Held("Passengers")
    async with office.working(wire(held.rule)), team(office.client, Briefing) as queue:
        caller = await office.client.start_workflow(
            Briefing.run, args=[QUESTION, str(office.corpus)], id=unique("typed"), task_queue=queue
        )
        await asyncio.wait_for(held.asked.wait(), 60)
        await caller.cancel()
        with pytest.raises(WorkflowFailureError):
            await caller.result()
        child = await office.client.get_workflow_handle(f"{caller.id}/research").describe()
    assert child.status is WorkflowExecutionStatus.CANCELED


async def test_a_caller_is_signalled_at_each_checkpoint_if_it_asked(office: Office) -> None:
    async with office.working(wire()), team(office.client, Editor) as queue:
        heard = await office.client.execute_workflow(
            Editor.run, args=[QUESTION, str(office.corpus)], id=unique("editor"), task_queue=queue
        )
    names = [line.partition(":")[0] for line in heard]
    assert names == ["opened", "planned", "researched", "drafted", "evaluated", "finished"]


async def test_a_caller_that_is_gone_does_not_hurt_the_job(office: Office) -> None:
    async with office.working(wire()):
        handle = await office.start(notify=Notify(workflow_id=unique("nobody")))
        result = await handle.result()
    assert result.status == "complete"


async def test_the_same_question_asked_twice_is_one_job_and_one_bill(office: Office) -> None:
    held = Held("Passengers")
    at_the_wire = wire(held.rule)
    request = ResearchRequest(question=QUESTION, corpus=str(office.corpus))
    spoken = request.model_copy(update={"question": f" {QUESTION.lower().rstrip('?')} "})

    async def ask(request: ResearchRequest, who: str) -> tuple[Joined, Any]:
        start = WithStartWorkflowOperation(
            ResearchWorkflow.run,
            args=[request],
            id=shared_id(request, scope=office.settings.state_dir),
            task_queue=TASK_QUEUE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        )
        joined = await office.client.execute_update_with_start_workflow(
            ResearchWorkflow.join,
            Join(notify=Notify(workflow_id=who)),
            start_workflow_operation=start,
        )
        return joined, await start.workflow_handle()

    async with office.working(at_the_wire), team(office.client, Listener) as queue:
        ears = [
            await office.client.start_workflow(Listener.run, id=unique(who), task_queue=queue)
            for who in ("ada", "ben")
        ]
        first, one = await ask(request, ears[0].id)
        await asyncio.wait_for(held.asked.wait(), 60)
        second, other = await ask(spoken, ears[1].id)
        held.released.set()
        results = [await one.result(), await other.result()]
        heard = [await ear.result() for ear in ears]
    assert (first.started, second.started) == (True, False)
    assert (first.id, first.run_id) == (second.id, second.run_id)
    assert results[0] == results[1]
    assert len(at_the_wire.asked("PlanDraft")) == 1
    # Who joins late hears of what comes after.
    assert heard[0][-1] == heard[1][-1] == "finished"
    assert len(heard[0]) > len(heard[1]) > 1


async def test_there_is_an_end_to_how_many_are_told(office: Office) -> None:
    held = Held("Passengers")
    async with office.working(wire(held.rule)):
        handle = await office.start()
        await asyncio.wait_for(held.asked.wait(), 60)
        for n in range(MAX_LISTENERS):
            await handle.execute_update(
                ResearchWorkflow.join, Join(notify=Notify(workflow_id=f"caller-{n}"))
            )
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await handle.execute_update(
                ResearchWorkflow.join, Join(notify=Notify(workflow_id="one-more"))
            )
        assert "join without `notify`" in str(refused.value.cause)
        joined = await handle.execute_update(ResearchWorkflow.join, Join())
        assert joined.callers == MAX_LISTENERS + 1
        held.released.set()
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()


def test_an_id_that_is_shared_tells_nothing_and_keeps_others_out() -> None:
    request = ResearchRequest(question="What does the merger cost?", corpus="/documents")
    name = shared_id(request)
    assert "merger" not in name
    assert "documents" not in name
    assert name == shared_id(request.model_copy(update={"question": " what  does the merger cost"}))
    notified = request.model_copy(update={"notify": Notify(workflow_id="me")})
    assert name == shared_id(notified)
    others = [
        shared_id(request, scope="tenant"),
        shared_id(request.model_copy(update={"question": "What did the merger cost?"})),
        shared_id(request.model_copy(update={"corpus": "/other"})),
        shared_id(request.model_copy(update={"max_passes": 0})),
    ]
    assert len({name, *others}) == 5


def test_a_caller_without_a_name_cannot_be_told() -> None:
    with pytest.raises(ValidationError):
        Notify(workflow_id="")
