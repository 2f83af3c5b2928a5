"""The budget is hard, and keeps a reserve for the report."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from workflows.config.model_catalog import MODELS, card
from workflows.contracts.spend import Budget, Spend
from workflows.rules.budget import is_exhausted

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


def test_research_stops_before_the_reserve_for_writing_is_touched() -> None:
    budget = Budget(usd=4.0)
    assert not is_exhausted(budget, Spend(usd=2.9))
    assert is_exhausted(budget, Spend(usd=3.0))
    tokens = Budget(tokens=1000)
    assert is_exhausted(tokens, Spend(input_tokens=700, output_tokens=50))


def test_no_budget_is_never_exhausted() -> None:
    assert not is_exhausted(Budget(), Spend(usd=1e9))


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
