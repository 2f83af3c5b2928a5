"""Money and tokens: what was spent, what a subagent may spend, what a job may spend."""

from __future__ import annotations

from pydantic import Field, PositiveFloat, PositiveInt

from .evidence import Record


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
