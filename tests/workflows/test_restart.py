"""A job taken up again is the same job, freed of what stopped it, and says where it came from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workflows.test_plan import facet
from workflows.config.roles import EFFORTS, ROLES
from workflows.contracts.facets import Effort, Plan, QuestionKind
from workflows.contracts.outcomes import Alternative, Failed, FindingsRef, Found, SubagentOutcome
from workflows.contracts.request import ResearchRequest
from workflows.contracts.spend import Budget, Spend
from workflows.contracts.state import (
    Blocked,
    Checkpoint,
    Gap,
    Parent,
    Pass,
    Phase,
    ResearchState,
    StopReason,
)
from workflows.rules.gaps import stop
from workflows.rules.restart import SETTABLE, change_request, fork_state, restart_state

texts = st.text(alphabet="abcdef-", min_size=1, max_size=8)
reasons = st.none() | st.sampled_from(StopReason)


@st.composite
def states(draw: st.DrawFn) -> ResearchState:
    """A job in any condition: parked, paused, finishing, stopped, restarted before."""
    count = draw(st.integers(0, 4))
    stopped = draw(reasons)
    return ResearchState(
        id=draw(texts),
        journal=draw(texts),
        request=ResearchRequest(
            question=draw(texts),
            effort=draw(st.sampled_from(Effort)),
            max_passes=draw(st.none() | st.integers(0, 20)),
            budget=Budget(usd=draw(st.none() | st.floats(0.01, 100))),
        ),
        started_at=draw(texts),
        phase=draw(st.sampled_from(Phase)),
        running=tuple(draw(st.lists(texts, max_size=3))),
        passes=tuple(
            Pass(n=n, gaps_in=n, stop_reason=stopped if n == count - 1 else None)
            for n in range(count)
        ),
        stop_reason=stopped,
        spend=Spend(turns=draw(st.integers(0, 99)), usd=draw(st.floats(0, 9))),
        checkpoints=tuple(
            Checkpoint(name=name, phase=Phase.PLANNING, at="t", turns=1, usd=0.0)
            for name in draw(st.lists(texts, max_size=3))
        ),
        blocked=draw(st.none() | st.just(Blocked(step="s", reason="r", remedy="m", since="t"))),
        paused=draw(st.booleans()),
        finishing=draw(st.booleans()),
        parent=draw(st.none() | st.just(Parent(id="older", checkpoint="planned", how="fork"))),
    )


HINDRANCES = {"blocked", "paused", "finishing", "running", "stop_reason", "passes", "parent"}


@given(states(), texts, texts)
def test_a_restart_changes_nothing_but_what_stopped_it(
    state: ResearchState, run_id: str, name: str
) -> None:
    before = state.model_copy(deep=True)
    again = restart_state(state, run_id=run_id, checkpoint=name)

    assert again.parent == Parent(id=state.id, run_id=run_id, checkpoint=name, how="restart")
    assert again.model_dump(exclude=HINDRANCES) == before.model_dump(exclude=HINDRANCES)
    free(again)
    assert [p.model_copy(update={"stop_reason": None}) for p in before.passes] == list(again.passes)
    assert state == before, "the state it was made from changed"


@given(states(), texts, st.integers(0, 20))
def test_a_fork_is_another_job_on_the_same_journal(
    state: ResearchState, job_id: str, passes: int
) -> None:
    fork = fork_state(
        state, job_id=job_id, run_id="r", checkpoint="c", changes={"max_passes": str(passes)}
    )

    assert (fork.id, fork.journal, fork.started_at) == (job_id, state.journal, state.started_at)
    assert fork.parent == Parent(id=state.id, run_id="r", checkpoint="c", how="fork")
    assert fork.request == state.request.model_copy(update={"max_passes": passes})
    assert fork.spend == state.spend
    free(fork)


@given(states())
def test_what_is_added_to_a_restarted_job_is_not_added_to_the_old_one(state: ResearchState) -> None:
    again = restart_state(state, run_id="r", checkpoint="c")
    again.book("planner", Spend(turns=1))
    assert "planner" not in state.spend_by_role


def free(state: ResearchState) -> None:
    assert state.blocked is None
    assert not state.paused
    assert not state.finishing
    assert state.running == ()
    assert state.stop_reason is None
    assert all(p.stop_reason is None for p in state.passes)


REQUEST = ResearchRequest(question="q", budget=Budget(usd=2, tokens=5), max_passes=1)


@given(st.data())
def test_every_setting_can_be_set(data: st.DataObject) -> None:
    values = {
        "model": texts,
        "effort": st.sampled_from([effort.value for effort in Effort]),
        "max_passes": st.integers(0, 20).map(str),
        "max_facets": st.integers(1, 60).map(str),
        "max_claims": st.integers(1, 60).map(str),
        "parallel": st.integers(1, 50).map(str),
        "subagent_seconds": st.integers(1, 900).map(str),
        "budget_usd": st.integers(1, 90).map(str),
        "budget_tokens": st.integers(1, 90).map(str),
        **{f"model.{role}": texts for role in ROLES},
        **{f"effort.{role}": st.sampled_from(EFFORTS) for role in ROLES},
    }
    assert set(values) == set(SETTABLE)
    key = data.draw(st.sampled_from(SETTABLE))
    text = data.draw(values[key].filter(lambda value: value != "none"))
    told = change_request(REQUEST, {key: text}).model_dump()

    name, _, role = key.partition(".")
    found = (
        told[name + "s"][role]
        if role
        else told["budget"][name.removeprefix("budget_")]
        if name.startswith("budget")
        else told[name]
    )
    assert found == type(found)(text)
    others = change_request(REQUEST, {}).model_dump()
    assert [field for field in told if told[field] != others[field]] in (
        [name + "s" if role else "budget" if name.startswith("budget") else name],
        [],
    )


def test_none_lifts_a_limit_and_leaves_the_other() -> None:
    assert change_request(REQUEST, {"budget_usd": "none"}).budget == Budget(tokens=5)
    assert change_request(REQUEST, {"max_passes": "None"}).max_passes is None
    with_role = change_request(REQUEST, {"model.writer": "m"})
    assert change_request(with_role, {"model.writer": "none"}).models == {}


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("question", "another", "'question' cannot be set: choose among model, effort, max_passes"),
        ("model.cook", "m", "'model.cook' cannot be set: choose among"),
        ("max_passes", "many", "max_passes=many is not possible"),
        ("max_passes", "21", "max_passes=21 is not possible"),
        ("effort", "heroic", "effort=heroic is not possible"),
        ("effort.writer", "heroic", "effort.writer=heroic is not possible"),
        ("budget_usd", "-1", "budget_usd=-1 is not possible"),
        ("budget_tokens", "1.5", "budget_tokens=1.5 is not possible"),
        ("parallel", "0", "parallel=0 is not possible"),
    ],
)
def test_a_bad_change_is_named_as_it_was_typed(key: str, text: str, said: str) -> None:
    with pytest.raises(ValueError, match="^" + said.replace(".", r"\.")):
        change_request(REQUEST, {key: text})


def researched(outcome: SubagentOutcome, *gaps: Gap) -> ResearchState:
    plan = Plan(kind=QuestionKind.OVERVIEW, facets=(facet("a"), facet("b")))
    return ResearchState(
        id="j", journal="j", request=REQUEST, started_at="", plan=plan, researched=True,
        outcomes={"a": outcome}, gaps=gaps, passes=(Pass(n=0),),
    )  # fmt: skip


def test_a_facet_that_failed_is_taken_up_by_a_pass_of_its_own() -> None:
    way = Alternative(kind="operator", text="look at the log")
    failed = Failed(asked="?", reason="it crashed", alternatives=(way,))
    gap = Gap(id="failed-a", kind="failed", facet_id="a", text="x", question="?", status="failed")
    state = restart_state(researched(failed, gap), run_id="r", checkpoint="c", facet="a")
    (reopened,) = state.gaps
    assert (reopened.id, reopened.status, reopened.kind) == ("failed-a", "open", "asked")
    assert state.outcomes == {}
    assert stop(state.gaps, state.passes, 0, exhausted=False) is None, "it is worth a pass"


def test_a_facet_without_a_gap_is_asked_again_and_an_unknown_one_is_named() -> None:
    found = Found(findings=FindingsRef(key="k", claims=1, sources=1))
    state = restart_state(researched(found), run_id="r", checkpoint="c", facet="a")
    assert [(gap.facet_id, gap.status) for gap in state.gaps] == [("a", "open")]
    assert state.outcomes == {"a": found}
    with pytest.raises(ValueError, match="no facet 'z'; the plan has a, b"):
        restart_state(researched(found), run_id="r", checkpoint="c", facet="z")
