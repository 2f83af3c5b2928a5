"""Faults at the wire: each ends in the right outcome, the right retry, the right sentence."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

from activities.sources.corpus import Corpus
from tests.activities.scripted import JsonObject, failure, message, text
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
    planned,
    status_when,
)
from workflows.contracts.messages import Resume
from workflows.contracts.result import Coverage, ResearchResult
from workflows.coordinator import ResearchWorkflow

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
        result = await handle.result()
    power = [b for b in wire.asked("ResearchAnswer") if b["facet"]["title"] == POWER["title"]]
    assert [b["approach"] for b in power] == ["first", "narrower", "narrower"]
    assert coverage(result, "power").status == "failed"
    assert "no answer within 0.4 s" in missing_section(result)
    assert coverage(result, "passengers").status in ("answered", "contested")
    assert result.telemetry.retry_rate > 0


async def test_an_empty_search_is_named_as_searched_and_absent(office: Office) -> None:
    wire = Wire(planned(PASSENGERS, OPERA), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        result = await (await office.start()).result()
    assert coverage(result, "opera").status == "absent"
    assert "searched for and is absent" in missing_section(result)
    opera = [b["approach"] for b in wire.asked("ResearchAnswer") if b["ask"] == OPERA["question"]]
    assert "broader" in opera


async def test_a_rate_limit_is_waited_out_and_costs_nothing(office: Office) -> None:
    limited = Rule(
        answer=lambda _: failure(429, "rate_limit_error", retry_after="1"),
        times=1,
        **POWER_RESEARCH,
    )
    result = await office.run(*BOTH, limited)
    assert coverage(result, "power").status == "answered"
    assert result.telemetry.turns_bought_again == 0
    assert result.status == "complete"


async def test_a_rate_limit_without_end_becomes_an_outcome_the_report_names(
    office: Office,
) -> None:
    limited = Rule(
        answer=lambda _: failure(429, "rate_limit_error", retry_after="0"), **POWER_RESEARCH
    )
    result = await office.run(*BOTH, limited, max_passes=0)
    assert coverage(result, "power").status == "failed"
    assert "asked to wait" in missing_section(result)


async def test_a_refusal_is_not_asked_again_and_is_named(office: Office) -> None:
    refusal = message(stop="refusal", stop_details={"type": "refusal", "explanation": "unsafe"})
    wire = Wire(*BOTH, Rule(answer=lambda _: refusal, **POWER_RESEARCH))
    async with office.working(wire):
        result = await (await office.start()).result()
    power = [b for b in wire.asked("ResearchAnswer") if b["facet"]["title"] == POWER["title"]]
    assert len(power) == 1
    assert "unsafe" in missing_section(result)
    assert result.status == "complete_with_gaps"


async def test_a_truncated_answer_is_asked_for_again_and_then_narrower(office: Office) -> None:
    cut = message(text('{"summary": "The line'), stop="max_tokens")
    wire = Wire(*BOTH, Rule(answer=lambda _: cut, times=3, **POWER_RESEARCH))
    async with office.working(wire):
        result = await (await office.start()).result()
    power = [b for b in wire.asked("ResearchAnswer") if b["facet"]["title"] == POWER["title"]]
    assert [b["approach"] for b in power][:4] == ["first", "first", "first", "narrower"]
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
    result = await office.run(*BOTH, Rule("VerifierAnswer", lambda _: refusal))
    (contradiction,) = result.contradictions
    assert "could not be checked" in contradiction.explanation
    concerned = {cid for side in contradiction.sides for cid in side.claim_ids}
    verdicts = {claim.verdict for claim in result.claims if claim.id in concerned}
    assert verdicts == {"unverified"}
    told = result.report_markdown.partition("## Where the sources disagree")[2]
    assert "412,000" in told
    assert "367,500" in told


async def test_a_bad_key_parks_the_job_until_an_operator_says_go_on(office: Office) -> None:
    wire = Wire(*BOTH, Rule(answer=lambda _: failure(401, "authentication_error", "bad key"),
                            times=1, **POWER_RESEARCH))  # fmt: skip
    async with office.working(wire):
        handle = await office.start()
        status = await status_when(handle, lambda s: s.blocked is not None)
        assert status.blocked is not None
        assert "ANTHROPIC_API_KEY" in status.blocked.remedy
        await handle.execute_update(ResearchWorkflow.resume, Resume())
        result = await handle.result()
    assert coverage(result, "power").status == "answered"
    assert result.telemetry.turns_bought_again == 0


async def test_a_lost_connection_is_retried_without_buying_anything_twice(
    office: Office,
) -> None:
    lost = Rule("DraftAnswer", lambda _: httpx2.ConnectError("gone"), times=1)
    result = await office.run(*BOTH, lost)
    assert result.telemetry.turns_bought_again == 0
    assert result.status == "complete"
