"""Failures are values, and an empty success cannot be built."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from workflows.contracts.outcomes import (
    Failed,
    FindingsRef,
    Found,
    NoResults,
    Partial,
    RateLimited,
    Refused,
    SubagentOutcome,
    TimedOut,
)
from workflows.rules.acceptance import MAX_RETRIES, choose_retry

OUTCOME: TypeAdapter[SubagentOutcome] = TypeAdapter(SubagentOutcome)
REF = FindingsRef(key="findings/x.json", claims=1, sources=1)
WHY = {"asked": "what", "reason": "because", "try_instead": "something else"}


@pytest.mark.parametrize("status", ["found", "partial"])
def test_a_success_without_claims_cannot_be_built(status: str) -> None:
    empty = {"key": "k", "claims": 0, "sources": 1}
    for findings in (None, empty):
        body = {"status": status, "findings": findings, "missing": ["x"]}
        with pytest.raises(ValidationError):
            OUTCOME.validate_python(body)


def test_a_part_must_say_what_is_missing() -> None:
    with pytest.raises(ValidationError):
        Partial(findings=REF, missing=())


@pytest.mark.parametrize("field", ["asked", "reason", "try_instead"])
def test_a_failure_says_what_was_asked_why_it_failed_and_what_to_try(field: str) -> None:
    with pytest.raises(ValidationError):
        Failed(**{**WHY, field: ""})


@pytest.mark.parametrize(
    "outcome",
    [
        Found(findings=REF),
        Partial(findings=REF, missing=("the rest",)),
        TimedOut(**WHY, seconds=3),
        NoResults(**WHY, queries=("q",)),
        RateLimited(**WHY, retry_after_seconds=2),
        Refused(**WHY),
        Failed(**WHY, findings=REF),
    ],
)
def test_every_outcome_survives_json(outcome: SubagentOutcome) -> None:
    assert OUTCOME.validate_json(OUTCOME.dump_json(outcome)) == outcome


def test_each_outcome_is_asked_again_in_its_own_way() -> None:
    assert choose_retry(Found(findings=REF), 0) is None
    assert choose_retry(Partial(findings=REF, missing=("x",)), 0) is None
    assert choose_retry(Refused(**WHY), 0) is None
    assert choose_retry(TimedOut(**WHY, seconds=1), 0) == "narrower"
    assert choose_retry(Failed(**WHY), 1) == "narrower"
    assert choose_retry(RateLimited(**WHY, retry_after_seconds=1), 0) == "again"
    assert choose_retry(NoResults(**WHY, queries=("q",)), 1) == "broader"


def test_exhausted_sources_are_searched_once_more_and_then_left() -> None:
    nothing = NoResults(**WHY, queries=("q",), exhausted=True)
    assert choose_retry(nothing, 0) == "broader"
    assert choose_retry(nothing, 1) is None


def test_nothing_is_asked_more_than_three_times() -> None:
    assert choose_retry(TimedOut(**WHY, seconds=1), MAX_RETRIES) is None
