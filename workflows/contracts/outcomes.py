"""The outcomes of a research subagent. Failures are values.

    found         the facet is answered
    partial       something was found, something named is missing
    timed out     the clock ran out
    no results    the sources hold nothing on it
    rate limited  the provider asked to wait, and the job was told to finish
    refused       the model declined
    failed        anything else that the same question again would not repair

Success carries a `FindingsRef`, which counts at least one claim: an empty success cannot be built.
Every other outcome says what was asked, what was found before, and what to try instead. All of them
say what was searched, and which tools and sources failed on the way.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from .evidence import Record

AlternativeKind = Literal[
    "narrower", "broader", "other_terms", "shorter_period", "other_source", "later", "operator"
]


class Alternative(Record):
    """A way on after a failure, made from what was tried."""

    kind: AlternativeKind
    """`later` repeats the question after a wait; `operator` needs a person."""
    text: str = Field(min_length=1, max_length=400)
    """What to do, for people and for the subagent."""
    query: str = Field(default="", max_length=400)
    """The words to search for; empty where another search does not help."""
    wait_seconds: float = Field(default=0.0, ge=0)
    """How long the provider asked to wait; 0 where nothing has to be waited for."""


class FindingsRef(Record):
    """Where a subagent's findings are stored, and what the subagent says of them."""

    key: str
    claims: PositiveInt
    sources: PositiveInt
    summary: str = Field(default="", max_length=1200)
    missing: tuple[str, ...] = ()
    """What the question needs and was not found."""
    critical: tuple[str, ...] = ()
    """What of it the question cannot be answered without."""
    next_step: str = ""
    """What the subagent would do next."""
    exhausted: bool = False
    """The subagent says that searching on would find nothing more."""


class _Outcome(Record):
    findings: FindingsRef | None = None
    reason: str = ""
    """Why it is no success."""
    missing: tuple[str, ...] = ()
    """What was asked and not found."""
    alternatives: tuple[Alternative, ...] = ()
    """What to try instead, the most promising first."""
    searched: tuple[str, ...] = ()
    """The queries that were answered, each with the place it was sent to."""
    problems: tuple[str, ...] = ()
    """Tools and sources that failed, also where others brought something."""


class Found(_Outcome):
    status: Literal["found"] = "found"
    findings: FindingsRef


class Partial(_Outcome):
    status: Literal["partial"] = "partial"
    findings: FindingsRef
    missing: tuple[str, ...] = Field(min_length=1)


class _Failure(_Outcome):
    asked: str = Field(min_length=1)
    reason: str = Field(min_length=1)
    alternatives: tuple[Alternative, ...] = Field(min_length=1)


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


class Refused(_Failure):
    status: Literal["refused"] = "refused"


class Failed(_Failure):
    status: Literal["failed"] = "failed"


SubagentOutcome = Annotated[
    Found | Partial | TimedOut | NoResults | RateLimited | Refused | Failed,
    Field(discriminator="status"),
]
