"""What the coordinator does with the outcome of a subagent: retry, follow up, or accept.

Whether an answer is enough is said by the judge (`FindingsJudgement`), which reads the claims when
the subagent returns, and not by the subagent. A critical hole becomes a precise follow-up to the
same subagent, two at most, out of research's share of the budget; smaller ones are left to the
evaluation, which has money of its own. A subagent that says its sources are exhausted is not asked
again.
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
    RateLimited,
    Refused,
    SubagentOutcome,
)
from workflows.contracts.state import Acceptance, FindingsJudgement, FollowUp

MAX_FOLLOW_UPS = 2
MAX_RETRIES = 2
_LISTED = 4


def judge(
    outcome: SubagentOutcome,
    judged: FindingsJudgement | None,
    follow_ups: tuple[FollowUp, ...] = (),
    transcript: str = "",
) -> Acceptance:
    """`judged` is the judge's view; without one the subagent's own word is taken."""
    found = outcome.findings
    if found and judged is None:
        judged = FindingsJudgement(answers=True, critical=found.critical, proceed=True)
    return Acceptance(
        judged=judged if found else None, follow_ups=follow_ups, transcript=transcript
    )


def choose_follow_up(
    ask: str, outcome: SubagentOutcome, acceptance: Acceptance, effort: Effort = Effort.STANDARD
) -> str | None:
    """The next question to the same subagent; None where its answer is accepted."""
    found = outcome.findings
    judged = acceptance.judged
    if found is None or judged is None or acceptance.accepted:
        return None
    if found.exhausted or effort is Effort.QUICK:
        return None
    asked = [follow_up.question for follow_up in acceptance.follow_ups]
    if len(asked) >= MAX_FOLLOW_UPS:
        return None
    question = _compose(ask, found, judged)
    # The same question would bring the same answer.
    return None if question in asked else question


def _compose(ask: str, found: FindingsRef, judged: FindingsJudgement) -> str:
    """What was useful, exactly what is missing, and related information."""
    parts = [f"Useful and kept: {found.claims} claims from {found.sources} sources."]
    why = f" ({judged.reason})" if judged.reason else ""
    if judged.critical:
        parts.append("Find exactly this: " + "; ".join(judged.critical[:_LISTED]) + ".")
    if not judged.answers:
        parts.append(f"Your claims do not answer what was asked{why}: {ask}")
    elif not judged.proceed:
        parts.append(f"Your claims are not enough to proceed on{why}, find better sources: {ask}")
    related = [*judged.leads[:_LISTED], *([found.next_step] if found.next_step else [])]
    if related:
        parts.append("Say also what you find on related points: " + "; ".join(related))
    return " ".join(parts)[:1500]


def with_holes(outcome: SubagentOutcome, judged: FindingsJudgement | None) -> SubagentOutcome:
    """The outcome with the critical holes that no follow-up filled: found is then partial."""
    if not judged or not judged.critical or not isinstance(outcome, Found | Partial):
        return outcome
    return Partial(
        findings=outcome.findings,
        missing=tuple(dict.fromkeys((*outcome.missing, *judged.critical))),
        searched=outcome.searched,
        problems=outcome.problems,
    )


def choose_retry(outcome: SubagentOutcome, tried: Sequence[Alternative]) -> Alternative | None:
    """What the next attempt tries; None where the outcome is accepted.

    A refusal is not retried, a partial answer is accepted, and sources that are exhausted are
    searched once more only. A rate limit has been waited for already.
    """
    match outcome:
        case Found() | Partial() | Refused() | RateLimited():
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
    """The alternatives of a failure that no attempt has used."""
    used = {(alternative.kind, alternative.query) for alternative in tried}
    return tuple(
        alternative
        for alternative in outcome.alternatives
        if (alternative.kind, alternative.query) not in used
    )
