"""Operators' changes to the state of a job, for the coordinator and its refinement passes.

`check_change` says why a change cannot be made; `apply` makes it. Both are idempotent: a change
that was made already is not refused and changes nothing.
"""

from __future__ import annotations

from workflows.contracts.facets import Facet, Plan
from workflows.contracts.messages import (
    AddFacet,
    AddNote,
    Approve,
    Change,
    DropFacet,
    RefineFacet,
    SetBudget,
    TaskNote,
)
from workflows.contracts.state import Gap, Phase, ResearchState
from workflows.rules.plan import faults, repair

MAX_FACETS = 60
_NO_PLAN = "there is no plan yet: wait until the job is planned"


def check_change(state: ResearchState, change: Change) -> str | None:
    """Why the change cannot be made now; None where it can be, or was."""
    if state.phase is Phase.FINISHED:
        return "the report is being put together: fork the job to go on from a checkpoint"
    match change:
        case AddFacet(facet=facet):
            return _cannot_add(state, facet)
        case DropFacet(facet_id=facet_id):
            return _cannot_drop(state, facet_id)
        case RefineFacet(facet_id=facet_id):
            if state.plan is None:
                return _NO_PLAN
            return None if facet_id in state.facets else _unknown(state, facet_id)
        case SetBudget(budget=budget):
            spent = state.spend
            if (budget.usd is not None and budget.usd < spent.usd) or (
                budget.tokens is not None and budget.tokens < spent.tokens
            ):
                return (
                    f"${spent.usd:.2f} and {spent.tokens:,} tokens are spent already: set more,"
                    " or finish the job"
                )
    return None


def apply(state: ResearchState, change: Change) -> None:
    match change:
        case AddFacet(facet=facet):
            _add(state, facet)
        case DropFacet(facet_id=facet_id):
            _drop(state, facet_id)
        case RefineFacet(facet_id=facet_id, question=question):
            _refine(state, facet_id, question)
        case AddNote(text=text):
            _note(state, TaskNote(text=text))
        case SetBudget(budget=budget):
            state.request = state.request.model_copy(update={"budget": budget})


def check_approval(state: ResearchState, answer: Approve) -> str | None:
    """Why this answer to the plan is refused; None where it is not."""
    if state.approved:
        # A repeated approval is not an error.
        return None if answer.decision == "approve" else "the plan is approved already"
    if state.phase is not Phase.APPROVING:
        return "no plan waits for approval"
    if answer.plan is not None:
        if answer.decision == "reject":
            return "a plan that is rejected is not edited: leave one of the two out"
        if len(answer.plan.facets) > MAX_FACETS:
            return f"a plan has at most {MAX_FACETS} facets"
        if wrong := faults(answer.plan):
            return "the edited plan breaks the rules: " + "; ".join(wrong)
    return None


def apply_approval(plan: Plan, answer: Approve) -> Plan:
    if answer.plan is None:
        return plan
    changes = (*plan.changes, "edited by the person who approved it")
    return repair(answer.plan.model_copy(update={"changes": changes}))


def _cannot_add(state: ResearchState, facet: Facet) -> str | None:
    if state.plan is None:
        return _NO_PLAN
    known = state.facets.get(facet.id)
    if known == facet:
        return None
    if known is not None:
        return f"there is a facet {facet.id!r} already: give the new one another id"
    if state.finishing:
        return "the job is finishing: fork it to research more"
    if len(state.plan.facets) >= MAX_FACETS:
        return f"a plan has at most {MAX_FACETS} facets"
    unknown = [d for d in facet.depends_on if d not in state.facets]
    return f"it depends on {unknown[0]!r}, which is not in the plan" if unknown else None


def _add(state: ResearchState, facet: Facet) -> None:
    if state.plan is None or facet.id in state.facets:
        return
    state.plan = _with_facets(
        state.plan, (*state.plan.facets, facet), f"added “{facet.title}”: an operator asked for it"
    )
    if state.researched:
        add_gap(state, facet, facet.question)


def _cannot_drop(state: ResearchState, facet_id: str) -> str | None:
    if facet_id in state.dropped:
        return None
    if state.plan is None:
        return _NO_PLAN
    if facet_id not in state.facets:
        return _unknown(state, facet_id)
    if facet_id in state.outcomes or state.researched:
        return f"{facet_id!r} is researched already; what it found stays"
    if len(state.plan.facets) == 1:
        return "it is the only facet left: cancel the job instead"
    return None


def _drop(state: ResearchState, facet_id: str) -> None:
    facet = state.facets.get(facet_id)
    if state.plan is None or facet is None or len(state.plan.facets) == 1:
        return
    kept = tuple(
        f.model_copy(update={"depends_on": tuple(d for d in f.depends_on if d != facet_id)})
        for f in state.plan.facets
        if f.id != facet_id
    )
    state.plan = _with_facets(state.plan, kept, f"dropped “{facet.title}”: an operator took it out")
    state.dropped += (facet_id,)


def _refine(state: ResearchState, facet_id: str, question: str) -> None:
    facet = state.facets.get(facet_id)
    if state.plan is None or facet is None:
        return
    if state.researched or facet_id in state.outcomes:
        add_gap(state, facet, question)
    elif facet.question != question:
        refined = facet.model_copy(update={"question": question})
        facets = tuple(refined if f.id == facet_id else f for f in state.plan.facets)
        state.plan = _with_facets(state.plan, facets, f"asked “{facet.title}” anew: {question}")
        if facet_id in state.running:
            _note(state, TaskNote(text=f"Your question is now: {question}", task=facet_id))


def add_gap(state: ResearchState, facet: Facet, question: str) -> None:
    """A question that comes after the research becomes a gap for the next pass."""
    question = question[:600]
    if any(gap.facet_id == facet.id and gap.question == question for gap in state.gaps):
        return
    number = sum(gap.kind == "asked" for gap in state.gaps) + 1
    gap = Gap(
        id=f"asked-{number}",
        kind="asked",
        facet_id=facet.id,
        text=f"An operator asked about “{facet.title}”: {question}"[:600],
        question=question,
        opened_in=len(state.passes),
    )
    state.gaps += (gap,)


def _note(state: ResearchState, note: TaskNote) -> None:
    if note not in state.notes:
        state.notes += (note,)


def _with_facets(plan: Plan, facets: tuple[Facet, ...], why: str) -> Plan:
    return plan.model_copy(update={"facets": facets, "changes": (*plan.changes, why)})


def _unknown(state: ResearchState, facet_id: str) -> str:
    return f"there is no facet {facet_id!r}; the plan has {', '.join(state.facets)}"
