"""The way of a question: what the coordinator does, in which order, and why it stops."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHandle

from console.client import jobs
from console.client.jobs import fetch_report
from console.errors import ConflictError
from tests.activities.scripted import JsonObject, message, text
from tests.job.conftest import (
    NO_GAPS,
    OPERA,
    PASSENGERS,
    POWER,
    UNREVIEWED,
    Answer,
    Handle,
    Office,
    Rule,
    Wire,
    about,
    facet,
    planned,
    reply,
    status_when,
)
from workflows.contracts.request import DEFAULT_PARALLEL
from workflows.contracts.spend import Budget
from workflows.contracts.state import Phase, StopReason
from workflows.coordinator import ResearchWorkflow

pytestmark = pytest.mark.sandbox

UPKEEP = facet("upkeep", "Maintenance", "What does maintenance of the electric fleet cost?")
GAP = {
    "facet_id": "power",
    "kind": "thin",
    "text": "The certificates of the deckhands are not covered.",
    "question": "How many deckhands hold a certificate for high voltage?",
}
ROSTERS = """# Rosters

Seventeen deckhands hold a certificate for high voltage. Rosters change on Mondays.
"""
"""The answer to the gap. No facet's words are in it, so that only a pass finds it."""


def add_rosters(office: Office) -> None:
    (office.corpus / "rosters.md").write_text(ROSTERS, "utf-8")


def gaps_then(*answers: list[JsonObject]) -> Rule:
    """What the evaluator says, draft after draft; after that, nothing."""
    said = iter(answers)

    def evaluate(_: JsonObject) -> JsonObject:
        body = {"judgements": [], "gaps": next(said, [])}
        return message(text(json.dumps(body)))

    return Rule("EvaluationAnswer", evaluate)


async def activities_of(handle: WorkflowHandle[Any, Any]) -> list[tuple[str, str]]:
    """(what happened, which activity) in the order of history."""
    names: dict[int, str] = {}
    story: list[tuple[str, str]] = []
    async for event in handle.fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            attributes = event.activity_task_scheduled_event_attributes
            names[event.event_id] = attributes.activity_type.name
            story.append(("scheduled", attributes.activity_type.name))
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            done = event.activity_task_completed_event_attributes.scheduled_event_id
            story.append(("completed", names[done]))
    return story


async def test_the_plan_is_reviewed_before_the_first_researcher_starts(office: Office) -> None:
    added = reply(changes=[{"action": "add", "facet": UPKEEP, "reason": "maintenance is missing"}])
    wire = Wire(planned(PASSENGERS), Rule("PlanReview", added), NO_GAPS)
    async with office.working(wire):
        handle = await office.start()
        result = await fetch_report(handle)
        story = await activities_of(handle)
    assert story.index(("completed", "review_plan")) < story.index(("scheduled", "research"))
    assert [f.id for f in result.plan.facets] == ["passengers", "upkeep"]
    assert "maintenance is missing" in result.plan.changes[0]
    assert "maintenance is missing" in result.report_markdown


async def test_plan_gaps_and_state_can_be_read_at_any_moment(office: Office) -> None:
    release = asyncio.Event()

    async def wait(_: JsonObject) -> JsonObject:
        await release.wait()
        return message(text(json.dumps({"summary": "", "claims": []})))

    wire = Wire(
        planned(PASSENGERS, POWER),
        UNREVIEWED,
        NO_GAPS,
        Rule("ResearchAnswer", wait, about("Electricity supply"), times=1),
    )
    async with office.working(wire):
        handle = await office.start()
        status = await status_when(handle, lambda s: any(f.status == "found" for f in s.facets))
        assert {f.id: f.status for f in status.facets}["power"] == "running"
        plan = await handle.query(ResearchWorkflow.plan)
        assert plan is not None
        assert [f.id for f in plan.facets] == ["passengers", "power"]
        assert await handle.query(ResearchWorkflow.gaps) == ()
        state = await handle.query(ResearchWorkflow.state)
        assert state.phase is Phase.RESEARCHING
        release.set()
        await fetch_report(handle)


async def test_verification_starts_when_a_facet_returns_and_not_when_the_slowest_does(
    office: Office,
) -> None:
    verifying = asyncio.Event()

    async def slow(_: JsonObject) -> JsonObject:
        async with asyncio.timeout(60):
            await verifying.wait()
        return message(text(json.dumps({"summary": "", "claims": []})))

    def verify(_: JsonObject) -> None:
        verifying.set()

    wire = Wire(
        planned(PASSENGERS, POWER),
        UNREVIEWED,
        NO_GAPS,
        Rule("EntailmentAnswer", verify),
        Rule("ResearchAnswer", slow, about("Electricity supply"), times=1),
    )
    async with office.working(wire):
        handle = await office.start()
        await fetch_report(handle)
        story = await activities_of(handle)
    researched = [i for i, step in enumerate(story) if step == ("completed", "research")]
    assert researched[0] < story.index(("completed", "judge_claims")) < researched[-1]


async def test_no_more_subagents_run_at_once_than_allowed(office: Office) -> None:
    running = 0
    most = 0
    offline = Wire()

    async def counted(body: JsonObject) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        return message(text(json.dumps({"summary": "", "claims": [], "exhausted": True})))

    facets = [facet(f"f{i}", f"Topic {i}", f"What of subject{i} matter{i}?") for i in range(9)]
    wire = Wire(planned(*facets), UNREVIEWED, Rule("ResearchAnswer", counted))
    async with office.working(wire):
        result = await fetch_report(await office.start(parallel=3))
    assert offline.requests == []
    assert most == 3
    assert result.telemetry.parallel_max == 3
    assert result.telemetry.spawned >= 9


async def test_a_burst_of_25_facets_keeps_to_the_limit_of_five_and_loses_none(
    office: Office,
) -> None:
    running = most = 0

    async def counted(body: JsonObject) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1

    burst = [
        facet(f"f{i}", f"Topic {i}", f"What is known of the harbour line, point{i}?")
        for i in range(25)
    ]
    wire = Wire(planned(*burst), UNREVIEWED, NO_GAPS, Rule("ResearchAnswer", counted))
    async with office.working(wire):
        result = await fetch_report(await office.start(max_facets=25, max_passes=0))
    # On a busy machine the fifth may start when the first has ended.
    assert 3 <= most <= DEFAULT_PARALLEL == 5
    assert len(result.coverage) == 25
    assert {c.facet_id for c in result.coverage} == {f["id"] for f in burst}
    steps = Counter(step.facet_id for step in result.timeline if step.step == "research")
    assert set(steps) == {f["id"] for f in burst}, "every facet was researched"


async def test_a_facet_that_depends_on_another_is_handed_its_finding(office: Office) -> None:
    late = {**UPKEEP, "depends_on": ["power"]}
    wire = Wire(planned(late, POWER), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        await fetch_report(await office.start())
    asked = wire.asked("ResearchAnswer")
    assert asked[0]["facet"]["title"] == POWER["title"]
    handed = next(b for b in asked if b["facet"]["title"] == UPKEEP["title"])["known"]
    assert handed[0]["facet"] == POWER["title"]
    assert handed[0]["summary"]


async def test_a_subagent_is_told_its_brief_and_nothing_else(office: Office) -> None:
    wire = Wire(planned(PASSENGERS, POWER), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        await fetch_report(await office.start(pinned=("The line is called H1.",)))
    brief = next(b for b in wire.asked("ResearchAnswer") if b["ask"] == POWER["question"])
    assert set(brief) == {
        "question", "language", "today", "audience", "pinned", "facet", "ask", "known",
        "known_claims", "limits", "max_claims",
    }  # fmt: skip
    assert brief["pinned"] == ["The line is called H1."]
    assert set(brief["facet"]) == {"title", "question", "boundary", "prefer"}
    assert brief["known"] == brief["known_claims"] == []
    assert PASSENGERS["question"] not in json.dumps(brief)


async def test_a_pass_closes_a_gap_and_touches_only_the_section_concerned(office: Office) -> None:
    add_rosters(office)
    wire = Wire(planned(PASSENGERS, POWER), UNREVIEWED, gaps_then([GAP]))
    async with office.working(wire):
        handle = await office.start()
        result = await fetch_report(handle)
        child = await office.client.get_workflow_handle(f"{handle.id}/pass-1").describe()
    assert child.workflow_type == "RefinementWorkflow"
    (gap,) = result.gaps
    assert (gap.status, gap.opened_in, gap.closed_in) == ("closed", 0, 1)
    first, second = result.passes
    assert (second.gaps_in, second.gaps_closed) == (1, 1)
    assert second.stop_reason == result.stop_reason == StopReason.SUFFICIENT
    assert second.turns < first.turns
    follow_up = next(b for b in wire.asked("ResearchAnswer") if b["ask"] == GAP["question"])
    assert follow_up["known_claims"], "known findings are passed in"
    assert [b["revise"] for b in wire.asked("DraftAnswer")] == [[], ["power"]]
    assert "Seventeen deckhands" in result.report_markdown


async def test_a_pass_that_closes_nothing_is_the_last(office: Office) -> None:
    hopeless = {**GAP, "kind": "missing", "question": "Which opera singers perform at the theatre?"}
    another = {**GAP, "facet_id": "passengers", "question": "Which sopranos sing?"}
    result = await office.run(
        planned(PASSENGERS, POWER), UNREVIEWED, gaps_then([hopeless], [another])
    )
    assert result.stop_reason is StopReason.NO_PROGRESS
    assert [p.n for p in result.passes] == [0, 1]
    assert {gap.status for gap in result.gaps} == {"absent", "open"}


async def test_refinement_ends_at_the_cap_and_the_open_gap_is_named(office: Office) -> None:
    add_rosters(office)
    second = {**GAP, "text": "Fares are thin.", "question": "By how much did fares rise?"}
    result = await office.run(
        planned(PASSENGERS, POWER), UNREVIEWED, gaps_then([GAP], [second]), max_passes=1
    )
    assert result.stop_reason is StopReason.CAP
    assert result.status == "complete_with_gaps"


async def test_a_narrow_fact_gets_one_researcher_and_no_refinement(office: Office) -> None:
    wire = Wire(planned(PASSENGERS, POWER, kind="fact"), UNREVIEWED, gaps_then([GAP]))
    async with office.working(wire):
        result = await fetch_report(await office.start())
    assert [f.id for f in result.plan.facets] == ["passengers"]
    assert [p.n for p in result.passes] == [0]


async def test_hitting_the_budget_still_yields_a_cited_report(office: Office) -> None:
    facets = [PASSENGERS, POWER, UPKEEP, OPERA]
    wire = Wire(planned(*facets), UNREVIEWED, gaps_then([GAP]))
    async with office.working(wire):
        result = await fetch_report(await office.start(parallel=1, budget=Budget(tokens=20_000)))
    assert result.stop_reason is StopReason.BUDGET
    assert result.claims
    assert "[1]" in result.report_markdown
    failed = [c for c in result.coverage if c.status == "failed"]
    assert failed
    assert all("budget" in c.reason for c in failed)


async def test_both_sides_of_a_contradiction_reach_the_report(office: Office) -> None:
    result = await office.run(planned(PASSENGERS), UNREVIEWED, NO_GAPS)
    (contradiction,) = result.contradictions
    assert len(contradiction.sides) == 2
    told = result.report_markdown.partition("## Where the sources disagree")[2]
    told = told.partition("\n## ")[0]
    numbers = {s.id: s.n for s in result.sources}
    for side in contradiction.sides:
        assert any(f"[{numbers[sid]}]" in told for sid in side.source_ids)
    assert result.coverage[0].status == "contested"


async def test_history_stays_small(office: Office) -> None:
    async with office.working(Wire(planned(PASSENGERS, POWER, UPKEEP), UNREVIEWED, NO_GAPS)):
        handle: Handle = await office.start()
        await fetch_report(handle)
        history = await handle.fetch_history()
    assert len(history.events) < 150
    assert sum(event.ByteSize() for event in history.events) < 150_000


def test_the_fake_stands_only_at_the_wire() -> None:
    answer: Answer = reply(changes=[])
    assert answer({})["type"] == "message"  # type: ignore[index]


async def test_a_job_that_ends_while_a_command_takes_it_up_is_no_fault(office: Office) -> None:
    async with office.working(Wire()):
        begun = datetime.now(UTC)
        job = await office.start(max_passes=0)
        await fetch_report(job)
        assert (await jobs.find_running(office.client, job.id, since=begun)).id == job.id
        for since in (None, datetime.now(UTC)):
            with pytest.raises(ConflictError, match="is complete"):
                await jobs.find_running(office.client, job.id, since=since)
