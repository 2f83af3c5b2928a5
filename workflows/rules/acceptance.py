"""What the coordinator does with the outcome of a subagent: retry, follow up, or accept.

Before it accepts an answer it asks four questions: does it answer the objective, are there obvious
holes, was something adjacent left unexplored, could one proceed on this alone? What fails becomes a
precise follow-up to the same subagent, two at most. A subagent that says its sources are exhausted
is not asked again.
"""

from __future__ import annotations

from workflows.contracts.outcomes import (
    Failed,
    NoResults,
    RateLimited,
    Retry,
    SubagentOutcome,
    TimedOut,
)
from workflows.contracts.state import Acceptance

MAX_FOLLOW_UPS = 2
MINIMUM_CONFIDENCE = 0.5
"""Of the surest claim; below it one could not proceed."""
_LISTED = 4


def judge(outcome: SubagentOutcome, follow_ups: tuple[str, ...] = ()) -> Acceptance:
    found = outcome.findings
    if found is None:
        return Acceptance(
            answers=False, complete=False, explored=False, proceed=False, follow_ups=follow_ups
        )
    complete = not found.missing
    return Acceptance(
        answers=True,
        complete=complete,
        # A next step is always suggested; it counts only where the answer has a hole.
        explored=complete or not found.next_step,
        proceed=found.confidence >= MINIMUM_CONFIDENCE,
        follow_ups=follow_ups,
    )


def choose_follow_up(ask: str, outcome: SubagentOutcome, acceptance: Acceptance) -> str | None:
    """The next question to the same subagent; None where its answer is accepted."""
    found = outcome.findings
    if found is None or acceptance.accepted or found.exhausted:
        return None
    if len(acceptance.follow_ups) >= MAX_FOLLOW_UPS:
        return None
    asks: list[str] = []
    if not acceptance.complete:
        asks.append("Find what you named as missing: " + "; ".join(found.missing[:_LISTED]) + ".")
    if not acceptance.explored:
        asks.append(f"You suggested this next, do it: {found.next_step}")
    if not acceptance.proceed:
        asks.append(f"Your surest claim is too weak to go on, find a stronger source for: {ask}")
    question = " ".join(asks)[:1500]
    # The same question would bring the same answer.
    return None if question in acceptance.follow_ups else question


MAX_RETRIES = 2


def choose_retry(outcome: SubagentOutcome, retries: int) -> Retry | None:
    """The approach of the next attempt; None where the outcome is accepted.

    A timeout or a failure leads to a narrower question, an empty search to a broader one, a rate
    limit to the same one later. A refusal is not retried, and a partial answer is accepted.
    """
    if retries >= MAX_RETRIES:
        return None
    match outcome:
        case TimedOut() | Failed():
            return "narrower"
        case NoResults(exhausted=True) if retries > 0:
            return None
        case NoResults():
            return "broader"
        case RateLimited():
            return "again"
        case _:
            return None
