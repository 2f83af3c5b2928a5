"""Before an answer is taken four things are asked; a hole goes back to the same subagent."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from console.client.jobs import fetch_report
from tests.activities.scripted import JsonObject, message, plain, text, use
from tests.job.conftest import (
    NO_GAPS,
    POWER,
    UNREVIEWED,
    Office,
    Rule,
    Wire,
    brief,
    planned,
    wanted,
)
from workflows.coordinator import ResearchWorkflow
from workflows.rules.status import describe_status

HOURS = "The harbour line uses 2.4 gigawatt hours of electricity a year."
CONTRACT = "The electricity contract ends in December 2027."


def spoken(body: JsonObject) -> str:
    return "\n".join(
        block["text"]
        for entry in body["messages"]
        if entry["role"] == "user"
        for block in entry["content"]
        if block["type"] == "text"
    )


def source_of(body: JsonObject) -> str:
    """The id of the source that holds the sentence, from the results the subagent was sent."""
    for entry in body["messages"]:
        for block in entry["content"]:
            for part in block.get("content") or () if block["type"] == "tool_result" else ():
                if part["type"] == "search_result" and HOURS in str(part["content"]):
                    return str(part["source"])
    raise AssertionError("the search did not bring the power supply's document")


def answer(body: JsonObject, sentence: str, *missing: str, **more: object) -> JsonObject:
    claim = {
        "text": sentence,
        "quotes": [{"source_id": source_of(body), "text": sentence}],
        "confidence": 0.9,
        "relevance": 0.9,
    }
    found = {"summary": sentence, "claims": [claim], "missing": list(missing),
             "critical": list(missing), "exhausted": False}  # fmt: skip
    return message(text(json.dumps({**found, **more})))


def thorough(body: JsonObject) -> JsonObject:
    """Searches, answers with a hole, and fills the hole when it is asked to."""
    if len(body["messages"]) == 1:
        asked = "electricity contract harbour line gigawatt hours"
        return message(use("search", query=asked, aim="supply"), stop="tool_use")
    if "<follow-up>" in spoken(body) or "found_so_far" in spoken(body):
        return answer(body, CONTRACT)
    return answer(body, HOURS, "when the contract ends", next_step="look for the contract")


def researcher() -> Rule:
    return Rule("ResearchAnswer", thorough)


async def test_a_hole_goes_back_to_the_same_subagent_with_its_transcript(office: Office) -> None:
    wire = Wire(planned(POWER), UNREVIEWED, NO_GAPS, researcher())
    async with office.working(wire):
        handle = await office.start()
        result = await fetch_report(handle)
        state = await handle.query(ResearchWorkflow.state)
    first, _, third = [b for b in wire.requests if wanted(b) == "ResearchAnswer"][:3]
    before = plain(first["messages"])
    assert plain(third["messages"])[: len(before)] == before
    assert "when the contract ends" in spoken(third)
    texts = {claim.text for claim in result.claims}
    assert {HOURS, CONTRACT} <= texts
    taken = state.acceptances["power"]
    assert taken.accepted
    (round_,) = taken.follow_ups
    assert round_.claims_added == 1
    assert "1 claims from 1 sources" in spoken(third), "what was useful is acknowledged"
    assert "look for the contract" in spoken(third), "related information is asked for"
    (covered,) = result.coverage
    assert (covered.follow_ups, covered.transcript) == (taken.follow_ups, taken.transcript)
    shown = describe_status(state).facets[0]
    assert (shown.follow_ups, shown.transcript) == (taken.follow_ups, taken.transcript)
    kept = [p.name for p in (Path(office.settings.store) / "transcripts").rglob("*.json")]
    assert f"{taken.transcript}.json" in kept
    assert result.telemetry.follow_ups == 1
    assert result.telemetry.by_role["researcher"].turns == 3, "nothing is counted twice"


async def test_a_lost_transcript_is_replaced_by_a_brief_of_its_own(office: Office) -> None:
    folder = Path(office.settings.store)

    def forgetful(body: JsonObject) -> JsonObject:
        said = thorough(body)
        if "when the contract ends" in str(said):
            # The store forgets what this job's subagents said so far.
            (job,) = (folder / "journal").iterdir()
            shutil.rmtree(job)
        return said

    wire = Wire(planned(POWER), UNREVIEWED, NO_GAPS, Rule("ResearchAnswer", forgetful))
    async with office.working(wire):
        result = await fetch_report(await office.start())
    fresh = [asked for asked in wire.asked("ResearchAnswer") if "found_so_far" in asked]
    assert fresh, "a self-contained brief was sent"
    assert HOURS in str(fresh[0]["found_so_far"])
    assert {HOURS, CONTRACT} <= {claim.text for claim in result.claims}


async def test_a_hole_that_is_not_critical_costs_no_follow_up_and_becomes_a_gap(
    office: Office,
) -> None:
    def modest(body: JsonObject) -> JsonObject:
        if len(body["messages"]) == 1:
            return thorough(body)
        return answer(body, HOURS, "the name of the supplier", critical=[])

    wire = Wire(planned(POWER), UNREVIEWED, NO_GAPS, Rule("ResearchAnswer", modest))
    async with office.working(wire):
        result = await fetch_report(await office.start(max_passes=0))
    assert result.telemetry.follow_ups == 0
    assert [gap.id for gap in result.gaps] == ["partial-power"]
    assert (result.status, result.coverage[0].status) == ("complete_with_gaps", "partial")
    assert "the name of the supplier" in result.coverage[0].reason


async def test_exhausted_sources_are_not_asked_on(office: Office) -> None:
    def tired(body: JsonObject) -> JsonObject:
        if len(body["messages"]) == 1:
            return thorough(body)
        return answer(body, HOURS, "when the contract ends", exhausted=True)

    wire = Wire(planned(POWER), UNREVIEWED, NO_GAPS, Rule("ResearchAnswer", tired))
    async with office.working(wire):
        result = await fetch_report(await office.start())
    assert result.telemetry.follow_ups == 0
    assert len([b for b in wire.requests if wanted(b) == "ResearchAnswer"]) == 2


def judging(*views: JsonObject | None) -> Rule:
    """A judge that finds every claim entailed, and says this of the findings, call by call."""
    said = iter(views)

    def judge(body: JsonObject) -> JsonObject:
        entailed = [{"claim_id": c["id"], "verdict": "entailed"} for c in brief(body)["claims"]]
        return message(text(json.dumps({"claims": entailed, "findings": next(said, None)})))

    return Rule("EntailmentAnswer", judge)


def bold(body: JsonObject) -> JsonObject:
    """Answers in part, says that nothing is missing, and has more to say when it is asked."""
    if len(body["messages"]) == 1:
        return thorough(body)
    return answer(body, CONTRACT if "<follow-up>" in spoken(body) else HOURS)


ENOUGH = {"answers": True, "proceed": True}
HOLE = {**ENOUGH, "critical": ["the month in which the contract ends"], "leads": ["the substation"]}


async def test_a_critical_hole_that_only_the_judge_sees_goes_back_to_the_subagent(
    office: Office,
) -> None:
    wire = Wire(
        planned(POWER), UNREVIEWED, NO_GAPS, judging(HOLE, ENOUGH), Rule("ResearchAnswer", bold)
    )
    async with office.working(wire):
        handle = await office.start()
        result = await fetch_report(handle)
        state = await handle.query(ResearchWorkflow.state)
    assert {HOURS, CONTRACT} <= {claim.text for claim in result.claims}
    (follow_up,) = state.acceptances["power"].follow_ups
    assert "the month in which the contract ends" in follow_up.question
    assert "the substation" in follow_up.question
    assert state.acceptances["power"].accepted
    first, second = wire.asked("EntailmentAnswer")
    assert first["asked"]["ask"] == POWER["question"]
    assert first["asked"]["facet"]["boundary"] == POWER["boundary"]
    assert [claim["text"] for claim in second["claims"]] == [CONTRACT], "no claim is judged twice"
    assert [claim["text"] for claim in second["asked"]["other_claims"]] == [HOURS]
    assert result.gaps == ()


async def test_a_subagent_that_calls_everything_critical_is_not_followed_up_if_the_judge_disagrees(
    office: Office,
) -> None:
    view = {**ENOUGH, "missing": ["the supplier"], "leads": ["the northern substation"]}
    wire = Wire(planned(POWER), UNREVIEWED, NO_GAPS, judging(view), researcher())
    async with office.working(wire):
        result = await fetch_report(await office.start(max_passes=0))
    assert result.telemetry.follow_ups == 0
    (shown,) = wire.asked("EvaluationAnswer")[0]["facets"]
    assert "the supplier" in shown["missing"], "smaller holes are left to the evaluator"
    assert shown["leads"] == ["the northern substation"]


async def test_a_critical_hole_that_no_follow_up_fills_becomes_a_gap(office: Office) -> None:
    def stubborn(body: JsonObject) -> JsonObject:
        return thorough(body) if len(body["messages"]) == 1 else answer(body, HOURS)

    wire = Wire(
        planned(POWER), UNREVIEWED, NO_GAPS, judging(HOLE), Rule("ResearchAnswer", stubborn)
    )
    async with office.working(wire):
        result = await fetch_report(await office.start(max_passes=0))
    assert result.telemetry.follow_ups == 1, "nothing new came, so the same is not asked again"
    assert len(wire.asked("EntailmentAnswer")) == 1, "without new claims the judge is not paid"
    assert (result.status, result.coverage[0].status) == ("complete_with_gaps", "partial")
    assert "the month in which the contract ends" in result.gaps[0].text
