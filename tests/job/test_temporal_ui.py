"""What somebody sees who looks at a job: in the Temporal UI, and while its subagents work."""

from __future__ import annotations

import asyncio
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHandle

from console.client.jobs import Job, StartState, fetch_report
from console.client.progress import Progress, read_progress
from tests.activities.scripted import JsonObject
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
)
from tests.job.test_coordination import GAP, gaps_then
from workflows.contracts.facets import Facet, Plan, QuestionKind
from workflows.contracts.outcomes import FindingsRef
from workflows.contracts.outcomes import Found as FoundIt
from workflows.contracts.request import ResearchRequest
from workflows.contracts.spend import Budget
from workflows.contracts.state import Blocked, Gap, Phase, ResearchState
from workflows.rules.status import describe_request, render_details

CALLED = (
    EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
    EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
    EventType.EVENT_TYPE_MARKER_RECORDED,
)


async def called(handle: WorkflowHandle[Any, Any]) -> list[HistoryEvent]:
    return [e async for e in handle.fetch_history_events() if e.event_type in CALLED]


def groups(event: HistoryEvent) -> set[str]:
    return {marker.label.id for marker in event.event_group_markers if marker.label.id}


async def test_every_call_has_a_summary_and_stands_with_its_facet_and_pass(office: Office) -> None:
    wire = Wire(planned(PASSENGERS, POWER), UNREVIEWED, gaps_then([GAP]))
    async with office.working(wire):
        handle = await office.start(max_passes=1)
        await fetch_report(handle)
    events = await called(handle)
    inside = await called(office.client.get_workflow_handle(f"{handle.id}/pass-1"))
    assert all(event.HasField("user_metadata") for event in (*events, *inside))

    research = [
        event
        for event in events
        if event.activity_task_scheduled_event_attributes.activity_type.name == "research"
    ]
    together = [groups(event) for event in research]
    assert len(together) >= 2
    assert all(len(group) == 1 for group in together)
    assert len(set().union(*together)) == 2, "one group for each facet"
    named = set().union(*map(groups, (*events, *inside)))
    assert not [name for name in named if "power" in name or "passengers" in name], (
        "a group's id is never encrypted"
    )
    assert all("pass-1" in groups(event) for event in inside)
    assert [event for event in events if groups(event) == {"pass-1"}]


async def test_who_works_on_what_is_seen_while_it_works(office: Office) -> None:
    go = asyncio.Event()

    async def wait(_: JsonObject) -> None:
        await go.wait()

    # The second turn of one subagent is held: by then it has searched.
    held = Rule(
        "ResearchAnswer",
        wait,
        lambda body: about("Passengers")(body) and len(body["messages"]) > 1,
    )
    async with office.working(Wire(planned(PASSENGERS), UNREVIEWED, held, NO_GAPS)):
        handle = await office.start()
        job = Job(handle, StartState.RUNNING)
        seen = await _until(job, lambda now: any(one.turns for one in now.pending))
        go.set()
        await fetch_report(handle)
    (one,) = seen.pending
    assert (one.step, one.facet_id) == ("researching Passengers", "passengers")
    assert (one.started, one.attempt, one.last_failure) == (True, 1, "")
    assert seen.status.phase is Phase.RESEARCHING


async def _until(job: Job, holds: Any) -> Progress:
    async with asyncio.timeout(60):
        while True:
            if holds(now := await read_progress(job)):
                return now
            await asyncio.sleep(0.2)


def test_the_details_are_markdown_a_person_can_read() -> None:
    titles = ("Costs", "Crews_and *training* [x](javascript:1)")
    facets = tuple(
        Facet(id=f"f{n}", title=title, question="?", boundary="b", prefer="p", reason="r")
        for n, title in enumerate(titles)
    )
    state = ResearchState(
        id="j",
        journal="j",
        request=ResearchRequest(question="q", budget=Budget(usd=2)),
        started_at="now",
        phase=Phase.RESEARCHING,
        plan=Plan(kind=QuestionKind.OVERVIEW, facets=facets),
        outcomes={"f0": FoundIt(findings=FindingsRef(key="k", claims=16, sources=7))},
        running=("f1",),
        gaps=(Gap(id="g", kind="thin", facet_id="f0", text="No price\nafter 2023.", question="?"),),
        blocked=Blocked(step="research", reason="no key", remedy="set one", since="now"),
    )
    assert render_details(state).splitlines() == [
        "**researching** · 0 turns · $0.00 of $2.00",
        "",
        "**blocked** at research: no key; set one",
        "",
        "**Plan**",
        "",
        "- ✓ Costs: found, 16 claims, 7 sources",
        r"- ▸ Crews\_and \*training\* \[x\](javascript:1): running",
        "",
        "**Gaps**",
        "",
        "- ○ No price after 2023.",
    ]


def test_a_job_is_introduced_by_its_question() -> None:
    said = describe_request(ResearchRequest(question="Why " * 100, budget=Budget(usd=2)))
    assert len(said["static_summary"]) == 160
    assert said["memo"]["question"] == said["static_summary"]
    assert said["static_details"].endswith("offline · effort standard, at most $2.00")
