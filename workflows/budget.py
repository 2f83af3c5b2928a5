"""Money and tokens: what was spent, what may still be, and the reserve kept for the report.

Research stops at the limit less the reserve, so that verification and writing can still be paid
for: hitting the budget yields a cited partial report, not nothing.
"""

from __future__ import annotations

from pydantic import Field, PositiveFloat, PositiveInt

from workflows.evidence import Record

WRITING_RESERVE = 0.25


class Spend(Record):
    """What turns cost; sums with `+`."""

    turns: int = 0
    bought_again: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            turns=self.turns + other.turns,
            bought_again=self.bought_again + other.bought_again,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            usd=self.usd + other.usd,
        )

    def __sub__(self, other: Spend) -> Spend:
        return Spend(
            turns=self.turns - other.turns,
            bought_again=self.bought_again - other.bought_again,
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            usd=self.usd - other.usd,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class Allowance(Record):
    """What one subagent may still spend; None is no limit."""

    usd: float | None = None
    tokens: int | None = None

    def spent_by(self, spend: Spend) -> bool:
        over_usd = self.usd is not None and spend.usd >= self.usd
        over_tokens = self.tokens is not None and spend.tokens >= self.tokens
        return over_usd or over_tokens


class Budget(Record):
    """The hard limits of a job."""

    usd: PositiveFloat | None = Field(default=None, allow_inf_nan=False)
    tokens: PositiveInt | None = None

    def for_research(self, spent: Spend) -> Allowance:
        """What is left before the reserve is touched."""
        share = 1.0 - WRITING_RESERVE
        return Allowance(
            usd=None if self.usd is None else max(0.0, self.usd * share - spent.usd),
            tokens=None if self.tokens is None else max(0, int(self.tokens * share) - spent.tokens),
        )

    def exhausted(self, spent: Spend) -> bool:
        """True when research may not start another turn."""
        return self.for_research(spent).spent_by(Spend())
