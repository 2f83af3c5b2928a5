"""Research over Nexus: asked for in one namespace, done in another, and cancelled from there."""

from __future__ import annotations

import asyncio

import pytest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError

from console.client.jobs import root_cause
from tests.job.conftest import NO_GAPS, PASSENGERS, QUESTION, UNREVIEWED, Office, Wire, planned
from tests.triggers.conftest import Held, team, unique
from tests.triggers.strangers import Inquiry, Meddler
from workflows.contracts.nexus import PREFIX, ResearchId


def wire(*rules: object) -> Wire:
    return Wire(planned(PASSENGERS), UNREVIEWED, NO_GAPS, *rules)  # type: ignore[arg-type]


async def say(client: Client, queue: str, word: str, about: str) -> str:
    try:
        return await client.execute_workflow(
            Meddler.run, args=[word, about], id=unique("meddler"), task_queue=queue
        )
    except WorkflowFailureError as error:
        return root_cause(error)


async def test_a_workflow_in_another_namespace_gets_the_result(
    office: Office, elsewhere: Client
) -> None:
    async with office.working(wire()), team(elsewhere, Inquiry) as queue:
        answer = await elsewhere.execute_workflow(
            Inquiry.run, args=[QUESTION, str(office.corpus)], id=unique("ask"), task_queue=queue
        )
    assert answer.startswith("complete")


async def test_when_the_caller_is_cancelled_so_is_the_research(
    office: Office, elsewhere: Client
) -> None:
    held = Held("Passengers")
    async with office.working(wire(held.rule)), team(elsewhere, Inquiry) as queue:
        caller = await elsewhere.start_workflow(
            Inquiry.run, args=[QUESTION, str(office.corpus)], id=unique("ask"), task_queue=queue
        )
        research = office.client.get_workflow_handle(PREFIX + caller.id)
        await asyncio.wait_for(held.asked.wait(), 60)
        await caller.execute_update(Inquiry.begun)
        assert (await research.describe()).status is WorkflowExecutionStatus.RUNNING
        await caller.cancel()
        with pytest.raises(WorkflowFailureError):
            await caller.result()
        assert (await caller.describe()).status is WorkflowExecutionStatus.CANCELED
        with pytest.raises(WorkflowFailureError):
            await research.result()
        assert (await research.describe()).status is WorkflowExecutionStatus.CANCELED


async def test_status_and_cancel_reach_what_was_started_here_and_nothing_else(
    office: Office, elsewhere: Client
) -> None:
    held, again = Held("Passengers"), Held("Passengers")
    async with office.working(wire(held.rule, again.rule)), team(elsewhere, Inquiry, Meddler) as q:
        own = await office.start()  # not over Nexus
        await asyncio.wait_for(held.asked.wait(), 60)
        caller = await elsewhere.start_workflow(
            Inquiry.run, args=[QUESTION, str(office.corpus)], id=unique("ask"), task_queue=q
        )
        await asyncio.wait_for(again.asked.wait(), 60)
        assert await say(elsewhere, q, "status", caller.id) == "researching"
        for word in ("status", "cancel"):
            assert "was started over this service" in await say(elsewhere, q, word, own.id)
        assert (await own.describe()).status is WorkflowExecutionStatus.RUNNING
        assert "choose another id" in await say(elsewhere, q, "start", caller.id)
        assert "do not cross namespaces" in await say(elsewhere, q, "notify", unique("x"))
        assert await say(elsewhere, q, "cancel", caller.id) == caller.id
        research = office.client.get_workflow_handle(PREFIX + caller.id)
        with pytest.raises(WorkflowFailureError):
            await research.result()
        assert (await research.describe()).status is WorkflowExecutionStatus.CANCELED
        with pytest.raises(WorkflowFailureError):
            await caller.result()
        held.released.set()
        await own.result()


@pytest.mark.parametrize("name", ["", "../x", "a/b", "x" * 400, "é", "a b"])
def test_an_id_that_could_be_anything_else_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="id"):
        ResearchId(id=name)
