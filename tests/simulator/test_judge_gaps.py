"""What a job makes of its gaps: their judge and the evaluation decide, with a scripted model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.simulator.brains import Brain, Turn, json_answer
from tests.simulator.jobs import Office, brief, credentials, office, temporal
from tests.simulator.test_judge import (
    NOISE,
    OTHER,
    PANEL,
    PRICE,
    SURVEY,
    Job,
    JsonObject,
    claim,
    contradiction,
    evaluator,
    only,
    planner,
    researcher,
)
from workflows.contracts.result import ResearchResult

__all__ = ["credentials", "office", "temporal"]

MISSING = "How long does a heat pump last?"


def gap(facet_id: str, question: str, **more: Any) -> JsonObject:
    entry = {"facet_id": facet_id, "kind": "missing", "text": f"It lacks: {question}"}
    return {**entry, "question": question, **more}


async def gap_after(
    office: Office, tmp_path: Path, found: Sequence[JsonObject], **brains: Brain
) -> tuple[ResearchResult, Job]:
    """A job whose evaluator misses something, and whose follow-up brings this."""
    job = Job(
        PlanDraft=planner("prices"),
        ResearchAnswer=researcher(
            {"prices": [claim(PRICE, PRICE)]},
            lambda _: {"summary": "Nothing was found on how long they last.", "claims": found,
                       "missing": ["how long they last"], "exhausted": True},
        ),
        EvaluationAnswer=evaluator({"gaps": [gap("prices", MISSING)]}),
        **brains,
    )  # fmt: skip
    return await job.run(office, tmp_path, max_passes=2), job


async def test_an_irrelevant_claim_closes_no_gap(office: Office, tmp_path: Path) -> None:
    reason = "weather stations say nothing of how long heat pumps last"

    def rule(body: JsonObject) -> Turn:
        return json_answer(
            {"gaps": [{"gap_id": g["id"], "status": "absent", "reason": reason}
                      for g in brief(body)["gaps"]]}
        )  # fmt: skip

    result, job = await gap_after(office, tmp_path, [claim(OTHER, OTHER)], GapRulingsAnswer=rule)
    left = only(result.gaps)
    assert (left.status, left.reason, left.closed_in) == ("absent", reason, None)
    assert result.passes[1].gaps_closed == 0
    assert result.status == "complete_with_gaps"
    (asked,) = job.asked("GapRulingsAnswer")[0]["gaps"]
    assert asked["question"] == MISSING
    assert [entry["text"] for entry in asked["new_claims"]] == [OTHER]
    assert asked["missing"] == ["how long they last"]


async def test_known_claims_returned_again_close_nothing(office: Office, tmp_path: Path) -> None:
    result, job = await gap_after(office, tmp_path, [claim(PRICE, PRICE)])
    left = only(result.gaps)
    assert (left.status, left.reason) == ("absent", "nothing new was found")
    assert job.asked("GapRulingsAnswer") == [], "there was nothing to judge"


async def test_a_gap_that_is_partly_answered_says_what_is_missing(
    office: Office, tmp_path: Path
) -> None:
    def rule(body: JsonObject) -> Turn:
        return json_answer(
            {"gaps": [{"gap_id": g["id"], "status": "partly", "reason": "only for some homes"}
                      for g in brief(body)["gaps"]]}
        )  # fmt: skip

    result, _ = await gap_after(office, tmp_path, [claim(SURVEY, SURVEY)], GapRulingsAnswer=rule)
    left = only(result.gaps)
    assert (left.status, left.reason) == ("partly", "only for some homes")
    assert SURVEY.rstrip(".") in result.report_markdown, "what was found is written up"


async def test_a_judge_of_gaps_that_cannot_run_leaves_the_gap_open(
    office: Office, tmp_path: Path
) -> None:
    refusing = Turn([], "refusal", {"type": "refusal", "category": None, "explanation": None})
    result, _ = await gap_after(
        office, tmp_path, [claim(SURVEY, SURVEY)], GapRulingsAnswer=lambda _: refusing
    )
    left = only(result.gaps)
    assert left.status == "open"
    assert "could not be judged" in left.reason


async def test_a_facet_judged_thin_without_a_gap_becomes_one(
    office: Office, tmp_path: Path
) -> None:
    thin = {"facet_id": "noise", "addressed": True, "depth": "thin", "reason": "One survey only."}
    fine = {"facet_id": "prices", "addressed": True, "depth": "adequate", "reason": "Enough."}
    job = Job(
        PlanDraft=planner("noise", "prices"),
        ResearchAnswer=researcher(
            {"noise": [claim(NOISE, NOISE)], "prices": [claim(PRICE, PRICE)]}
        ),
        EvaluationAnswer=evaluator({"judgements": [thin, fine]}),
    )
    result = await job.run(office, tmp_path, max_passes=0)
    left = only(result.gaps)
    assert (left.facet_id, left.kind, left.status) == ("noise", "thin", "open")
    assert "One survey only." in left.text
    assert left.reason.startswith("not pursued")
    missing = result.report_markdown.partition("## What is missing")[2]
    assert "One survey only. (not pursued" in missing


async def test_the_evaluator_reads_the_report_with_headings_and_contradictions(
    office: Office, tmp_path: Path
) -> None:
    found = [claim(SURVEY, SURVEY), claim(PANEL, PANEL)]
    job = Job(
        PlanDraft=planner("surveys"),
        ResearchAnswer=researcher({"surveys": found}),
        RelationsAnswer=lambda body: contradiction(body, "45 %", "12 %"),
    )
    await job.run(office, tmp_path, max_passes=0)
    (asked,) = job.asked("EvaluationAnswer")
    headings = [line for line in asked["report"].splitlines() if line.startswith("## ")]
    assert headings[:3] == [
        "## Summary", "## Heat pumps and surveys", "## Where the sources disagree",
    ]  # fmt: skip
    assert "12 %" in asked["report"].partition("## Where the sources disagree")[2]


async def test_a_gap_outside_all_facets_widens_the_plan(office: Office, tmp_path: Path) -> None:
    outside = gap("", "What do households think of noise?", title="Heat pumps and noise")
    job = Job(
        PlanDraft=planner("prices"),
        ResearchAnswer=researcher(
            {"prices": [claim(PRICE, PRICE)], "noise": [claim(NOISE, NOISE)]}
        ),
        EvaluationAnswer=evaluator({"gaps": [outside]}),
        GapRulingsAnswer=lambda body: json_answer(
            {"gaps": [{"gap_id": g["id"], "status": "closed", "reason": "it says what they think"}
                      for g in brief(body)["gaps"]]}
        ),
    )  # fmt: skip
    result = await job.run(office, tmp_path, max_passes=1)
    assert [f.title for f in result.plan.facets] == [
        "Heat pumps and prices",
        "Heat pumps and noise",
    ]
    assert only(result.gaps).status == "closed"
    assert "## Heat pumps and noise" in result.report_markdown
    assert NOISE.rstrip(".") in result.report_markdown
    assert "widened by “Heat pumps and noise” after the draft" in result.report_markdown


async def test_an_absent_gap_bars_its_question_and_not_its_facet(
    office: Office, tmp_path: Path
) -> None:
    again, other = gap("prices", MISSING), gap("prices", "What do grants cover?")
    job = Job(
        PlanDraft=planner("prices"),
        ResearchAnswer=researcher(
            {"prices": [claim(PRICE, PRICE)]},
            lambda _: {"summary": "Nothing.", "claims": [], "exhausted": True},
        ),
        EvaluationAnswer=evaluator({"gaps": [gap("prices", MISSING)]}, {"gaps": [again, other]}),
    )
    result = await job.run(office, tmp_path, max_passes=1)
    assert [(g.question, g.status) for g in result.gaps] == [
        (MISSING, "absent"), ("What do grants cover?", "open"),
    ]  # fmt: skip


async def test_a_report_that_does_not_answer_its_question_says_so_first(
    office: Office, tmp_path: Path
) -> None:
    reason = "How many households have a heat pump is nowhere stated."
    job = Job(
        PlanDraft=planner("prices"),
        ResearchAnswer=researcher({"prices": [claim(PRICE, PRICE)]}),
        EvaluationAnswer=evaluator({"answered": "unanswered", "answered_reason": reason}),
    )
    result = await job.run(office, tmp_path, max_passes=0)
    assert result.status == "complete_with_gaps"
    assert result.answer is not None
    assert (result.answer.status, result.answer.reason) == ("unanswered", reason)
    first = result.report_markdown.split("\n\n")[1]
    assert first == f"**The question is not answered.** {reason}"
