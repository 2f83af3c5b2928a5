"""Facets, how many a question deserves, and the rules a plan must keep.

The model proposes a plan; these functions decide. `fit` cuts it to the question's size, `faults`
lists what is wrong in words that can be sent back, `repair` corrects it without a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from workflows.contracts.facets import Effort, Facet, LeftOut, Limits, Plan, QuestionKind
from workflows.contracts.state import ResearchState

LIMITS: dict[Effort, Limits] = {
    Effort.QUICK: Limits(facets=4, passes=0, cycles=2, claims=12),
    Effort.STANDARD: Limits(facets=10, passes=2, cycles=3, claims=24),
    Effort.DEEP: Limits(facets=24, passes=4, cycles=3, claims=32),
}


BROAD = 3
"""A fact with so many facets of different words is a broad question."""
SAME_FACT = 0.6
"""The share of their words that two wordings of one fact have in common."""


def limits_for(
    effort: Effort,
    kind: QuestionKind,
    max_facets: int | None = None,
    max_passes: int | None = None,
    max_claims: int | None = None,
) -> Limits:
    """A narrow fact gets one researcher and no refinement, unless the request says otherwise."""
    narrow = {"facets": 1, "passes": 0} if kind is QuestionKind.FACT else {}
    asked = {"facets": max_facets, "passes": max_passes, "claims": max_claims}
    given = {name: most for name, most in asked.items() if most is not None}
    return LIMITS[effort].model_copy(update=narrow | given)


def job_limits(state: ResearchState) -> Limits:
    """The limits of a job: its effort's, with what the request sets itself."""
    request = state.request
    kind = state.plan.kind if state.plan else QuestionKind.OVERVIEW
    return limits_for(
        request.effort, kind, request.max_facets, request.max_passes, request.max_claims
    )


def fit(plan: Plan, effort: Effort, max_facets: int | None = None) -> Plan:
    """The plan cut to the limit; what is cut is listed in `left_out`, with the reason.

    A fact whose facets ask about different things is no fact: it becomes an overview.
    """
    plan = _widen(plan)
    cap = limits_for(effort, plan.kind, max_facets).facets
    kept, cut = plan.facets[:cap], plan.facets[cap:]
    reason = (
        f"--max-facets {max_facets} allows no more facets"
        if max_facets is not None
        else "a narrow question gets one researcher"
        if plan.kind is QuestionKind.FACT
        else f"{effort} effort allows {cap} facets"
    )
    ids = {facet.id for facet in kept}
    kept = tuple(
        facet.model_copy(update={"depends_on": tuple(d for d in facet.depends_on if d in ids)})
        for facet in kept
    )
    left_out = (LeftOut(**facet.model_dump(), left_out_because=reason) for facet in cut)
    return plan.model_copy(update={"facets": kept, "left_out": (*plan.left_out, *left_out)})


def _widen(plan: Plan) -> Plan:
    """A question judged to be a narrow fact, with facets that share too little to be one."""
    if plan.kind is not QuestionKind.FACT or len(plan.facets) < BROAD:
        return plan
    first, *others = (_words(facet) for facet in plan.facets)
    if all(len(first & words) >= SAME_FACT * min(len(first), len(words)) for words in others):
        return plan
    note = f"judged narrow, but it has {len(plan.facets)} different parts: researched as a whole"
    changes = (*plan.changes, note)
    return plan.model_copy(update={"kind": QuestionKind.OVERVIEW, "changes": changes})


def faults(plan: Plan) -> list[str]:
    """What is wrong: duplicate ids, overlapping facets, dependencies on unknown facets."""
    found: list[str] = []
    ids = [facet.id for facet in plan.facets]
    found += [f"two facets share the id {fid!r}" for fid in _repeated(ids)]
    for facet in plan.facets:
        found += [
            f"facet {facet.id!r} depends on {dep!r}, which is not another facet"
            for dep in facet.depends_on
            if dep not in ids or dep == facet.id
        ]
    found += [
        f"facets {one.id!r} and {other.id!r} ask the same; join them or say what each is for"
        for one, other in twins(plan.facets)
    ]
    if not any("depends" in fault for fault in found) and _circular(plan.facets):
        found.append(f"facets depend on each other in a circle: {sorted(_circular(plan.facets))}")
    return found


def repair(plan: Plan) -> Plan:
    """The plan with unique ids, without overlapping facets and without circular dependencies."""
    kept = _with_unique_ids(plan.facets)
    changes = list(plan.changes)
    while pair := next(iter(twins(kept)), None):
        one, other = pair
        kept.remove(other)
        changes.append(f"joined “{other.title}” with “{one.title}”: the same question")
    ids = {facet.id for facet in kept}
    kept = [
        facet.model_copy(
            update={"depends_on": tuple(d for d in facet.depends_on if d in ids and d != facet.id)}
        )
        for facet in kept
    ]
    circular = _circular(kept)
    if circular:
        changes.append("dropped dependencies that formed a circle")
        kept = [f.model_copy(update={"depends_on": ()}) if f.id in circular else f for f in kept]
    return plan.model_copy(update={"facets": tuple(kept), "changes": tuple(changes)})


def twins(facets: Sequence[Facet]) -> list[tuple[Facet, Facet]]:
    """Pairs of facets that ask the same of the same thing: the same words in the same order."""
    words = {id(facet): re.findall(r"\w+", facet.question.lower()) for facet in facets}
    return [
        (one, other)
        for i, one in enumerate(facets)
        for other in facets[i + 1 :]
        if words[id(one)] == words[id(other)]
    ]


def _with_unique_ids(facets: Iterable[Facet]) -> list[Facet]:
    """A facet whose id is taken gets another one."""
    kept: dict[str, Facet] = {}
    for facet in facets:
        name, number = facet.id, 2
        while name in kept:
            name, number = f"{facet.id[:60]}-{number}", number + 1
        kept[name] = facet.model_copy(update={"id": name})
    return list(kept.values())


def _words(facet: Facet) -> set[str]:
    return set(re.findall(r"\w+", facet.question.lower()))


def _repeated(items: list[str]) -> list[str]:
    return sorted({item for item in items if items.count(item) > 1})


def _circular(facets: Iterable[Facet]) -> set[str]:
    waiting = {facet.id: set(facet.depends_on) for facet in facets}
    done: set[str] = set()
    while free := {fid for fid, needs in waiting.items() if needs <= done} - done:
        done |= free
    return set(waiting) - done
