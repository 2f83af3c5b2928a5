"""Faults at the wire: each ends in the right outcome, the right retry, the right sentence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from activities.sources.corpus_search import Corpus
from activities.subagents import findings, researching
from console.client.jobs import fetch_report
from tests.activities.scripted import JsonObject, message, text, use
from tests.job.conftest import (
    NO_GAPS,
    OPERA,
    PASSENGERS,
    POWER,
    UNREVIEWED,
    Office,
    Rule,
    Wire,
    about,
    brief,
    facet,
    planned,
    status_when,
    wanted,
)
from workflows.config.policies import ActivityPolicy
from workflows.contracts.activity_io import ResearchBrief
from workflows.contracts.messages import Resume
from workflows.contracts.request import TASK_QUEUE
from workflows.contracts.result import Coverage, ResearchResult
from workflows.coordinator import ResearchWorkflow
from workflows.rules.restart import restart_state
from workflows.stages import research

BOTH = (planned(PASSENGERS, POWER), UNREVIEWED, NO_GAPS)
POWER_RESEARCH: dict[str, Any] = {"schema": "ResearchAnswer", "when": about("Electricity supply")}


def coverage(result: ResearchResult, facet_id: str) -> Coverage:
    return next(entry for entry in result.coverage if entry.facet_id == facet_id)


def missing_section(result: ResearchResult) -> str:
    return result.report_markdown.partition("## What is missing")[2].partition("\n## ")[0]


async def hang(_: JsonObject) -> JsonObject:
    await asyncio.sleep(60)
    raise AssertionError("the deadline should have come first")


async def test_a_timed_out_subagent_is_asked_narrower_and_then_named(office: Office) -> None:
    wire = Wire(*BOTH, Rule(answer=hang, **POWER_RESEARCH))
    async with office.working(wire):
        handle = await office.start(subagent_seconds=0.4, max_passes=0)
        result = await fetch_report(handle)
    power = [b for b in wire.asked("ResearchAnswer") if b["facet"]["title"] == POWER["title"]]
    tried = [b["try_now"]["query"] for b in power if "try_now" in b]
    assert len(power) == 1 + len(tried)
    assert len({*tried, POWER["question"]}) == len(power) >= 2, "each attempt asks otherwise"
    assert power[1]["try_now"]["kind"] == "narrower"
    assert coverage(result, "power").status == "failed"
    assert "no answer within 0.4 s" in missing_section(result)
    assert coverage(result, "passengers").status in ("answered", "contested")
    assert result.telemetry.retry_rate > 0


async def test_an_empty_search_is_named_as_searched_and_absent(office: Office) -> None:
    wire = Wire(planned(PASSENGERS, OPERA), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        result = await fetch_report(await office.start())
    assert coverage(result, "opera").status == "absent"
    assert "searched for and is absent" in missing_section(result)
    opera = [b for b in wire.asked("ResearchAnswer") if b["ask"] == OPERA["question"]]
    retried = [b["try_now"] for b in opera if "try_now" in b]
    assert retried
    queries = [
        block["input"]["query"]
        for body in wire.requests
        if wanted(body) == "ResearchAnswer" and brief(body) == opera[-1]
        for entry in body["messages"]
        for block in entry["content"]
        if block["type"] == "tool_use"
    ]
    assert retried[-1]["query"] in queries, "the retry searches for the other words"
    left = coverage(result, "opera").alternatives
    assert left
    assert not {(a.kind, a.query) for a in left} & {(r["kind"], r["query"]) for r in retried}
    assert left[0].text in result.report_markdown, "the report names what was not tried"


async def test_a_refused_question_is_told_at_once_with_its_category(office: Office) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "This could be misused."}
    refusal = message(stop="refusal", stop_details=details)
    wire = Wire(*BOTH[1:], Rule(answer=lambda _: refusal, schema="PlanDraft", times=1), BOTH[0])
    async with office.working(wire):
        handle = await office.start()
        status = await status_when(handle, lambda s: s.blocked is not None)
        assert status.blocked
        assert "This could be misused. (category: cyber)" in status.blocked.reason
        assert "worded differently" in status.blocked.remedy
        assert len(wire.asked("PlanDraft")) == 1, "asked once, not ten times"
        await handle.execute_update(ResearchWorkflow.resume, Resume())
        assert (await handle.result()).status == "complete"
    assert len(wire.asked("PlanDraft")) == 2, "`resume` asks again, and does not replay"


async def test_a_planner_that_gives_no_plan_is_asked_afresh_and_then_parks(office: Office) -> None:
    prose = message(text("I would split this into several parts."))
    wire = Wire(*BOTH[1:], Rule(answer=lambda _: prose, schema="PlanDraft", times=6), BOTH[0])
    async with office.working(wire):
        handle = await office.start()
        status = await status_when(handle, lambda s: s.blocked is not None)
        assert status.blocked
        assert "does not follow the schema" in status.blocked.reason
        assert len(wire.asked("PlanDraft")) == 6, "two attempts with two repairs each"
        await handle.execute_update(ResearchWorkflow.resume, Resume())
        assert (await handle.result()).status == "complete"
    assert len(wire.asked("PlanDraft")) == 7


async def test_a_refusal_is_not_asked_again_and_is_named(office: Office) -> None:
    refusal = message(stop="refusal", stop_details={"type": "refusal", "explanation": "unsafe"})
    wire = Wire(*BOTH, Rule(answer=lambda _: refusal, **POWER_RESEARCH))
    async with office.working(wire):
        result = await fetch_report(await office.start())
    power = [b for b in wire.asked("ResearchAnswer") if b["facet"]["title"] == POWER["title"]]
    assert len(power) == 1
    assert "unsafe" in missing_section(result)
    assert result.status == "complete_with_gaps"


async def test_a_truncated_answer_is_asked_for_again_and_then_narrower(office: Office) -> None:
    cut = message(text('{"summary": "The line'), stop="max_tokens")
    wire = Wire(*BOTH, Rule(answer=lambda _: cut, times=3, **POWER_RESEARCH))
    async with office.working(wire):
        result = await fetch_report(await office.start())
    power = [b for b in wire.asked("ResearchAnswer") if b["facet"]["title"] == POWER["title"]]
    assert ["try_now" in b for b in power][:4] == [False, False, False, True]
    assert coverage(result, "power").status == "answered"


async def test_malformed_json_goes_back_and_then_narrower(office: Office) -> None:
    broken = message(text("Sure! Here is what I found:"))
    result = await office.run(*BOTH, Rule(answer=lambda _: broken, times=3, **POWER_RESEARCH))
    assert coverage(result, "power").status == "answered"
    assert result.telemetry.retry_rate > 0


async def test_malformed_json_without_end_is_named(office: Office) -> None:
    broken = message(text("Sure! Here is what I found:"))
    result = await office.run(*BOTH, Rule(answer=lambda _: broken, **POWER_RESEARCH), max_passes=0)
    assert coverage(result, "power").status == "failed"
    assert "does not follow the schema" in missing_section(result)


async def test_a_crash_in_a_tool_is_a_failure_and_never_an_absence(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Corpus.search

    def crash(self: Corpus, query: str, **options: Any) -> Any:
        if "passengers" not in query.lower():
            raise OSError("the index is gone")
        return search(self, query, **options)

    monkeypatch.setattr(Corpus, "search", crash)
    result = await office.run(*BOTH, max_passes=0)
    assert coverage(result, "power").status == "failed"
    assert "its searches failed" in missing_section(result)
    assert "absent" not in missing_section(result)
    assert coverage(result, "passengers").claims > 0


async def test_invented_quotes_do_not_reach_the_report(office: Office) -> None:
    def invent(body: JsonObject) -> JsonObject:
        results = [b for m in body["messages"] for b in m["content"] if b["type"] == "tool_result"]
        shown = [b for r in results for b in r["content"] if b["type"] == "search_result"]
        source = shown[0]["source"]
        claim = {
            "text": "The line flies.", "confidence": 1.0, "relevance": 1.0,
            "quotes": [{"source_id": source, "text": "The line flies."}],
        }  # fmt: skip
        import json

        return message(text(json.dumps({"summary": "It flies.", "claims": [claim]})))

    after_search = Rule(
        "ResearchAnswer",
        invent,
        when=lambda b: about("Electricity supply")(b) and len(b["messages"]) > 2,
    )
    result = await office.run(*BOTH, after_search, max_passes=0)
    assert "flies" not in result.report_markdown
    assert coverage(result, "power").status == "failed"
    assert "none of the quotes stand" in missing_section(result)


async def test_nothing_found_at_all_invents_no_report(office: Office) -> None:
    result = await office.run(planned(OPERA), UNREVIEWED, NO_GAPS)
    assert result.status == "nothing_found"
    assert result.claims == ()
    assert "What was tried" in result.report_markdown
    assert "opera" in result.report_markdown


async def test_a_writer_that_cannot_write_leaves_the_claims_as_they_are(office: Office) -> None:
    refusal = message(stop="refusal")
    result = await office.run(*BOTH, Rule("DraftAnswer", lambda _: refusal))
    assert "412,000" in result.report_markdown
    assert "No summary could be written" in result.report_markdown
    assert result.mended


async def test_a_verifier_that_cannot_run_leaves_both_sides_unverified(office: Office) -> None:
    refusal = message(stop="refusal")
    result = await office.run(*BOTH, Rule("RelationsAnswer", lambda _: refusal))
    (contradiction,) = result.contradictions
    assert "could not be checked" in contradiction.explanation
    concerned = {cid for side in contradiction.sides for cid in side.claim_ids}
    verdicts = {claim.verdict for claim in result.claims if claim.id in concerned}
    assert verdicts == {"unverified"}
    told = result.report_markdown.partition("## Where the sources disagree")[2]
    assert "412,000" in told
    assert "367,500" in told


def search_then_answer(*missing: str) -> Callable[[JsonObject], JsonObject]:
    """A researcher that searches once and quotes the first passage it is shown."""

    def respond(body: JsonObject) -> JsonObject:
        results = [b for m in body["messages"] for b in m["content"] if b["type"] == "tool_result"]
        shown = [b for r in results for b in r["content"] if b["type"] == "search_result"]
        if not shown:
            return message(use("search", query="power supply", aim="all"), stop="tool_use")
        quote = {"source_id": shown[0]["source"], "text": shown[0]["content"][-1]["text"]}
        claim = {"text": quote["text"], "quotes": [quote], "confidence": 0.9, "relevance": 0.9}
        found = {"summary": "It is known.", "claims": [claim], "missing": list(missing)}
        return message(text(json.dumps(found)))

    return respond


async def test_a_facet_answered_in_part_is_a_gap_and_a_remark(office: Office) -> None:
    partly = Rule(answer=search_then_answer("who supplies it"), **POWER_RESEARCH)
    result = await office.run(*BOTH, partly, max_passes=0)
    power = coverage(result, "power")
    assert power.status == "partial"
    assert "who supplies it" in power.reason
    assert result.status == "complete_with_gaps"
    (gap,) = [gap for gap in result.gaps if gap.facet_id == "power"]
    assert "who supplies it" in gap.text
    assert "answered in part" in result.report_markdown


async def test_a_search_that_failed_is_told_also_where_another_found_something(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Corpus.search

    def crash(self: Corpus, query: str, **options: Any) -> Any:
        if "broken" in query:
            raise OSError("the index is gone")
        return search(self, query, **options)

    def twice(body: JsonObject) -> JsonObject:
        if len(body["messages"]) == 1:
            broken = use("search", "t1", query="broken", aim="all")
            return message(broken, use("search", "t2", query="feeder", aim="all"), stop="tool_use")
        return search_then_answer()(body)

    monkeypatch.setattr(Corpus, "search", crash)
    result = await office.run(*BOTH, Rule(answer=twice, **POWER_RESEARCH), max_passes=0)
    power = coverage(result, "power")
    assert power.status == "answered"
    assert power.searched == ("documents: feeder",), "only what was searched is called so"
    assert any("OSError" in problem for problem in power.problems)
    assert "Tools and sources that failed" in result.report_markdown


async def test_a_facet_that_crashes_each_time_fails_alone_and_is_taken_up_by_a_restart(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        research,
        "research_policy",
        lambda seconds: ActivityPolicy(timedelta(minutes=1), timedelta(minutes=1), attempts=2),
    )
    gather = findings.gather_findings
    is_broken = True

    def crash(brief: ResearchBrief, *rest: Any, **more: Any) -> Any:
        if is_broken and brief.facet.id == "power":
            raise ValueError("a cause of its own")
        return gather(brief, *rest, **more)

    monkeypatch.setattr(researching, "gather_findings", crash)
    waiting = facet("cost", "Cost", "What does the electricity cost?", depends_on=["power"])
    wire = Wire(planned(PASSENGERS, POWER, waiting), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        handle = await office.start(max_passes=0)
        result = await fetch_report(handle)
        state = await handle.query(ResearchWorkflow.state)
    assert coverage(result, "power").status == "failed"
    assert "a cause of its own" in missing_section(result)
    assert coverage(result, "passengers").claims > 0
    told = next(b for b in wire.asked("ResearchAnswer") if b["facet"]["title"] == "Cost")
    assert told["known"][0]["status"] == "failed"
    assert "a cause of its own" in told["known"][0]["reason"]

    is_broken = False
    again = restart_state(state, run_id="r", checkpoint="evaluated", facet="power")
    async with office.working(wire):
        handle = await office.client.start_workflow(
            ResearchWorkflow.run,
            args=[again.request, again],
            id=f"{state.id}-again",
            task_queue=TASK_QUEUE,
        )
        result = await fetch_report(handle)
    assert coverage(result, "power").status == "answered"
    assert [gap.status for gap in result.gaps if gap.facet_id == "power"] == ["closed"]
