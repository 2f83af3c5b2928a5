"""What the coordinator does with the outcome of a subagent: retry, follow up, or accept.

Before it accepts an answer it asks four questions, and answers them from the claims rather than
from what the subagent says of them:

    answers    do the claims speak of what was asked?
    complete   is nothing missing that the question cannot be answered without?
    explored   do no names in the claims lead beyond the ask?
    proceed    are the claims that bear on the ask well supported, not only the surest?

A critical hole becomes a precise follow-up to the same subagent, two at most; smaller ones are left
to the evaluation, which has money of its own. A subagent that says its sources are exhausted is not
asked again.
"""

from __future__ import annotations

from collections.abc import Sequence

from workflows.contracts.facets import Effort
from workflows.contracts.outcomes import (
    Alternative,
    FindingsRef,
    Found,
    NoResults,
    Partial,
    Refused,
    SubagentOutcome,
)
from workflows.contracts.state import Acceptance, FollowUp

MAX_FOLLOW_UPS = 2
MAX_RETRIES = 2
MINIMUM_COVERAGE = 0.2
"""Of the ask's terms in the claims; below it they speak of something else."""
MINIMUM_SUPPORT = 0.4
"""The median confidence below which one could not proceed."""
_LISTED = 4


def judge(
    outcome: SubagentOutcome, follow_ups: tuple[FollowUp, ...] = (), transcript: str = ""
) -> Acceptance:
    found = outcome.findings
    return Acceptance(
        answers=found is not None and found.coverage >= MINIMUM_COVERAGE,
        complete=found is not None and not found.critical,
        explored=found is not None and not found.leads,
        proceed=found is not None and found.support >= MINIMUM_SUPPORT,
        follow_ups=follow_ups,
        transcript=transcript,
    )


def choose_follow_up(
    ask: str, outcome: SubagentOutcome, acceptance: Acceptance, effort: Effort = Effort.STANDARD
) -> str | None:
    """The next question to the same subagent; None where its answer is accepted."""
    found = outcome.findings
    if found is None or acceptance.accepted or found.exhausted or effort is Effort.QUICK:
        return None
    asked = [follow_up.question for follow_up in acceptance.follow_ups]
    if len(asked) >= MAX_FOLLOW_UPS:
        return None
    question = _compose(ask, found, acceptance)
    # The same question would bring the same answer.
    return None if question in asked else question


def _compose(ask: str, found: FindingsRef, acceptance: Acceptance) -> str:
    """What was useful, exactly what is missing, and related information."""
    parts = [f"Useful and kept: {found.claims} claims from {found.sources} sources."]
    if not acceptance.complete:
        parts.append("Find exactly this: " + "; ".join(found.critical[:_LISTED]) + ".")
    if not acceptance.answers:
        parts.append(f"Your claims do not speak of {', '.join(found.uncovered[:_LISTED])}: {ask}")
    if not acceptance.proceed:
        parts.append(f"Most of your claims are weakly supported, find better sources for: {ask}")
    related = [*found.leads[:_LISTED], *([found.next_step] if found.next_step else [])]
    if related:
        parts.append("Say also what you find on related points: " + "; ".join(related))
    return " ".join(parts)[:1500]


def choose_retry(outcome: SubagentOutcome, tried: Sequence[Alternative]) -> Alternative | None:
    """What the next attempt tries; None where the outcome is accepted.

    A refusal is not retried, a partial answer is accepted, and sources that are exhausted are
    searched once more only.
    """
    match outcome:
        case Found() | Partial() | Refused():
            return None
        case NoResults(exhausted=True) if tried:
            return None
    if len(tried) >= MAX_RETRIES:
        return None
    return next((a for a in untried(outcome, tried) if a.kind != "operator"), None)


def is_partial(outcome: SubagentOutcome) -> bool:
    """Whether something was found, and not all that was asked."""
    return outcome.status != "found" and outcome.findings is not None


def untried(outcome: SubagentOutcome, tried: Sequence[Alternative]) -> tuple[Alternative, ...]:
    """The alternatives of a failure that no attempt has used; waiting can be done again."""
    used = {(alternative.kind, alternative.query) for alternative in tried}
    return tuple(
        alternative
        for alternative in getattr(outcome, "alternatives", ())
        if alternative.kind == "later" or (alternative.kind, alternative.query) not in used
    )
