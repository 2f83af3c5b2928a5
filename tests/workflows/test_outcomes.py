"""Failures are values, and an empty success cannot be built."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from workflows.contracts.activity_io import Researched
from workflows.contracts.outcomes import (
    Alternative,
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
from workflows.contracts.spend import Spend
from workflows.rules.acceptance import MAX_RETRIES, choose_retry, untried
from workflows.stages.research import Attempts

OUTCOME: TypeAdapter[SubagentOutcome] = TypeAdapter(SubagentOutcome)
REF = FindingsRef(key="findings/x.json", claims=1, sources=1)
WAYS = (Alternative(kind="narrower", text="ask for a part", query="a part"),)
WHY: dict[str, Any] = {"asked": "what", "reason": "because", "alternatives": WAYS}


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


@pytest.mark.parametrize("field", ["asked", "reason", "alternatives"])
def test_a_failure_says_what_was_asked_why_it_failed_and_what_to_try(field: str) -> None:
    with pytest.raises(ValidationError):
        Failed(**{**WHY, field: type(WHY[field])()})


@pytest.mark.parametrize(
    "outcome",
    [
        Found(findings=REF),
        Partial(findings=REF, missing=("the rest",)),
        TimedOut(**WHY, seconds=3),
        NoResults(**WHY, queries=("q",)),
        RateLimited(**WHY),
        Refused(**WHY),
        Failed(**WHY, findings=REF),
    ],
)
def test_every_outcome_survives_json(outcome: SubagentOutcome) -> None:
    assert OUTCOME.validate_json(OUTCOME.dump_json(outcome)) == outcome


def test_a_retry_uses_the_first_way_that_was_not_tried() -> None:
    other = Alternative(kind="other_terms", text="their words", query="levy")
    remedy = Alternative(kind="operator", text="add documents")
    failed = Failed(asked="what", reason="because", alternatives=(*WAYS, other, remedy))
    assert choose_retry(failed, ()) == WAYS[0]
    assert choose_retry(failed, WAYS) == other
    assert untried(failed, WAYS) == (other, remedy)
    only = Failed(asked="what", reason="because", alternatives=(remedy,))
    assert choose_retry(only, ()) is None, "what a person has to do is no retry"


def test_what_was_answered_or_refused_is_not_asked_again() -> None:
    assert choose_retry(Found(findings=REF), ()) is None
    assert choose_retry(Partial(findings=REF, missing=("x",)), ()) is None
    assert choose_retry(Refused(**WHY), ()) is None
    assert choose_retry(RateLimited(**WHY), ()) is None, "it was waited for until the job's end"


def test_exhausted_sources_are_searched_once_more_and_then_left() -> None:
    nothing = NoResults(**WHY, queries=("q",), exhausted=True)
    assert choose_retry(nothing, ()) == WAYS[0]
    assert choose_retry(nothing, (Alternative(kind="later", text="wait"),)) is None


def test_nothing_is_asked_more_than_three_times() -> None:
    tried = tuple(Alternative(kind="later", text=f"{n}") for n in range(MAX_RETRIES))
    assert choose_retry(TimedOut(**WHY, seconds=1), tried) is None


def test_what_an_earlier_attempt_found_is_kept_when_every_other_way_was_tried() -> None:
    attempts, timed_out = Attempts(), TimedOut(**WHY, seconds=3, findings=REF)
    attempts.record(Researched(outcome=timed_out, spend=Spend()))
    attempts.retry(WAYS[0], timed_out)
    ended = attempts.conclude(TimedOut(**WHY, seconds=3))
    assert ended == Partial(findings=REF, missing=("because",))
