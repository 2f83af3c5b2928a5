"""A job's state as people see it: at a glance, and in the Temporal UI."""

from __future__ import annotations

from workflows.contracts import FacetStatus, Phase, ResearchState, Status
from workflows.gaps import open_gaps
from workflows.outcomes import FindingsRef, SubagentOutcome


def standing(state: ResearchState) -> str:
    """How the job is, in a word a list can be filtered by."""
    if state.blocked:
        return "blocked"
    if state.paused:
        return "paused"
    return "awaiting_approval" if state.phase is Phase.APPROVING else "running"


def status(state: ResearchState, approve_by: str | None = None) -> Status:
    outcomes = list(state.outcomes.values())
    return Status(
        id=state.id,
        phase=state.phase,
        question=state.request.question,
        model=state.request.model,
        facets=tuple(_facets(state)),
        gaps_open=len(open_gaps(state.gaps)),
        gaps_closed=sum(gap.status == "closed" for gap in state.gaps),
        contradictions=state.ledger.contradictions if state.ledger else 0,
        claims=sum(o.findings.claims for o in outcomes if o.findings),
        passes=sum(p.n > 0 for p in state.passes),
        turns=state.spend.turns,
        usd=state.spend.usd,
        budget_usd=state.request.budget.usd,
        budget_tokens=state.request.budget.tokens,
        checkpoints=tuple(c.name for c in state.checkpoints),
        blocked=state.blocked,
        paused=state.paused,
        finishing=state.finishing,
        approve_by=approve_by,
        plan_changes=state.plan.changes if state.plan else (),
        notes=tuple(note.text for note in state.notes),
        parent=state.parent,
        stop_reason=state.stop_reason,
    )


def _facets(state: ResearchState) -> list[FacetStatus]:
    facets = state.plan.facets if state.plan else ()
    return [
        FacetStatus(
            id=facet.id,
            title=facet.title,
            status=_word(state, facet.id, state.outcomes.get(facet.id)),
            claims=found.claims if (found := _findings(state, facet.id)) else 0,
            sources=found.sources if found else 0,
            turns=spend.turns if (spend := state.spend_by_facet.get(facet.id)) else 0,
        )
        for facet in facets
    ]


def _word(state: ResearchState, facet_id: str, outcome: SubagentOutcome | None) -> str:
    if facet_id in state.running:
        return "running"
    return outcome.status if outcome else "waiting"


def _findings(state: ResearchState, facet_id: str) -> FindingsRef | None:
    outcome = state.outcomes.get(facet_id)
    return outcome.findings if outcome else None


def details(state: ResearchState) -> str:
    """Markdown for the Temporal UI: where the job stands, its plan, gaps and spend."""
    lines = [f"**{state.phase}** · {state.spend.turns} turns · ${state.spend.usd:.2f}"]
    if state.blocked:
        lines.append(f"**blocked** at {state.blocked.step}: {state.blocked.remedy}")
    if state.paused:
        lines.append("**paused**: resume it to go on")
    if state.phase is Phase.APPROVING:
        lines.append("**the plan waits for approval**")
    lines += [f"- {f.id}: {f.status}, {f.claims} claims" for f in _facets(state)]
    lines += [f"- gap {gap.id}: {gap.status}" for gap in state.gaps]
    return "\n".join(lines)
