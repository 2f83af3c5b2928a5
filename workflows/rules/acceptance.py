"""Four questions the coordinator asks before it takes a subagent's answer.

Does it answer the objective? Are there obvious holes? Was something adjacent left unexplored? Would
one proceed on this alone? What fails becomes a precise follow-up to the same subagent, two at most;
one that says its sources are exhausted is not asked again.
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
SURE = 0.5
"""Confidence of the surest claim below which one would not proceed."""
_NAMED = 4


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
        # A next step is always suggested; it is a hole only where the answer itself has one.
        explored=complete or not found.next_step,
        proceed=found.confidence >= SURE,
        follow_ups=follow_ups,
    )


def choose_follow_up(ask: str, outcome: SubagentOutcome, acceptance: Acceptance) -> str | None:
    """What the subagent that was asked `ask` is asked next; None where its answer is taken."""
    found = outcome.findings
    if found is None or acceptance.accepted or found.exhausted:
        return None
    if len(acceptance.follow_ups) >= MAX_FOLLOW_UPS:
        return None
    asks: list[str] = []
    if not acceptance.complete:
        asks.append("Find what you named as missing: " + "; ".join(found.missing[:_NAMED]) + ".")
    if not acceptance.explored:
        asks.append(f"You suggested this next, do it: {found.next_step}")
    if not acceptance.proceed:
        asks.append(f"Your surest claim is too weak to go on, find a stronger source for: {ask}")
    question = " ".join(asks)[:1500]
    # The same words a second time would bring the same answer.
    return None if question in acceptance.follow_ups else question


MAX_RETRIES = 2


def choose_retry(outcome: SubagentOutcome, retries: int) -> Retry | None:
    """How the coordinator asks once more, or None where it takes what there is.

    A timeout or a failure is met with a smaller question, an empty search with a wider one, a rate
    limit with the same one later. What was refused is not asked again, and a part is taken.
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
