"""How the budget of a job is divided among its phases.

    research       the first research of all facets, follow-ups included
    verification   judging what the first research found
    writing        the first draft and its evaluation
    refinement     all of the passes: no other phase may spend it

A phase may use what the phases before it left, but never the share of a later one: reaching the
budget yields a cited report, not nothing, and the gaps that the evaluation finds can be researched.
Where the job has no refinement passes, research has their share.
"""

from __future__ import annotations

from collections.abc import Iterable

from workflows.contracts.spend import Allowance, Budget, Spend
from workflows.contracts.state import ResearchState
from workflows.rules.plan import job_limits

RESEARCH, VERIFICATION, WRITING, REFINEMENT = 0.6, 0.1, 0.15, 0.15
MINIMUM = 0.02
"""With less than this share of the budget left, no subagent is started."""


def research_allowance(state: ResearchState, promised: Iterable[Allowance] = ()) -> Allowance:
    """What research may still spend, less what is promised to running subagents."""
    if not state.passes:
        left = _below(state.request.budget, RESEARCH + _unused_share(state), state.spend)
    else:
        left = _refinement_left(state).less(_revision(state))
    for given in promised:
        left = left.less(Spend(usd=given.usd or 0.0, input_tokens=given.tokens or 0))
    return left


def verification_allowance(state: ResearchState) -> Allowance:
    if state.passes:
        return _refinement_left(state)
    share = RESEARCH + VERIFICATION + _unused_share(state)
    return _below(state.request.budget, share, state.spend)


def writing_allowance(state: ResearchState) -> Allowance:
    """What planning, writing and evaluating may spend."""
    kept = 0.0 if state.passes else REFINEMENT - _unused_share(state)
    return _below(state.request.budget, 1.0 - kept, state.spend)


def is_exhausted(state: ResearchState) -> bool:
    """True when what is left for research would not pay for another turn."""
    budget = state.request.budget
    least = Spend(
        usd=MINIMUM * (budget.usd or 0.0), input_tokens=int(MINIMUM * (budget.tokens or 0))
    )
    return research_allowance(state).less(least).is_nothing


def affordable_gaps(state: ResearchState, wanted: int) -> int:
    """How many gaps the next pass can research, at the price of a facet so far; one at least."""
    spent, left = state.spend_by_role.get("researcher", Spend()), research_allowance(state)
    fits = [wanted]
    if left.usd is not None and spent.usd > 0:
        fits.append(int(left.usd * len(state.outcomes) / spent.usd))
    if left.tokens is not None and spent.tokens > 0:
        fits.append(left.tokens * len(state.outcomes) // spent.tokens)
    return max(1, min(fits))


def _unused_share(state: ResearchState) -> float:
    """Refinement's share, where the job has no passes."""
    return 0.0 if job_limits(state).passes else REFINEMENT


def _refinement_left(state: ResearchState) -> Allowance:
    budget = state.request.budget
    own = _below(budget, REFINEMENT, state.spend - state.passes[0].spend)
    whole = _below(budget, 1.0, state.spend)
    return Allowance(
        usd=None if own.usd is None else min(own.usd, whole.usd or 0.0),
        tokens=None if own.tokens is None else min(own.tokens, whole.tokens or 0),
    )


def _revision(state: ResearchState) -> Spend:
    """What writing and evaluating cost in a pass so far: kept for the pass's own."""
    roles = [state.spend_by_role.get(role, Spend()) for role in ("writer", "evaluator")]
    passes = len(state.passes)
    return Spend(
        usd=sum(spend.usd for spend in roles) / passes,
        input_tokens=sum(spend.tokens for spend in roles) // passes,
    )


def _below(budget: Budget, share: float, spent: Spend) -> Allowance:
    """What may still be spent until this share of the budget is reached."""
    return Allowance(usd=budget.usd, tokens=budget.tokens).share(share).less(spent)
