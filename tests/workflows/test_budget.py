"""The budget is hard, and keeps a reserve for the report."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from workflows.config.model_catalog import MODELS, card
from workflows.contracts.outcomes import FindingsRef, Found
from workflows.contracts.request import ResearchRequest
from workflows.contracts.spend import Budget, Spend
from workflows.contracts.state import Pass, ResearchState
from workflows.rules.budget import (
    affordable_gaps,
    is_exhausted,
    research_allowance,
    verification_allowance,
    writing_allowance,
)

amounts = st.builds(
    Spend,
    turns=st.integers(0, 99),
    input_tokens=st.integers(0, 10**6),
    output_tokens=st.integers(0, 10**6),
    usd=st.integers(0, 1000).map(float),
)


@pytest.mark.parametrize("usd", [0, -1, float("nan"), float("inf")])
def test_a_budget_that_is_no_amount_is_refused(usd: float) -> None:
    with pytest.raises(ValidationError):
        Budget(usd=usd)


def job(
    budget: Budget, spend: Spend, first_draft: Spend | None = None, **more: Any
) -> ResearchState:
    """A job that has spent this; with `first_draft`, one that refines."""
    request = ResearchRequest(question="What?", budget=budget, **more)
    passes = () if first_draft is None else (Pass(n=0, spend=first_draft),)
    return ResearchState(
        id="j", journal="j", request=request, started_at="", spend=spend, passes=passes
    )


def test_the_first_research_leaves_the_shares_of_all_later_phases() -> None:
    budget = Budget(usd=10.0)
    assert research_allowance(job(budget, Spend(usd=2.0))).usd == pytest.approx(4.0)
    assert not is_exhausted(job(budget, Spend(usd=5.7)))
    assert is_exhausted(job(budget, Spend(usd=5.9)))
    assert verification_allowance(job(budget, Spend(usd=6.0))).usd == pytest.approx(1.0)
    assert writing_allowance(job(budget, Spend(usd=7.0))).usd == pytest.approx(1.5)
    assert is_exhausted(job(Budget(tokens=1000), Spend(input_tokens=550, output_tokens=50)))


def test_only_refinement_may_spend_its_share_and_no_more_than_it() -> None:
    budget, draft = Budget(usd=10.0), Spend(usd=8.5)
    assert is_exhausted(job(budget, draft))
    assert research_allowance(job(budget, draft, draft)).usd == pytest.approx(1.5)
    cheap = Spend(usd=2.0)
    refining = job(budget, cheap, cheap)
    assert research_allowance(refining).usd == pytest.approx(1.5)
    assert is_exhausted(job(budget, Spend(usd=3.4), cheap)), "the pass spent its share"
    assert writing_allowance(job(budget, Spend(usd=9.0), draft)).usd == pytest.approx(1.0)


def test_a_job_without_passes_gives_their_share_to_research() -> None:
    state = job(Budget(usd=10.0), Spend(), max_passes=0)
    assert research_allowance(state).usd == pytest.approx(7.5)
    assert writing_allowance(state).usd == pytest.approx(10.0)


def test_a_pass_takes_up_as_many_gaps_as_it_can_pay_for_and_one_at_least() -> None:
    draft = Spend(usd=5.0)
    state = job(Budget(usd=10.0), draft, draft)
    found = Found(findings=FindingsRef(key="k", claims=1, sources=1))
    state.outcomes = dict.fromkeys("abcde", found)
    for usd, gaps in ((2.5, 3), (1.0, 7), (50.0, 1)):
        state.spend_by_role = {"researcher": Spend(usd=usd)}
        assert affordable_gaps(state, 9) == gaps
    state.request = ResearchRequest(question="What?")
    assert affordable_gaps(state, 9) == 9


def test_no_budget_is_never_exhausted() -> None:
    assert not is_exhausted(job(Budget(), Spend(usd=1e9)))


@given(amounts, amounts)
def test_spend_adds_and_subtracts(a: Spend, b: Spend) -> None:
    assert a + b == b + a
    assert a + b - b == a
    assert (a + b).tokens == a.tokens + b.tokens


def test_prices_are_per_million_and_cached_tokens_are_cheaper() -> None:
    sonnet = MODELS["claude-sonnet-5-5"]
    assert sonnet.cost(1_000_000, 0) == 2.0
    assert sonnet.cost(0, 1_000_000) == 10.0
    assert sonnet.cost(0, 0, cache_read=1_000_000) == 0.2
    assert sonnet.cost(0, 0, cache_write=1_000_000) == 2.5
    assert card("a-model-of-ones-own").cost(10**6, 10**6) == 0.0
