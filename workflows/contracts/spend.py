"""Money and tokens: what was spent, what a subagent may spend, what a job may spend."""

from __future__ import annotations

from pydantic import Field, PositiveFloat, PositiveInt

from .evidence import Message, Record


class Spend(Record):
    """What model calls cost; sums with `+`."""

    turns: int = 0
    bought_again: int = 0
    """Calls that were repeated because their answer was lost."""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    """Input tokens that were read from the prompt cache."""
    usd: float = 0.0

    def __add__(self, other: Spend) -> Spend:
        others = other.model_dump()
        return Spend(**{name: mine + others[name] for name, mine in self})

    def __sub__(self, other: Spend) -> Spend:
        others = other.model_dump()
        return Spend(**{name: mine - others[name] for name, mine in self})

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

    def share(self, part: float) -> Allowance:
        """A part of it, between 0 and 1."""
        return Allowance(
            usd=None if self.usd is None else self.usd * part,
            tokens=None if self.tokens is None else int(self.tokens * part),
        )

    def less(self, spend: Spend) -> Allowance:
        """What is left of it after this."""
        return Allowance(
            usd=None if self.usd is None else max(0.0, self.usd - spend.usd),
            tokens=None if self.tokens is None else max(0, self.tokens - spend.tokens),
        )

    def spent_by(self, spend: Spend) -> bool:
        over_usd = self.usd is not None and spend.usd >= self.usd
        over_tokens = self.tokens is not None and spend.tokens >= self.tokens
        return over_usd or over_tokens


class Budget(Message):
    """The hard limits of a job."""

    usd: PositiveFloat | None = Field(default=None, allow_inf_nan=False)
    tokens: PositiveInt | None = None
