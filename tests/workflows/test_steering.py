"""An operator's words: refused with a reason or applied, and harmless when they come twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.contracts.facets import Facet, Plan, QuestionKind
from workflows.contracts.messages import (
    AddFacet,
    AddNote,
    Approve,
    Change,
    DropFacet,
    RefineFacet,
    SetBudget,
)
from workflows.contracts.outcomes import FindingsRef, Found
from workflows.contracts.request import ResearchRequest
from workflows.contracts.spend import Budget, Spend
from workflows.contracts.state import Phase, ResearchState, StopReason
from workflows.rules.gaps import commissionable_gaps, stop
from workflows.rules.steering import apply, apply_approval, check_approval, check_change

NAMES = ("costs", "safety", "noise", "rescue")


def facet(name: str, *needs: str) -> Facet:
    return Facet(
        id=name,
        title=name.title(),
        question=f"What is known about {name}?",
        boundary="the rest",
        prefer="reports",
        reason="asked",
        depends_on=needs,
    )


def job(*names: str, **more: object) -> ResearchState:
    plan = Plan(kind=QuestionKind.OVERVIEW, facets=tuple(facet(n) for n in names or NAMES[:2]))
    return ResearchState(
        id="job",
        journal="job",
        request=ResearchRequest(question="What?"),
        started_at="2026-01-01T00:00:00+00:00",
        phase=Phase.RESEARCHING,
        plan=plan,
        **more,
    )


def ids(state: ResearchState) -> list[str]:
    assert state.plan
    return [f.id for f in state.plan.facets]


CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.sampled_from(NAMES).map(lambda n: AddFacet(facet=facet(n))),
    st.sampled_from(NAMES).map(lambda n: DropFacet(facet_id=n)),
    st.tuples(st.sampled_from(NAMES), st.sampled_from(["Why?", "When?"])).map(
        lambda pair: RefineFacet(facet_id=pair[0], question=pair[1])
    ),
    st.sampled_from(["mind the year", "no blogs"]).map(lambda t: AddNote(text=t)),
    st.floats(1, 100).map(lambda usd: SetBudget(budget=Budget(usd=usd))),
)


@given(st.lists(CHANGES, max_size=8), CHANGES, st.booleans(), st.sets(st.sampled_from(NAMES)))
def test_a_change_said_twice_changes_nothing_the_second_time(
    before: list[Change], change: Change, researched: bool, running: set[str]
) -> None:
    state = job(researched=researched, running=tuple(sorted(running)))
    for earlier in before:
        if check_change(state, earlier) is None:
            apply(state, earlier)
    if check_change(state, change) is not None:
        return
    apply(state, change)
    once = state.model_dump_json()
    assert check_change(state, change) is None
    apply(state, change)
    assert state.model_dump_json() == once
    assert state.plan
    assert state.plan.facets
    assert len(set(ids(state))) == len(ids(state))


def test_a_facet_added_in_time_is_planned_and_one_added_late_is_commissioned() -> None:
    early, late = job(), job(researched=True)
    for state in (early, late):
        apply(state, AddFacet(facet=facet("noise")))
        assert ids(state)[-1] == "noise"
    assert early.gaps == ()
    (gap,) = commissionable_gaps(late.gaps)
    assert (gap.kind, gap.facet_id) == ("asked", "noise")


def test_what_an_operator_asked_for_gets_a_pass_beyond_the_cap() -> None:
    state = job(researched=True)
    assert stop(state.gaps, (), 0, exhausted=False) is StopReason.SUFFICIENT
    apply(state, RefineFacet(facet_id="costs", question="And in 2025?"))
    assert stop(state.gaps, (), 0, exhausted=False) is None
    assert stop(state.gaps, (), 0, exhausted=True) is StopReason.BUDGET
    assert stop(state.gaps, (), 0, exhausted=False, finishing=True) is StopReason.FINISHED


def test_dropping_a_facet_frees_those_that_waited_for_it() -> None:
    state = job()
    assert state.plan
    state.plan = state.plan.model_copy(
        update={"facets": (facet("costs"), facet("safety", "costs"))}
    )
    apply(state, DropFacet(facet_id="costs"))
    assert state.plan.facets[0].depends_on == ()


def test_a_running_facet_that_is_refined_is_told_by_a_note_of_its_own() -> None:
    state = job(running=("costs",))
    apply(state, RefineFacet(facet_id="costs", question="Only in 2025?"))
    (note,) = state.notes
    assert note.task == "costs"
    assert "Only in 2025?" in note.text


@pytest.mark.parametrize(
    ("state", "change", "reason"),
    [
        (job(), DropFacet(facet_id="opera"), "there is no facet 'opera'"),
        (job("costs"), DropFacet(facet_id="costs"), "only facet left"),
        (job(researched=True), DropFacet(facet_id="costs"), "researched already"),
        (job(), RefineFacet(facet_id="opera", question="?"), "there is no facet"),
        (job(), AddFacet(facet=facet("noise", "opera")), "depends on 'opera'"),
        (job(finishing=True), AddFacet(facet=facet("noise")), "finishing"),
        (job(spend=Spend(usd=3)), SetBudget(budget=Budget(usd=2)), "$3.00"),
        (job(spend=Spend(input_tokens=9)), SetBudget(budget=Budget(tokens=5)), "9 tokens"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_reason(
    state: ResearchState, change: Change, reason: str
) -> None:
    assert reason in (check_change(state, change) or "")


def test_another_facet_of_the_same_name_is_refused() -> None:
    other = facet("costs").model_copy(update={"question": "Something else?"})
    assert "another id" in (check_change(job(), AddFacet(facet=other)) or "")


def test_nothing_is_changed_while_the_report_is_put_together() -> None:
    state = job()
    state.phase = Phase.FINISHED
    assert "fork" in (check_change(state, AddNote(text="wait")) or "")


def test_a_finding_is_not_taken_back_by_dropping_its_facet() -> None:
    state = job()
    state.outcomes["costs"] = Found(findings=FindingsRef(key="k", claims=1, sources=1))
    assert "stays" in (check_change(state, DropFacet(facet_id="costs")) or "")


def test_a_plan_is_approved_edited_or_refused() -> None:
    state = job()
    assert check_approval(state, Approve(decision="approve")) == "no plan waits for approval"
    state.phase = Phase.APPROVING
    assert check_approval(state, Approve(decision="approve")) is None
    assert state.plan
    twice = state.plan.model_copy(update={"facets": (facet("costs"), facet("costs"))})
    assert "breaks the rules" in (
        check_approval(state, Approve(decision="approve", plan=twice)) or ""
    )
    assert "leave one" in (check_approval(state, Approve(decision="reject", plan=state.plan)) or "")
    only = state.plan.model_copy(update={"facets": (facet("costs"),)})
    taken = apply_approval(state.plan, Approve(decision="approve", plan=only))
    assert [f.id for f in taken.facets] == ["costs"]
    assert "edited" in taken.changes[-1]
    state.approved = True
    assert check_approval(state, Approve(decision="approve")) is None
    assert check_approval(state, Approve(decision="reject")) == "the plan is approved already"
