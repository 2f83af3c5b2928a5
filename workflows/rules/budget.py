"""How the budget of a job is divided among its stages.

Research stops at the limit less a reserve, so that verification and writing can still be paid for:
reaching the budget yields a cited partial report, not nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from workflows.contracts.spend import Allowance, Budget, Spend

RESERVE = 0.25
"""The share of the budget kept for verification and writing."""
WRITING_RESERVE = 0.1
"""The share of the budget kept for writing alone."""
MINIMUM = 0.02
"""With less than this share of the budget left, no subagent is started."""


def research_allowance(
    budget: Budget, spent: Spend, promised: Iterable[Allowance] = ()
) -> Allowance:
    """What is left above the reserve and not promised to other subagents."""
    return _remaining(budget, 1.0 - RESERVE, spent, promised)


def verification_allowance(budget: Budget, spent: Spend) -> Allowance:
    """Verification may use part of the reserve, and leaves enough to write."""
    return _remaining(budget, 1.0 - WRITING_RESERVE, spent)


def writing_allowance(budget: Budget, spent: Spend) -> Allowance:
    return _remaining(budget, 1.0, spent)


def is_exhausted(budget: Budget, spent: Spend) -> bool:
    """True when what is left for research would not pay for another turn."""
    return _remaining(budget, 1.0 - RESERVE - MINIMUM, spent).is_nothing


def _remaining(
    budget: Budget, share: float, spent: Spend, promised: Iterable[Allowance] = ()
) -> Allowance:
    given = list(promised)
    usd = spent.usd + sum(allowance.usd or 0.0 for allowance in given)
    tokens = spent.tokens + sum(allowance.tokens or 0 for allowance in given)
    return Allowance(
        usd=None if budget.usd is None else max(0.0, budget.usd * share - usd),
        tokens=None if budget.tokens is None else max(0, int(budget.tokens * share) - tokens),
    )
