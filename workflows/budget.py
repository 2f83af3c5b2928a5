"""Money and tokens: what was spent, what may still be, and the reserve kept for the report.

Research stops at the limit less the reserve, so that verification and writing can still be paid
for: hitting the budget yields a cited partial report, not nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field, PositiveFloat, PositiveInt

from workflows.evidence import Record

RESERVE = 0.25
"""Of the budget, kept for verification and writing."""
WRITING = 0.1
"""Of the budget, kept for writing alone."""
LEAST = 0.02
"""Of the budget: with less than this no subagent is sent out."""


class Spend(Record):
    """What turns cost; sums with `+`."""

    turns: int = 0
    bought_again: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    """Those of the input that were read from the provider's cache."""
    usd: float = 0.0

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            turns=self.turns + other.turns,
            bought_again=self.bought_again + other.bought_again,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            usd=self.usd + other.usd,
        )

    def __sub__(self, other: Spend) -> Spend:
        return Spend(
            turns=self.turns - other.turns,
            bought_again=self.bought_again - other.bought_again,
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            cache_read_tokens=self.cache_read_tokens - other.cache_read_tokens,
            usd=self.usd - other.usd,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class Allowance(Record):
    """What one subagent may still spend; None is no limit."""

    usd: float | None = None
    tokens: int | None = None

    @property
    def is_nothing(self) -> bool:
        return self.spent_by(Spend())

    def divided(self, among: int) -> Allowance:
        """An equal share of it."""
        return Allowance(
            usd=None if self.usd is None else self.usd / among,
            tokens=None if self.tokens is None else self.tokens // among,
        )

    def spent_by(self, spend: Spend) -> bool:
        over_usd = self.usd is not None and spend.usd >= self.usd
        over_tokens = self.tokens is not None and spend.tokens >= self.tokens
        return over_usd or over_tokens


class Budget(Record):
    """The hard limits of a job."""

    usd: PositiveFloat | None = Field(default=None, allow_inf_nan=False)
    tokens: PositiveInt | None = None

    def for_research(self, spent: Spend, promised: Iterable[Allowance] = ()) -> Allowance:
        """What is left before the reserve is touched, and not promised to others."""
        return self._left(1.0 - RESERVE, spent, promised)

    def for_verifying(self, spent: Spend) -> Allowance:
        """Verification may use part of the reserve, and leaves enough to write."""
        return self._left(1.0 - WRITING, spent)

    def for_writing(self, spent: Spend) -> Allowance:
        return self._left(1.0, spent)

    def _left(self, share: float, spent: Spend, promised: Iterable[Allowance] = ()) -> Allowance:
        given = list(promised)
        usd = spent.usd + sum(allowance.usd or 0.0 for allowance in given)
        tokens = spent.tokens + sum(allowance.tokens or 0 for allowance in given)
        return Allowance(
            usd=None if self.usd is None else max(0.0, self.usd * share - usd),
            tokens=None if self.tokens is None else max(0, int(self.tokens * share) - tokens),
        )

    def exhausted(self, spent: Spend) -> bool:
        """True when research may not start another turn: what is left would not pay for one."""
        return self._left(1.0 - RESERVE - LEAST, spent).is_nothing
