"""The four questions before an answer is taken, and the follow-ups they lead to."""

from __future__ import annotations

from typing import Any

from workflows.contracts.facets import Effort
from workflows.contracts.outcomes import (
    Alternative,
    FindingsRef,
    Found,
    NoResults,
    Partial,
    SubagentOutcome,
)
from workflows.contracts.state import Acceptance, FindingsJudgement, FollowUp
from workflows.rules.acceptance import MAX_FOLLOW_UPS, choose_follow_up, judge, with_holes

ASK = "What did it cost in 2024?"
CRITICAL = {"missing": ("the cost in 2024",), "critical": ("the cost in 2024",)}


def ref(**more: Any) -> FindingsRef:
    return FindingsRef(key="findings/1", claims=2, sources=1, **more)


def partial(**more: Any) -> Partial:
    return Partial(findings=ref(**{**CRITICAL, **more}), missing=("the cost in 2024",))


def view(**more: Any) -> FindingsJudgement:
    return FindingsJudgement.model_validate({"answers": True, "proceed": True, **more})


def judged(outcome: SubagentOutcome, *asked: FollowUp, **more: Any) -> Acceptance:
    return judge(outcome, view(**more), asked)


def test_a_full_answer_is_taken_without_a_follow_up() -> None:
    outcome = Found(findings=ref(next_step="look at fares"))
    taken = judged(outcome, missing=["the fares"], leads=["Harbour Trust"])
    assert taken.accepted
    assert choose_follow_up(ASK, outcome, taken) is None


def test_a_hole_that_is_not_critical_is_left_to_the_evaluation() -> None:
    outcome = partial(critical=())
    taken = judged(outcome, missing=["the fares"])
    assert taken.accepted
    assert choose_follow_up(ASK, outcome, taken) is None


def test_a_follow_up_says_what_was_useful_what_is_missing_and_asks_for_what_is_related() -> None:
    outcome = partial(next_step="read the audit")
    taken = judged(outcome, critical=["the cost in 2024"], leads=["Harbour Trust"])
    question = choose_follow_up(ASK, outcome, taken) or ""
    for told in ("2 claims", "the cost in 2024", "read the audit", "Harbour Trust"):
        assert told in question


def test_the_judge_is_believed_and_not_the_subagent() -> None:
    modest, bold = partial(), Found(findings=ref())
    assert judged(modest).accepted, "what the subagent calls critical, the judge does not"
    taken = judged(bold, critical=["the cost in 2024"])
    assert "the cost in 2024" in (choose_follow_up(ASK, bold, taken) or "")


def test_without_a_judge_the_subagents_own_word_is_taken() -> None:
    assert judge(Found(findings=ref()), None).accepted
    assert "the cost in 2024" in (choose_follow_up(ASK, partial(), judge(partial(), None)) or "")


def test_claims_that_speak_of_something_else_do_not_answer_however_sure_they_are() -> None:
    outcome = Found(findings=ref())
    taken = judged(outcome, answers=False, reason="they speak of fares")
    question = choose_follow_up(ASK, outcome, taken) or ""
    assert "they speak of fares" in question
    assert ASK in question


def test_one_sure_claim_among_weak_ones_is_not_proceeded_on() -> None:
    outcome = Found(findings=ref())
    taken = judged(outcome, proceed=False, reason="most are weakly supported")
    question = choose_follow_up(ASK, outcome, taken) or ""
    assert "weakly supported" in question
    assert ASK in question, "a follow-up says what to look for"


def test_exhausted_sources_end_the_asking() -> None:
    outcome = partial(exhausted=True)
    assert choose_follow_up(ASK, outcome, judge(outcome, None)) is None


def test_quick_work_is_not_followed_up() -> None:
    outcome = partial()
    taken = judge(outcome, None)
    assert choose_follow_up(ASK, outcome, taken, Effort.STANDARD) is not None
    assert choose_follow_up(ASK, outcome, taken, Effort.QUICK) is None


def test_two_follow_ups_are_the_most() -> None:
    outcome = partial()
    asked = tuple(FollowUp(question=f"question {i}") for i in range(MAX_FOLLOW_UPS))
    assert choose_follow_up(ASK, outcome, judge(outcome, None, asked[:1])) is not None
    assert choose_follow_up(ASK, outcome, judge(outcome, None, asked)) is None


def test_the_same_question_is_not_asked_twice() -> None:
    outcome = partial()
    question = choose_follow_up(ASK, outcome, judge(outcome, None))
    assert question is not None
    asked = (FollowUp(question=question),)
    assert choose_follow_up(ASK, outcome, judge(outcome, None, asked)) is None


def test_a_critical_hole_that_stays_is_missing_from_the_outcome() -> None:
    holes = view(critical=["the cost in 2024"])
    left = with_holes(Found(findings=ref(), searched=("web: cost",)), holes)
    assert isinstance(left, Partial)
    assert (left.missing, left.searched) == (("the cost in 2024",), ("web: cost",))
    assert with_holes(Found(findings=ref()), view()) == Found(findings=ref())


def test_nothing_found_is_no_answer_and_no_follow_up() -> None:
    way = Alternative(kind="broader", text="y", query="y")
    outcome = NoResults(asked="x", reason="nothing", alternatives=(way,), queries=("x",))
    taken = judge(outcome, None)
    assert not taken.accepted
    assert choose_follow_up(ASK, outcome, taken) is None
