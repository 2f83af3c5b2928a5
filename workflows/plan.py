"""Facets, how many a question deserves, and the rules a plan must keep.

The model proposes a plan; these functions decide. `fit` sizes it to the question, `faults`
lists what is wrong with it in words that can be sent back, `mend` puts it right without a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from pydantic import Field, PositiveInt

from workflows.evidence import Record


class QuestionKind(StrEnum):
    """The shape of a question; it decides how many researchers it gets."""

    OVERVIEW = "overview"
    COMPARISON = "comparison"
    TIMELINE = "timeline"
    CAUSE = "cause"
    FACT = "fact"
    DECISION = "decision"


class Effort(StrEnum):
    QUICK = "quick"
    STANDARD = "standard"
    DEEP = "deep"


class Limits(Record):
    """What an effort allows."""

    facets: PositiveInt
    passes: int = Field(ge=0)
    cycles: PositiveInt
    claims: PositiveInt
    """Per facet: a finding is compact."""


LIMITS: dict[Effort, Limits] = {
    Effort.QUICK: Limits(facets=4, passes=0, cycles=2, claims=12),
    Effort.STANDARD: Limits(facets=10, passes=2, cycles=3, claims=24),
    Effort.DEEP: Limits(facets=24, passes=4, cycles=3, claims=32),
}


class Facet(Record):
    """One sub-domain: a question of its own, and what is not its job."""

    id: str = Field(min_length=1, max_length=64)
    title: str = Field(min_length=1, max_length=160)
    question: str = Field(min_length=1, max_length=1200)
    boundary: str = Field(min_length=1, max_length=800)
    prefer: str = Field(min_length=1, max_length=300)
    reason: str = Field(min_length=1, max_length=600)
    depends_on: tuple[str, ...] = ()


class Plan(Record):
    """The question split by meaning."""

    kind: QuestionKind
    facets: tuple[Facet, ...] = Field(min_length=1)
    left_out: tuple[Facet, ...] = ()
    """Facets beyond the cap: not researched, and the report says so."""
    changes: tuple[str, ...] = ()
    """What review and rules changed, in words."""

    def facet(self, facet_id: str) -> Facet:
        return next(facet for facet in self.facets if facet.id == facet_id)


def limits_for(effort: Effort, kind: QuestionKind, max_facets: int | None = None) -> Limits:
    """A narrow fact gets one researcher and no refinement, whatever the effort."""
    limits = LIMITS[effort]
    if kind is QuestionKind.FACT:
        return limits.model_copy(update={"facets": 1, "passes": 0})
    if max_facets is not None:
        return limits.model_copy(update={"facets": max_facets})
    return limits


def fit(plan: Plan, effort: Effort, max_facets: int | None = None) -> Plan:
    """The plan cut to what the question deserves; what is cut is kept by name in `left_out`."""
    cap = limits_for(effort, plan.kind, max_facets).facets
    kept, cut = plan.facets[:cap], plan.facets[cap:]
    ids = {facet.id for facet in kept}
    kept = tuple(
        facet.model_copy(update={"depends_on": tuple(d for d in facet.depends_on if d in ids)})
        for facet in kept
    )
    # A fact's extra facets are other wordings of one question, not something left undone.
    left_out = () if plan.kind is QuestionKind.FACT else (*plan.left_out, *cut)
    return plan.model_copy(update={"facets": kept, "left_out": left_out})


def faults(plan: Plan) -> list[str]:
    """What breaks the rules: duplicate ids, overlapping facets, dependencies that go nowhere."""
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
    if not any("depends" in fault for fault in found) and _stuck(plan.facets):
        found.append(f"facets depend on each other in a circle: {sorted(_stuck(plan.facets))}")
    return found


def mend(plan: Plan) -> Plan:
    """The same plan made lawful without a model: ids unique, twins joined, circles cut."""
    kept = _with_own_ids(plan.facets)
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
    stuck = _stuck(kept)
    if stuck:
        changes.append("dropped dependencies that formed a circle")
        kept = [f.model_copy(update={"depends_on": ()}) if f.id in stuck else f for f in kept]
    return plan.model_copy(update={"facets": tuple(kept), "changes": tuple(changes)})


def twins(facets: Sequence[Facet]) -> list[tuple[Facet, Facet]]:
    """Pairs of facets that ask the same of the same thing: the same words, in any order."""
    words = {id(facet): _words(facet) for facet in facets}
    return [
        (one, other)
        for i, one in enumerate(facets)
        for other in facets[i + 1 :]
        if words[id(one)] == words[id(other)]
    ]


def _with_own_ids(facets: Iterable[Facet]) -> list[Facet]:
    """A second facet of one name is still a facet: it gets an id of its own."""
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


def _stuck(facets: Iterable[Facet]) -> set[str]:
    waiting = {facet.id: set(facet.depends_on) for facet in facets}
    done: set[str] = set()
    while free := {fid for fid, needs in waiting.items() if needs <= done} - done:
        done |= free
    return set(waiting) - done
