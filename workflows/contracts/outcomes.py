"""The outcomes of a research subagent. Failures are values.

    found         the facet is answered
    partial       something was found, something named is missing
    timed out     the clock ran out
    no results    the sources hold nothing on it
    rate limited  the provider asked to wait
    refused       the model declined
    failed        anything else that the same question again would not repair

Success carries a `FindingsRef`, which counts at least one claim: an empty success cannot be built.
Every other outcome says what was asked, what was found before, and what to try instead.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from .evidence import Record


class FindingsRef(Record):
    """Where a subagent's findings are stored, and what the coordinator needs to decide."""

    key: str
    claims: PositiveInt
    sources: PositiveInt
    summary: str = Field(default="", max_length=1200)
    confidence: float = Field(default=1.0, ge=0, le=1)
    """The highest confidence of a claim."""
    missing: tuple[str, ...] = ()
    """What the question needs and was not found."""
    next_step: str = ""
    """What the subagent would do next."""
    exhausted: bool = False
    """The subagent says that searching on would find nothing more."""


class Found(Record):
    status: Literal["found"] = "found"
    findings: FindingsRef


class Partial(Record):
    status: Literal["partial"] = "partial"
    findings: FindingsRef
    missing: tuple[str, ...] = Field(min_length=1)


class _Failure(Record):
    asked: str = Field(min_length=1)
    reason: str = Field(min_length=1)
    try_instead: str = Field(min_length=1)
    findings: FindingsRef | None = None


class TimedOut(_Failure):
    status: Literal["timed_out"] = "timed_out"
    seconds: float


class NoResults(_Failure):
    status: Literal["no_results"] = "no_results"
    queries: tuple[str, ...] = Field(min_length=1)
    exhausted: bool = False
    """The subagent says that searching on would find nothing more."""


class RateLimited(_Failure):
    status: Literal["rate_limited"] = "rate_limited"
    retry_after_seconds: float = Field(ge=0)


class Refused(_Failure):
    status: Literal["refused"] = "refused"


class Failed(_Failure):
    status: Literal["failed"] = "failed"


SubagentOutcome = Annotated[
    Found | Partial | TimedOut | NoResults | RateLimited | Refused | Failed,
    Field(discriminator="status"),
]

Retry = Literal["narrower", "broader", "again"]
