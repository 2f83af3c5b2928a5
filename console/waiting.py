"""The steps a job waits for, in words: what is done, and which facets it is about.

A subagent says which facet is its own with its first sign of life, a second after it began; until
then, and while it is queued, it is known by the facets that are nobody else's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workflows.contracts.result import FacetStatus

STEPS = {
    "open_corpus": "reading the documents",
    "plan": "splitting the question",
    "review_plan": "reviewing the plan",
    "research": "researching",
    "reconcile": "checking claims against their sources",
    "verify": "judging what conflicts",
    "write": "writing the report",
    "evaluate": "judging the draft",
    "publish": "putting the report together",
    "compare": "comparing with the last run",
}
IN_A_PASS = STEPS | {"research": "following up", "write": "revising the report"}
_UNHEARD = {"researching": "starting on", "following up": "starting to follow up on"}
_UNKNOWN = {"researching": "researching a facet", "following up": "following up on a gap"}
OF_A_FACET = ("research", "verify")


@dataclass(frozen=True)
class Waiting:
    """One step that is under way, or waits for its turn or its next try."""

    step: str
    """In words: `researching Costs and funding`."""
    since: datetime
    facet_id: str | None = None
    verb: str = ""
    """What is done, as it stands before the titles."""
    titles: tuple[str, ...] = ()
    """The facets it is about; several where subagents have not said yet which is whose."""
    count: int = 1
    """How many steps this stands for."""
    started: bool = True
    """False where no worker has it: it is queued, or waits for its next try."""
    attempt: int = 1
    turns: int = 0
    sources: int = 0
    last_failure: str = ""
    """Why the attempt before came to nothing."""
    retry_at: datetime | None = None
    """When it is tried again, where it waits for that."""


def named(waiting: list[Waiting], busy: Sequence[FacetStatus]) -> list[Waiting]:
    """Subagents that have not been heard of yet, by the facets that are nobody else's.

    Where one is left for one, it is its own. Several are told of together: those that only wait for
    a worker, or those that have just begun among them.
    """
    known = {one.facet_id for one in waiting}
    left = [facet for facet in busy if facet.id not in known]
    bare = [one for one in waiting if one.step in _UNHEARD]
    nameless = [one for one in bare if one.attempt == 1]
    others = [one for one in waiting if one not in bare]
    others += [replace(one, step=_UNKNOWN[one.step]) for one in bare if one.attempt > 1]
    if not nameless:
        return others
    begun = [one for one in nameless if one.started]
    first = min(begun or nameless, key=lambda one: one.since)
    if not left:
        told = replace(first, step=_UNKNOWN[first.step])
    elif len(left) == len(nameless) == 1:
        told = about(first, first.step, left[0])
    else:
        verb = _UNHEARD[first.step] if begun else _verb(first.step)
        titles = tuple(facet.title for facet in left)
        told = replace(first, step=f"{verb} {listed(titles)}", verb=verb, titles=titles)
    return [*others, replace(told, started=bool(begun), count=len(nameless))]


def about(one: Waiting, step: str, facet: FacetStatus) -> Waiting:
    """The step as one that is about a facet."""
    verb, titles = _verb(step), (facet.title,)
    said = f"{verb} {facet.title}"
    return replace(one, step=said, verb=verb, titles=titles, facet_id=facet.id)


def by_facet(waiting: Sequence[Waiting], facets: Sequence[FacetStatus]) -> dict[str, Waiting]:
    """What each facet waits for, where that is known: all of a group that is queued are queued."""
    queued = {title: one for one in waiting if not one.started for title in one.titles}
    found = {facet.id: queued[facet.title] for facet in facets if facet.title in queued}
    return found | {one.facet_id: one for one in waiting if one.facet_id}


def _verb(step: str) -> str:
    return step if step == STEPS["research"] else f"{step} on"


def listed(titles: Sequence[str], most: int = 2) -> str:
    """Titles in a sentence, in quotation marks where there are several: they have commas too."""
    if len(titles) == 1:
        return titles[0]
    shown = [f"“{title}”" for title in titles[:most]]
    if len(titles) > most:
        return f"{', '.join(shown)} and {len(titles) - most} more"
    return " and ".join(shown)
