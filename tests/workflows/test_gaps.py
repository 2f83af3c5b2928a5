"""Gaps: where they come from, how they end, and when a job may stop."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workflows.test_plan import facet
from workflows.contracts.activity_io import GapRuling
from workflows.contracts.facets import LeftOut, Plan, QuestionKind
from workflows.contracts.outcomes import (
    Alternative,
    Failed,
    FindingsRef,
    Found,
    NoResults,
    Partial,
    Refused,
    SubagentOutcome,
    TimedOut,
)
from workflows.contracts.state import Gap, GapStatus, LedgerRef, Pass, StopReason
from workflows.rules.gaps import (
    after_follow_up,
    commissionable_gaps,
    explain_open,
    from_lost_claims,
    from_research,
    merge,
    next_gaps,
    stop,
    widen,
)

WAYS = (Alternative(kind="narrower", text="ask for a part", query="a part"),)
WHY: dict[str, Any] = {"asked": "what", "reason": "because of rain", "alternatives": WAYS}
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


@pytest.mark.parametrize(
    "outcome",
    [
        Failed(**WHY, findings=REF),
        TimedOut(**WHY, findings=REF, seconds=9),
        Partial(findings=REF, missing=("the cost, because of rain",)),
    ],
)
def test_an_answer_in_part_opens_a_gap_that_says_what_is_missing(outcome: SubagentOutcome) -> None:
    plan = Plan(kind=QuestionKind.OVERVIEW, facets=(facet("a"), facet("b")))
    (found,) = from_research(plan, {"a": outcome, "b": Found(findings=REF)})
    assert (found.facet_id, found.status) == ("a", "open")
    assert "because of rain" in found.text
    assert commissionable_gaps([found]) == [found]


def test_what_exhausted_sources_lack_is_named_and_not_searched_again() -> None:
    plan = Plan(kind=QuestionKind.OVERVIEW, facets=(facet("a"),))
    exhausted = REF.model_copy(update={"exhausted": True})
    (found,) = from_research(plan, {"a": Partial(findings=exhausted, missing=("a date",))})
    assert found.status == "partly"
    assert commissionable_gaps([found]) == []


def test_a_pass_takes_what_was_asked_for_first_and_each_facets_missing_part_last() -> None:
    plan = Plan(kind=QuestionKind.OVERVIEW, facets=(facet("a"), facet("b")))
    part = Partial(findings=REF, missing=("a date",))
    partial_a, partial_b = from_research(plan, {"a": part, "b": part})
    judged = gap("g1")
    asked = gap("g2", question="And this?").model_copy(update={"kind": "asked", "facet_id": "c"})
    order = next_gaps([partial_a, partial_b, judged, asked], 9)
    assert [g.id for g in order] == ["g2", "g1", partial_b.id]
    assert [g.id for g in next_gaps([partial_a, partial_b, judged, asked], 1)] == ["g2"]


def test_a_facet_left_out_is_named_but_not_commissioned() -> None:
    left = LeftOut(**facet("b").model_dump(), left_out_because="quick effort allows 1 facet")
    plan = Plan(kind=QuestionKind.OVERVIEW, facets=(facet("a"),), left_out=(left,))
    (left_out,) = from_research(plan, {"a": Found(findings=REF)})
    assert "left out: quick effort allows 1 facet" in left_out.text
    assert left_out.status == "open"
    assert commissionable_gaps([left_out]) == []


def test_a_gap_ends_as_the_judge_rules_with_the_reason() -> None:
    ends = {}
    statuses: tuple[GapStatus, ...] = ("closed", "partly", "absent", "open")
    for status in statuses:
        ruling = GapRuling(gap_id="g1", status=status, reason="so the judge says", new_claims=1)
        after = after_follow_up(gap(), Found(findings=REF), ruling, n=1)
        assert (after.status, after.reason) == (status, "so the judge says")
        ends[status] = (after.closed_in, after.answered_in)
    assert ends == {
        "closed": (1, 1), "partly": (None, 1), "absent": (None, None), "open": (None, None),
    }  # fmt: skip


def test_a_follow_up_without_anything_new_closes_no_gap() -> None:
    assert after_follow_up(gap(), Found(findings=REF), None, n=1).status == "absent"
    nothing = NoResults(**WHY, queries=("q",))
    missing = gap().model_copy(update={"kind": "missing"})
    assert after_follow_up(missing, nothing, None, n=1).status == "absent"
    assert after_follow_up(gap(), nothing, None, n=1).status == "partly"
    assert after_follow_up(gap(), Failed(**WHY), None, n=1).status == "failed"


def test_a_facet_that_lost_most_of_its_claims_is_thin() -> None:
    plan = Plan(kind=QuestionKind.OVERVIEW, facets=(facet("a"), facet("b"), facet("c")))
    ledger = LedgerRef(key="k", claims=5, by_facet={"b": 3, "c": 2}, lost={"a": 1, "b": 1, "c": 3})
    thin = from_lost_claims(plan, ledger)
    assert [(g.facet_id, g.kind, g.status) for g in thin] == [
        ("a", "thin", "open"), ("c", "thin", "open"),
    ]  # fmt: skip
    assert "3 of the claims" in thin[1].text


def test_a_gap_outside_all_facets_widens_the_plan_within_its_limit() -> None:
    plan = Plan(kind=QuestionKind.OVERVIEW, facets=(facet("a"),))
    outside = [
        gap(f"g{n}").model_copy(update={"facet_id": "", "title": f"Side {n}"}) for n in (1, 2)
    ]
    widened, placed = widen(plan, [gap("g0"), *outside], most_facets=2)
    assert [f.title for f in widened.facets[1:]] == ["Side 1"]
    assert [f.title for f in widened.left_out] == ["Side 2"]
    assert "widened by “Side 1”" in widened.changes[0]
    assert "More." in widened.changes[0], "the reason"
    assert placed[1].facet_id == widened.facets[1].id
    assert (placed[2].kind, placed[2].reason[:11]) == ("left_out", "not pursued")
    assert commissionable_gaps(placed) == [placed[0], placed[1]]


def test_gaps_beyond_the_cap_of_a_pass_wait_and_are_named_at_the_end() -> None:
    gaps = [gap(f"g{n}", question=f"What of {n}?") for n in range(10)]
    assert [g.id for g in commissionable_gaps(gaps)] == [f"g{n}" for n in range(8)]
    asked = gap("asked", question="And this?").model_copy(update={"kind": "asked"})
    assert commissionable_gaps([*gaps, asked])[0] is asked
    told = explain_open([gap("g1", "closed"), gap("g2")], StopReason.CAP)
    assert [g.reason for g in told] == ["", "not pursued: the limit of passes was reached"]


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
