"""A running job takes orders: approve, steer, pause, finish; only what they name is touched."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from console.client.jobs import fetch_report
from tests.activities.scripted import JsonObject
from tests.job.conftest import (
    NO_GAPS,
    PASSENGERS,
    POWER,
    UNREVIEWED,
    Handle,
    Office,
    Rule,
    Wire,
    about,
    planned,
    reply,
    status_when,
    wanted,
)
from workflows.contracts.facets import Facet
from workflows.contracts.messages import (
    AddFacet,
    AddNote,
    Approve,
    DropFacet,
    Finish,
    Pause,
    RefineFacet,
    Resume,
    SetBudget,
    Steer,
)
from workflows.contracts.request import Approval
from workflows.contracts.spend import Budget
from workflows.contracts.state import Phase, StopReason
from workflows.coordinator import ResearchWorkflow

UPKEEP = Facet(
    id="upkeep",
    title="Maintenance of the boats",
    question="How long is each electric boat out of service for maintenance?",
    boundary="the other facets",
    prefer="reports",
    reason="asked",
)


class Gate:
    """Holds requests at the wire until a test lets them through."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()

    def rule(self, schema: str, **more: Any) -> Rule:
        async def hold(_: JsonObject) -> None:
            self.reached.set()
            await self.open.wait()

        return Rule(schema, hold, times=1, **more)


def refused(error: WorkflowUpdateFailedError) -> str:
    assert isinstance(error.cause, ApplicationError)
    return error.cause.message


async def refusal_of(word: Awaitable[Any]) -> str:
    with pytest.raises(WorkflowUpdateFailedError) as caught:
        await word
    return refused(caught.value)


def researched(wire: Wire) -> set[str]:
    return {brief["facet"]["title"] for brief in wire.asked("ResearchAnswer")}


def words_to(wire: Wire, when: Callable[[JsonObject], bool]) -> str:
    """All a subagent was told in its last request."""
    bodies = [b for b in wire.requests if wanted(b) == "ResearchAnswer" and when(b)]
    return "\n".join(
        block["text"]
        for message in bodies[-1]["messages"]
        if message["role"] == "user"
        for block in message["content"]
        if block["type"] == "text"
    )


def _brief(body: JsonObject) -> str:
    return str(body["messages"][0]["content"][0]["text"])


async def test_a_plan_waits_for_a_person_who_may_edit_it(office: Office) -> None:
    wire = Wire(planned(PASSENGERS, POWER), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        handle = await office.start(approval=Approval())
        waiting = await status_when(handle, lambda s: s.phase is Phase.APPROVING)
        assert waiting.approve_by
        plan = await handle.query(ResearchWorkflow.plan)
        assert plan
        only = plan.model_copy(update={"facets": plan.facets[:1]})
        twice = plan.model_copy(update={"facets": (plan.facets[0], plan.facets[0])})
        why = await refusal_of(
            handle.execute_update(ResearchWorkflow.approve, Approve(decision="approve", plan=twice))
        )
        assert "breaks the rules" in why
        assert researched(wire) == set(), "nothing is spent on research before the word"
        answer = await handle.execute_update(
            ResearchWorkflow.approve, Approve(decision="approve", plan=only)
        )
        assert answer == "approved"
        result = await fetch_report(handle)
        again = await handle.query(ResearchWorkflow.state)
    assert [f.id for f in result.plan.facets] == ["passengers"]
    assert any("edited by the person" in change for change in result.plan.changes)
    assert "approved" in [c.name for c in again.checkpoints]


async def test_a_plan_nobody_answers_takes_the_default(office: Office) -> None:
    wire = Wire(planned(PASSENGERS), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        approve = await office.start(approval=Approval(seconds=0.2))
        reject = await office.start(approval=Approval(seconds=0.2, default="reject"))
        assert (await fetch_report(approve)).claims
        with pytest.raises(WorkflowFailureError) as caught:
            await fetch_report(reject)
    assert isinstance(caught.value.cause, ApplicationError)
    assert caught.value.cause.type == "rejected"


async def test_a_plan_rejected_with_a_note_is_made_anew(office: Office) -> None:
    first = Rule("PlanDraft", reply(kind="overview", facets=[POWER]), times=1)
    wire = Wire(first, planned(PASSENGERS), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        handle = await office.start(approval=Approval())
        await status_when(handle, lambda s: s.phase is Phase.APPROVING)
        await handle.execute_update(
            ResearchWorkflow.approve, Approve(decision="reject", note="passengers only")
        )
        await status_when(
            handle,
            lambda s: s.phase is Phase.APPROVING and s.facets[0].id == "passengers",
        )
        await handle.execute_update(ResearchWorkflow.approve, Approve(decision="approve"))
        await fetch_report(handle)
    assert wire.asked("PlanDraft")[-1]["notes"] == ["passengers only"]


async def test_facets_are_added_and_dropped_and_others_are_not_touched(office: Office) -> None:
    gate = Gate()
    wire = Wire(
        gate.rule("ResearchAnswer", when=about(POWER["title"])),
        planned(PASSENGERS, POWER),
        UNREVIEWED,
        NO_GAPS,
    )
    async with office.working(wire):
        handle = await office.start()
        await asyncio.wait_for(gate.reached.wait(), 60)
        order = Steer(changes=(AddFacet(facet=UPKEEP), DropFacet(facet_id="power")))
        for _ in range(2):
            assert await handle.execute_update(ResearchWorkflow.steer, order)
        result = await fetch_report(handle)
        gate.open.set()
    assert [f.id for f in result.plan.facets] == ["passengers", "upkeep"]
    assert {c.facet_id for c in result.coverage} == {"passengers", "upkeep"}
    passengers = [b for b in wire.asked("ResearchAnswer") if b["ask"] == PASSENGERS["question"]]
    assert not any("attempt" in b for b in passengers)
    assert "nine days" in result.report_markdown


async def test_a_note_reaches_a_running_subagent_at_its_next_turn(office: Office) -> None:
    gate = Gate()
    wire = Wire(
        gate.rule("ResearchAnswer", when=about(POWER["title"])),
        planned(PASSENGERS, POWER),
        UNREVIEWED,
        NO_GAPS,
    )
    async with office.working(wire):
        handle = await office.start()
        await asyncio.wait_for(gate.reached.wait(), 60)
        await handle.execute_update(
            ResearchWorkflow.steer, Steer(changes=(AddNote(text="Mind the feeder of 2023."),))
        )
        refine = RefineFacet(facet_id="power", question="How large is the reserve?")
        await handle.execute_update(ResearchWorkflow.steer, Steer(changes=(refine,)))
        gate.open.set()
        result = await fetch_report(handle)
    told = words_to(wire, about(POWER["title"]))
    assert "Mind the feeder of 2023." in told
    assert "Your question is now: How large is the reserve?" in told
    other = words_to(wire, about(PASSENGERS["title"]))
    assert "Your question is now" not in other
    assert next(f for f in result.plan.facets if f.id == "power").question == refine.question


async def test_a_paused_job_buys_nothing_until_it_is_resumed(office: Office) -> None:
    gate = Gate()
    wire = Wire(
        gate.rule("ResearchAnswer", when=about(POWER["title"])),
        planned(PASSENGERS, POWER),
        UNREVIEWED,
        NO_GAPS,
    )
    async with office.working(wire):
        handle = await office.start()
        await asyncio.wait_for(gate.reached.wait(), 60)
        for _ in range(2):
            assert await handle.execute_update(ResearchWorkflow.pause, Pause(by="anna")) == "paused"
        gate.open.set()
        await status_when(handle, lambda s: s.paused and not _busy(s))
        bought = len(wire.requests)
        await asyncio.sleep(0.5)
        assert len(wire.requests) == bought
        await handle.execute_update(ResearchWorkflow.resume, Resume(by="ben"))
        result = await fetch_report(handle)
        acts = (await handle.query(ResearchWorkflow.state)).acts
    who_did_what = [(act.act, act.by) for act in acts]
    assert who_did_what == [("start", ""), *[("pause", "anna")] * 2, ("resume", "ben")]
    assert [act.at for act in acts] == sorted(act.at for act in acts)
    assert result.telemetry.turns_bought_again == 0
    assert result.status == "complete"


def _busy(status: Any) -> bool:
    """Subagents that were sent home stand as running until the pause is over; turns tell."""
    return any(f.status == "running" and f.turns for f in status.facets)


async def test_finish_now_gives_a_report_from_what_there_is(office: Office) -> None:
    gate = Gate()
    wire = Wire(
        gate.rule("ResearchAnswer", when=about(POWER["title"])),
        planned(PASSENGERS, POWER),
        UNREVIEWED,
    )
    async with office.working(wire):
        handle = await office.start(parallel=1)
        await asyncio.wait_for(gate.reached.wait(), 60)
        assert await handle.execute_update(ResearchWorkflow.finish, Finish()) == "finishing"
        gate.open.set()
        result = await fetch_report(handle)
    assert result.stop_reason is StopReason.FINISHED
    assert result.claims
    assert "[1]" in result.report_markdown
    assert [p.n for p in result.passes] == [0]


async def test_the_budget_is_raised_while_running_and_never_below_what_is_spent(
    office: Office,
) -> None:
    gate = Gate()
    wire = Wire(gate.rule("DraftAnswer"), planned(PASSENGERS), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        handle = await office.start(budget=Budget(tokens=2_000_000))
        await asyncio.wait_for(gate.reached.wait(), 60)
        less = Steer(changes=(SetBudget(budget=Budget(tokens=1)),))
        assert "are spent already" in await refusal_of(
            handle.execute_update(ResearchWorkflow.steer, less)
        )
        more = Steer(changes=(SetBudget(budget=Budget(tokens=3_000_000)),))
        await handle.execute_update(ResearchWorkflow.steer, more)
        state = await handle.query(ResearchWorkflow.state)
        gate.open.set()
        await fetch_report(handle)
    assert state.request.budget.tokens == 3_000_000


async def test_a_facet_added_after_research_gets_a_pass_of_its_own(office: Office) -> None:
    gate = Gate()
    wire = Wire(gate.rule("EvaluationAnswer"), planned(PASSENGERS), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        handle = await office.start(max_passes=0)
        await asyncio.wait_for(gate.reached.wait(), 60)
        await handle.execute_update(
            ResearchWorkflow.steer, Steer(changes=(AddFacet(facet=UPKEEP),))
        )
        gate.open.set()
        result = await fetch_report(handle)
    assert [p.n for p in result.passes] == [0, 1]
    assert "nine days" in result.report_markdown
    upkeep = next(c for c in result.coverage if c.facet_id == "upkeep")
    assert upkeep.status == "answered"


async def test_orders_reach_a_running_pass_and_outlive_it(office: Office) -> None:
    gap = {
        "facet_id": "power",
        "kind": "thin",
        "text": "Maintenance is thin.",
        "question": "How long is each electric boat out of service for maintenance?",
    }
    gate = Gate()
    found = Rule("EvaluationAnswer", reply(judgements=[], gaps=[gap]), times=1)
    wire = Wire(
        gate.rule("ResearchAnswer", when=lambda b: gap["question"] in _brief(b)),
        planned(PASSENGERS, POWER),
        UNREVIEWED,
        found,
        NO_GAPS,
    )
    async with office.working(wire):
        handle = await office.start()
        await asyncio.wait_for(gate.reached.wait(), 60)
        changes = (AddNote(text="Boats only."), SetBudget(budget=Budget(usd=5)))
        await handle.execute_update(ResearchWorkflow.steer, Steer(changes=changes))
        await handle.execute_update(ResearchWorkflow.pause, Pause())
        await handle.execute_update(ResearchWorkflow.resume, Resume())
        gate.open.set()
        result = await fetch_report(handle)
        state = await handle.query(ResearchWorkflow.state)
    assert [p.n for p in result.passes] == [0, 1]
    assert state.request.budget.usd == 5
    assert [n.text for n in state.notes] == ["Boats only."]
    assert "Boats only." in words_to(wire, lambda b: gap["question"] in _brief(b))


async def test_an_order_that_cannot_be_carried_out_is_refused_with_its_reason(
    office: Office,
) -> None:
    gate = Gate()
    wire = Wire(gate.rule("PlanDraft"), planned(PASSENGERS), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        handle: Handle = await office.start()
        await asyncio.wait_for(gate.reached.wait(), 60)
        drop = Steer(changes=(DropFacet(facet_id="power"),))
        assert "no plan yet" in await refusal_of(
            handle.execute_update(ResearchWorkflow.steer, drop)
        )
        assert "neither blocked nor paused" in await refusal_of(
            handle.execute_update(ResearchWorkflow.resume, Resume())
        )
        assert "no plan waits" in await refusal_of(
            handle.execute_update(ResearchWorkflow.approve, Approve(decision="approve"))
        )
        gate.open.set()
        await fetch_report(handle)
