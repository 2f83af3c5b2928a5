"""What the evaluator says has consequences: judgements become gaps, questions are asked once."""

from __future__ import annotations

from typing import Any

import pytest

from activities.agent.schemas import EvaluationAnswer
from activities.subagents.evaluating import find_gaps, judge_answer
from tests.workflows.test_plan import facet
from workflows.contracts.activity_io import EvaluateBrief, Job
from workflows.contracts.facets import Plan, QuestionKind
from workflows.contracts.state import DraftRef, Gap, GapStatus, LedgerRef

PLAN = Plan(kind=QuestionKind.OVERVIEW, facets=(facet("a"), facet("b")))


def brief(*gaps: Gap, n: int = 1) -> EvaluateBrief:
    return EvaluateBrief(
        job=Job(id="j", journal="j", model="m", question="What of it?", today="2026-01-01"),
        plan=PLAN,
        ledger=LedgerRef(key="l"),
        draft=DraftRef(key="d"),
        reports=(),
        gaps=gaps,
        n=n,
        task="evaluate",
    )


def gap(question: str, status: GapStatus = "absent", facet_id: str = "a") -> Gap:
    return Gap(id=question, kind="missing", facet_id=facet_id, text="It lacks something.",
               question=question, status=status)  # fmt: skip


def proposed(question: str, facet_id: str = "a") -> dict[str, Any]:
    return {"facet_id": facet_id, "kind": "thin", "text": "More is needed.", "question": question}


def judged(facet_id: str, depth: str) -> dict[str, Any]:
    return {"facet_id": facet_id, "addressed": True, "depth": depth, "reason": f"it is {depth}"}


def answer(**fields: Any) -> EvaluationAnswer:
    return EvaluationAnswer.model_validate({"judgements": [], **fields})


def test_a_question_that_was_searched_in_vain_is_barred_and_its_facet_is_not() -> None:
    known = gap("How long do the batteries of the boats last?")
    found = find_gaps(
        brief(known),
        answer(gaps=[
            proposed("How long do batteries of the boats last?"),
            proposed("Who pays for the batteries?"),
        ]),
    )  # fmt: skip
    assert [g.question for g in found] == ["Who pays for the batteries?"]


def test_a_facet_judged_thin_or_absent_is_a_gap_unless_one_stands_for_it() -> None:
    both = answer(judgements=[judged("a", "thin"), judged("b", "absent")])
    assert [(g.facet_id, g.kind) for g in find_gaps(brief(), both)] == [
        ("a", "thin"),
        ("b", "missing"),
    ]
    named = both.model_copy(update={"gaps": answer(gaps=[proposed("What?")]).gaps})
    assert [g.question for g in find_gaps(brief(), named)] == ["What?", PLAN.facets[1].question]
    assert find_gaps(brief(gap("Why?"), gap("Who?", facet_id="b")), both) == ()
    assert len(find_gaps(brief(gap("Why?", "closed")), both)) == 2


def test_a_gap_of_no_facet_of_the_plan_lies_outside() -> None:
    (found,) = find_gaps(brief(), answer(gaps=[proposed("What else?", "nowhere")]))
    assert found.facet_id == ""


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"answered": "unanswered", "answered_reason": "No figure."}, "unanswered"),
        ({"judgements": [judged("a", "absent"), judged("b", "absent")]}, "unanswered"),
        ({"judgements": [judged("a", "thin"), judged("b", "absent")]}, "partly"),
        ({"judgements": [judged("a", "adequate"), judged("b", "absent")]}, "answered"),
    ],
)
def test_whether_the_question_is_answered(fields: dict[str, Any], status: str) -> None:
    judgement = judge_answer(answer(**fields))
    assert judgement is not None
    assert judgement.status == status


def test_nothing_is_said_of_a_question_that_nobody_judged() -> None:
    assert judge_answer(answer()) is None
