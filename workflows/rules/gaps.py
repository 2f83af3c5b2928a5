"""Gaps, and when a job may stop.

A gap is specific enough for a follow-up. It ends closed (the judge says that the new claims answer
its question), partly (they answer a part of it), absent (searched, and nothing new answers it) or
failed (it could not be searched); until then it is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workflows.contracts.activity_io import GapRuling
from workflows.contracts.facets import Facet, Plan
from workflows.contracts.outcomes import Found, NoResults, Partial, Refused, SubagentOutcome
from workflows.contracts.state import (
    LATE,
    Gap,
    GapStatus,
    LedgerRef,
    Pass,
    RubricVerdict,
    StopReason,
)

MOST_PURSUED = 8
"""Gaps that one pass follows up; those beyond wait for the next, or are named as not pursued."""

PARTIAL = "partial-"
"""The ids of gaps that a partial answer opened begin with this."""


def open_gaps(gaps: Iterable[Gap]) -> list[Gap]:
    return [gap for gap in gaps if gap.status == "open"]


def commissionable_gaps(gaps: Iterable[Gap]) -> list[Gap]:
    """Open gaps that the next pass follows up, an operator's first. Facets beyond the cap are
    named, not researched."""
    wanted = [gap for gap in open_gaps(gaps) if gap.kind not in ("left_out", LATE)]
    return sorted(wanted, key=lambda gap: gap.kind != "asked")[:MOST_PURSUED]


def next_gaps(gaps: Iterable[Gap], most: int) -> list[Gap]:
    """The gaps of the next pass: what an operator asked for, what the evaluation found, the rest.

    What a facet said to be missing waits where the evaluation asks about the same facet.
    """
    wanted = commissionable_gaps(gaps)
    judged = {gap.facet_id for gap in wanted if not gap.id.startswith(PARTIAL)}
    wanted = [g for g in wanted if not (g.id.startswith(PARTIAL) and g.facet_id in judged)]
    order = sorted(wanted, key=lambda gap: (gap.kind != "asked", gap.id.startswith(PARTIAL)))
    return order[:most]


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
    """The gaps that need no judge: facets without a whole answer, and those left out."""
    gaps = [gap for f in plan.facets if (gap := _from_outcome(f, outcomes.get(f.id)))]
    for facet in plan.left_out:
        why = facet.left_out_because or "too many facets"
        gaps.append(_gap(facet, "left-out-", "left_out", f"“{facet.title}” was left out: {why}."))
    return tuple(gaps)


def from_lost_claims(plan: Plan, ledger: LedgerRef | None) -> tuple[Gap, ...]:
    """Facets that lost most of their claims, because the quotes did not support them."""
    lost = ledger.lost if ledger else {}
    kept = ledger.by_facet if ledger else {}
    return tuple(
        _gap(
            facet,
            "lost-",
            "thin",
            f"“{facet.title}” rests on little: the sources do not support {lost[facet.id]} of the"
            " claims found for it.",
        )
        for facet in plan.facets
        if lost.get(facet.id, 0) > kept.get(facet.id, 0)
    )


def widen(plan: Plan, gaps: Iterable[Gap], most_facets: int) -> tuple[Plan, tuple[Gap, ...]]:
    """The plan with a facet for each gap outside all facets, and the gaps with their facets.

    Beyond the limit the facet is left out, and its gap says so.
    """
    placed: list[Gap] = []
    for gap in gaps:
        if not gap.facet_id:
            facet = _new_facet(gap)
            if len(plan.facets) < most_facets:
                why = f"widened by “{facet.title}” after the draft: {gap.text}"
                plan = plan.model_copy(
                    update={"facets": (*plan.facets, facet), "changes": (*plan.changes, why)}
                )
                gap = gap.model_copy(update={"facet_id": facet.id})
            else:
                plan = plan.model_copy(update={"left_out": (*plan.left_out, facet)})
                reason = "not pursued: the effort allows no more facets"
                gap = gap.model_copy(
                    update={"facet_id": facet.id, "kind": "left_out", "reason": reason}
                )
        placed.append(gap)
    return plan, tuple(placed)


def _new_facet(gap: Gap) -> Facet:
    return Facet(
        id=f"added-{gap.id}"[:64],
        title=gap.title or gap.text[:160],
        question=gap.question,
        boundary="what the other facets ask",
        prefer="primary and recent sources",
        reason=gap.text,
    )


_NOT_PURSUED = {
    StopReason.CAP: "the limit of passes was reached",
    StopReason.BUDGET: "the budget was reached",
    StopReason.NO_PROGRESS: "the last pass closed nothing",
    StopReason.FINISHED: "the job was told to finish",
}


def explain_open(gaps: Iterable[Gap], stopped: StopReason) -> tuple[Gap, ...]:
    """The gaps at the end of a job; those that stay open say why nobody pursued them."""
    why = f"not pursued: {_NOT_PURSUED.get(stopped, 'research had ended')}"
    return tuple(
        gap.model_copy(update={"reason": why}) if gap.status == "open" and not gap.reason else gap
        for gap in gaps
    )


def from_late_facets(facets: Iterable[Facet]) -> tuple[Gap, ...]:
    """The gaps of facets that have not returned yet."""
    return tuple(
        _gap(
            facet,
            "late-",
            LATE,
            f"“{facet.title}” was still being researched when this was written.",
        )
        for facet in facets
    )


def update(gaps: Iterable[Gap], changed: Iterable[Gap]) -> tuple[Gap, ...]:
    """The gaps, each in its changed form where there is one."""
    after = {gap.id: gap for gap in changed}
    return tuple(after.get(gap.id, gap) for gap in gaps)


def after_late_facet(gap: Gap, outcome: SubagentOutcome, ledger: LedgerRef | None, n: int) -> Gap:
    """The gap of a facet that has returned at last."""
    if ledger and ledger.claims:
        return gap.model_copy(update={"status": "closed", "closed_in": n, "answered_in": n})
    return after_follow_up(gap, outcome, None, n)


def after_follow_up(gap: Gap, outcome: SubagentOutcome, ruling: GapRuling | None, n: int) -> Gap:
    """The gap after its follow-up. There is no ruling where nothing new was found."""
    if ruling:
        changes: dict[str, object] = {"status": ruling.status, "reason": ruling.reason}
        if ruling.status in ("closed", "partly"):
            changes |= {"answered_in": n}
        if ruling.status == "closed":
            changes |= {"closed_in": n}
        return gap.model_copy(update=changes)
    match outcome:
        case NoResults():
            ended: GapStatus = "partly" if gap.kind == "thin" else "absent"
            return gap.model_copy(update={"status": ended, "reason": outcome.reason})
        case Found() | Partial():
            # All that was found was known, or its quotes did not support it.
            return gap.model_copy(update={"status": "absent", "reason": "nothing new was found"})
        case failure:
            return gap.model_copy(update={"status": "failed", "reason": failure.reason})


def _from_outcome(facet: Facet, outcome: SubagentOutcome | None) -> Gap | None:
    match outcome:
        case None | Found():
            return None
        case NoResults(reason=reason):
            text = f"“{facet.title}” was searched for and is absent from the sources."
            return _gap(facet, "absent-", "missing", text, status="absent", reason=reason)
        case Partial(findings=found, missing=missing):
            return _partial_gap(facet, found.exhausted, "; ".join(missing))
        case failure if failure.findings:
            return _partial_gap(facet, False, failure.reason)
        case failure:
            text = f"“{facet.title}” could not be researched: {failure.reason}"
            status = "failed" if isinstance(failure, Refused) else "open"
            return _gap(facet, "failed-", "failed", text, status=status, reason=failure.reason)


def _partial_gap(facet: Facet, exhausted: bool, reason: str) -> Gap:
    """What a facet that was answered in part still lacks."""
    return _gap(
        facet,
        PARTIAL,
        "thin",
        f"“{facet.title}” is answered in part: {reason}",
        question=f"{facet.question} Still open: {reason}"[:600],
        status="partly" if exhausted else "open",
        reason=reason[:600],
    )


def _gap(facet: Facet, prefix: str, kind: str, text: str, **more: Any) -> Gap:
    """A gap of a facet, by default in the facet's own question."""
    own = {"id": prefix + facet.id, "kind": kind, "facet_id": facet.id, "text": text[:600]}
    return Gap(**{**own, "question": facet.question[:600], **more})


def _key(gap: Gap) -> tuple[str, str]:
    return gap.facet_id, " ".join(gap.question.lower().split())
