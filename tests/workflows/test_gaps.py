"""Gaps: where they come from, how they end, and when a job may stop."""

from __future__ import annotations

from tests.workflows.test_plan import facet
from workflows.contracts.facets import Plan, QuestionKind
from workflows.contracts.outcomes import (
    Failed,
    FindingsRef,
    Found,
    NoResults,
    Refused,
    SubagentOutcome,
    TimedOut,
)
from workflows.contracts.state import Gap, GapStatus, Pass, StopReason
from workflows.rules.gaps import after_follow_up, commissionable_gaps, from_research, merge, stop

WHY = {"asked": "what", "reason": "because of rain", "try_instead": "something else"}
REF = FindingsRef(key="k", claims=1, sources=1)


def gap(gid: str = "g1", status: GapStatus = "open", question: str = "What of it?") -> Gap:
    return Gap(id=gid, kind="thin", facet_id="a", text="More.", question=question, status=status)


def test_an_empty_search_is_absent_and_is_not_commissioned_again() -> None:
    plan = Plan(kind=QuestionKind.OVERVIEW, facets=(facet("a"),))
    (found,) = from_research(plan, {"a": NoResults(**WHY, queries=("q",))})
    assert found.status == "absent"
    assert "searched for and is absent" in found.text
    assert commissionable_gaps([found]) == []


def test_a_failed_facet_can_be_commissioned_again_and_a_refused_one_not() -> None:
    plan = Plan(kind=QuestionKind.OVERVIEW, facets=(facet("a"), facet("b")))
    failed, refused = from_research(plan, {"a": TimedOut(**WHY, seconds=9), "b": Refused(**WHY)})
    assert (failed.status, refused.status) == ("open", "failed")
    assert "because of rain" in failed.text


def test_a_failure_that_found_something_is_no_gap() -> None:
    plan = Plan(kind=QuestionKind.OVERVIEW, facets=(facet("a"), facet("b")))
    outcomes: dict[str, SubagentOutcome] = {
        "a": Failed(**WHY, findings=REF),
        "b": Found(findings=REF),
    }
    assert from_research(plan, outcomes) == ()


def test_a_facet_left_out_is_named_but_not_commissioned() -> None:
    plan = Plan(kind=QuestionKind.OVERVIEW, facets=(facet("a"),), left_out=(facet("b"),))
    (left_out,) = from_research(plan, {"a": Found(findings=REF)})
    assert "left out" in left_out.text
    assert left_out.status == "open"
    assert commissionable_gaps([left_out]) == []


def test_a_follow_up_closes_a_gap_only_with_something_new() -> None:
    assert after_follow_up(gap(), Found(findings=REF), claims=2, n=1).closed_in == 1
    assert after_follow_up(gap(), Found(findings=REF), claims=0, n=1).status == "absent"
    nothing = NoResults(**WHY, queries=("q",))
    assert (
        after_follow_up(gap().model_copy(update={"kind": "missing"}), nothing, claims=0, n=1).status
        == "absent"
    )
    assert after_follow_up(gap(), nothing, claims=0, n=1).status == "partly"
    assert after_follow_up(gap(), Failed(**WHY), claims=0, n=1).status == "failed"


def test_a_gap_found_again_under_the_same_question_is_not_new() -> None:
    known = gap("g1", "absent")
    again = gap("g2", question="what  of IT?")
    new = gap("g3", question="What else?")
    assert [g.id for g in merge([known], [again, new])] == ["g1", "g3"]


def test_a_job_stops_because_it_is_sufficient_spent_stuck_or_capped() -> None:
    done = (Pass(n=0), Pass(n=1, gaps_closed=1))
    assert stop([gap(status="closed")], done, 2, exhausted=False) is StopReason.SUFFICIENT
    assert stop([gap()], done, 2, exhausted=True) is StopReason.BUDGET
    stuck = (Pass(n=0), Pass(n=1, gaps_closed=0))
    assert stop([gap()], stuck, 2, exhausted=False) is StopReason.NO_PROGRESS
    assert stop([gap()], done, 1, exhausted=False) is StopReason.CAP
    assert stop([gap()], done, 2, exhausted=False) is None
    assert stop([gap()], (Pass(n=0),), 2, exhausted=False) is None
