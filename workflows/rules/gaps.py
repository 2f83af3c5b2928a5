"""Gaps, and when a job may stop.

A gap is specific enough for a follow-up. It ends closed (something was found), partly (the sources
hold related passages only), absent (searched, and the sources hold nothing) or failed (it could not
be searched); until then it is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from workflows.contracts.facets import Facet, Plan
from workflows.contracts.outcomes import (
    Failed,
    NoResults,
    RateLimited,
    Refused,
    SubagentOutcome,
    TimedOut,
)
from workflows.contracts.state import LATE, Gap, GapStatus, Pass, RubricVerdict, StopReason


def open_gaps(gaps: Iterable[Gap]) -> list[Gap]:
    return [gap for gap in gaps if gap.status == "open"]


def commissionable_gaps(gaps: Iterable[Gap]) -> list[Gap]:
    """Open gaps that a follow-up could close. Facets beyond the cap are named, not researched."""
    return [gap for gap in open_gaps(gaps) if gap.kind not in ("left_out", LATE)]


def late_gaps(gaps: Iterable[Gap]) -> list[Gap]:
    """The gaps of facets whose research goes on while the report is written."""
    return [gap for gap in open_gaps(gaps) if gap.kind == LATE]


def stop(
    gaps: Iterable[Gap],
    passes: tuple[Pass, ...],
    max_passes: int,
    exhausted: bool,
    finishing: bool = False,
) -> StopReason | None:
    """Why refinement ends here, or None where another pass is worth its price."""
    gaps = tuple(gaps)
    if _has_unwritten_late_facet(gaps, len(passes)):
        # Found and paid for, but not in the report yet: it needs a pass in any case.
        return None
    if finishing:
        return StopReason.FINISHED
    wanted = commissionable_gaps(gaps)
    if not wanted:
        return StopReason.SUFFICIENT
    if exhausted:
        return StopReason.BUDGET
    if any(gap.kind == "asked" for gap in wanted):
        # An operator asked for it: that is worth a pass, whatever the last one closed.
        return None
    refinements = [p for p in passes if p.n > 0]
    if refinements and refinements[-1].gaps_closed == 0:
        return StopReason.NO_PROGRESS
    return StopReason.CAP if len(refinements) >= max_passes else None


def _has_unwritten_late_facet(gaps: Iterable[Gap], n: int) -> bool:
    return any(gap.kind == LATE and gap.closed_in == n for gap in gaps)


def merge(known: Iterable[Gap], found: Iterable[Gap]) -> tuple[Gap, ...]:
    """The known gaps, then the new ones; a gap with the question of a known one is not new."""
    gaps = {_key(gap): gap for gap in known}
    for gap in found:
        gaps.setdefault(_key(gap), gap)
    return tuple(gaps.values())


def rubric_gap_id(number: int) -> str:
    """The id of the gap that the asker's n-th point leaves, counted from 1."""
    return f"rubric-{number}"


def close_met_points(
    gaps: Iterable[Gap], rubric: Iterable[RubricVerdict], n: int
) -> tuple[Gap, ...]:
    """The gaps without those of points that the draft of pass `n` meets."""
    met = {rubric_gap_id(i) for i, point in enumerate(rubric, 1) if point.status == "met"}
    return tuple(
        gap.model_copy(update={"status": "closed", "closed_in": n})
        if gap.id in met and gap.status != "closed"
        else gap
        for gap in gaps
    )


def from_research(plan: Plan, outcomes: Mapping[str, SubagentOutcome]) -> tuple[Gap, ...]:
    """The gaps that need no judge: facets that found nothing, failed, or were left out."""
    gaps = [gap for f in plan.facets if (gap := _from_outcome(f, outcomes.get(f.id)))]
    gaps += [
        Gap(
            id=f"left-out-{facet.id}",
            kind="left_out",
            facet_id=facet.id,
            text=f"“{facet.title}” was left out: the effort allows no more facets.",
            question=facet.question[:600],
        )
        for facet in plan.left_out
    ]
    return tuple(gaps)


def from_late_facets(facets: Iterable[Facet]) -> tuple[Gap, ...]:
    """The gaps of facets that have not returned yet."""
    return tuple(
        Gap(
            id=f"{LATE}-{facet.id}",
            kind=LATE,
            facet_id=facet.id,
            text=f"“{facet.title}” was still being researched when this was written.",
            question=facet.question[:600],
        )
        for facet in facets
    )


def after_follow_up(gap: Gap, outcome: SubagentOutcome, claims: int, n: int) -> Gap:
    """The gap after its follow-up, which brought `claims` new claims."""
    if claims > 0:
        return gap.model_copy(update={"status": "closed", "closed_in": n})
    match outcome:
        case NoResults() as nothing:
            ended: GapStatus = "partly" if gap.kind == "thin" else "absent"
            return gap.model_copy(update={"status": ended, "reason": nothing.reason})
        case TimedOut() | RateLimited() | Refused() | Failed() as failure:
            return gap.model_copy(update={"status": "failed", "reason": failure.reason})
        case _:
            # All that was found was known: the sources hold no more on it.
            return gap.model_copy(update={"status": "absent", "reason": "nothing new was found"})


def _from_outcome(facet: Facet, outcome: SubagentOutcome | None) -> Gap | None:
    match outcome:
        case NoResults():
            return Gap(
                id=f"absent-{facet.id}",
                kind="missing",
                facet_id=facet.id,
                text=f"“{facet.title}” was searched for and is absent from the sources.",
                question=facet.question[:600],
                status="absent",
                reason=outcome.reason,
            )
        case (TimedOut() | RateLimited() | Refused() | Failed()) as failure if (
            failure.findings is None
        ):
            return Gap(
                id=f"failed-{facet.id}",
                kind="failed",
                facet_id=facet.id,
                text=f"“{facet.title}” could not be researched: {failure.reason}"[:600],
                question=facet.question[:600],
                status="failed" if isinstance(failure, Refused) else "open",
                reason=failure.reason,
            )
        case _:
            return None


def _key(gap: Gap) -> tuple[str, str]:
    return gap.facet_id, " ".join(gap.question.lower().split())
