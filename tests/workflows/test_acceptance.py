"""The four questions before an answer is taken, and the follow-ups they lead to."""

from __future__ import annotations

from typing import Any

from workflows.contracts.outcomes import FindingsRef, Found, NoResults, Partial
from workflows.rules.acceptance import MAX_FOLLOW_UPS, choose_follow_up, judge

ASK = "What did it cost in 2024?"


def ref(**more: Any) -> FindingsRef:
    return FindingsRef(key="findings/1", claims=2, sources=1, **more)


def test_a_full_answer_is_taken_without_a_follow_up() -> None:
    outcome = Found(findings=ref(confidence=0.9, next_step="look at fares"))
    taken = judge(outcome)
    assert taken.accepted
    assert choose_follow_up(ASK, outcome, taken) is None


def test_a_hole_is_asked_for_by_name_and_the_suggested_step_with_it() -> None:
    outcome = Partial(
        findings=ref(missing=("the cost in 2024",), next_step="read the audit"),
        missing=("the cost in 2024",),
    )
    taken = judge(outcome)
    assert (taken.answers, taken.complete, taken.explored) == (True, False, False)
    question = choose_follow_up(ASK, outcome, taken)
    assert question is not None
    assert "the cost in 2024" in question
    assert "read the audit" in question


def test_a_weak_answer_is_not_proceeded_on() -> None:
    outcome = Found(findings=ref(confidence=0.2))
    taken = judge(outcome)
    assert not taken.proceed
    question = choose_follow_up(ASK, outcome, taken) or ""
    assert "too weak" in question
    assert ASK in question, "a follow-up says what to look for"


def test_exhausted_sources_end_the_asking() -> None:
    outcome = Partial(findings=ref(missing=("a date",), exhausted=True), missing=("a date",))
    assert choose_follow_up(ASK, outcome, judge(outcome)) is None


def test_two_follow_ups_are_the_most() -> None:
    outcome = Partial(findings=ref(missing=("a date",)), missing=("a date",))
    asked = tuple(f"question {i}" for i in range(MAX_FOLLOW_UPS))
    assert choose_follow_up(ASK, outcome, judge(outcome, asked[:1])) is not None
    assert choose_follow_up(ASK, outcome, judge(outcome, asked)) is None


def test_the_same_question_is_not_asked_twice() -> None:
    outcome = Partial(findings=ref(missing=("a date",)), missing=("a date",))
    question = choose_follow_up(ASK, outcome, judge(outcome))
    assert question is not None
    assert choose_follow_up(ASK, outcome, judge(outcome, (question,))) is None


def test_nothing_found_is_no_answer_and_no_follow_up() -> None:
    outcome = NoResults(asked="x", reason="nothing", try_instead="y", queries=("x",))
    taken = judge(outcome)
    assert not taken.accepted
    assert choose_follow_up(ASK, outcome, taken) is None
