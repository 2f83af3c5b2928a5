"""The pending activities of a job, in words: what they do and which facets they work on.

A subagent names its facet in its first heartbeat, a second after it starts. Until then, and while
it is queued, it can only be one of the facets that no other subagent has named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workflows.contracts.result import FacetStatus, Status

STEPS = {
    "open_corpus": "reading the documents",
    "parse_files": "parsing the documents",
    "plan": "planning the facets",
    "review_plan": "reviewing the plan",
    "research": "researching",
    "reconcile": "checking claims against their sources",
    "judge_claims": "judging claims beside their quotes",
    "judge_relations": "judging how claims relate",
    "judge_gaps": "judging what was found for the gaps",
    "write": "writing the report",
    "evaluate": "evaluating the draft",
    "publish": "publishing the report",
    "compare": "comparing with the last run",
}
PASS_STEPS = STEPS | {"research": "following up", "write": "revising the report"}
FACET_ACTIVITIES = ("research",)
_STARTING = {"researching": "starting on", "following up": "starting to follow up on"}
_UNKNOWN = {"researching": "researching a facet", "following up": "following up on a gap"}


@dataclass(frozen=True)
class PendingStep:
    """One activity, or several that cannot be told apart yet."""

    step: str
    """In words: `researching Costs and funding`."""
    since: datetime
    facet_id: str | None = None
    verb: str = ""
    """What is done, as it stands before the titles."""
    titles: tuple[str, ...] = ()
    """The facets; several if the subagents have not named theirs yet."""
    count: int = 1
    """The number of activities."""
    started: bool = True
    """False if it is queued or waits for its next attempt."""
    attempt: int = 1
    turns: int = 0
    sources: int = 0
    files: int = 0
    """How many files are parsed by this step."""
    files_parsed: int = 0
    last_failure: str = ""
    retry_at: datetime | None = None
    """The time of the next attempt, if it waits for one."""


def assign_facets(pending: list[PendingStep], busy: Sequence[FacetStatus]) -> list[PendingStep]:
    """Give subagents without a heartbeat the facets that are left over.

    One facet left for one subagent is its own. Several subagents become one step with all the
    titles that are left.
    """
    known = {step.facet_id for step in pending}
    left = [facet for facet in busy if facet.id not in known]
    unassigned = [step for step in pending if step.step in _STARTING]
    nameless = [step for step in unassigned if step.attempt == 1]
    others = [step for step in pending if step not in unassigned]
    others += [replace(step, step=_UNKNOWN[step.step]) for step in unassigned if step.attempt > 1]
    if not nameless:
        return others
    started = [step for step in nameless if step.started]
    first = min(started or nameless, key=lambda step: step.since)
    if not left:
        merged = replace(first, step=_UNKNOWN[first.step])
    elif len(left) == len(nameless) == 1:
        merged = name_facet(first, first.step, left[0])
    else:
        verb = _STARTING[first.step] if started else _verb(first.step)
        titles = tuple(facet.title for facet in left)
        merged = replace(first, step=f"{verb} {join_titles(titles)}", verb=verb, titles=titles)
    return [*others, replace(merged, started=bool(started), count=len(nameless))]


def merge_parsing(pending: list[PendingStep], status: Status) -> list[PendingStep]:
    """Steps that parse files, with how far they are; those of several workers are one step."""
    named = [_count_files(step, step.files_parsed, step.files) for step in pending]
    parts = [step for step in pending if step.step == STEPS["parse_files"]]
    if not parts:
        return named
    others = [step for step in named if not step.step.startswith(STEPS["parse_files"])]
    first = replace(min(parts, key=lambda step: step.since), count=len(parts))
    done = status.files_parsed + sum(step.files_parsed for step in parts)
    return [*others, _count_files(first, done, status.files)]


def _count_files(step: PendingStep, done: int, total: int) -> PendingStep:
    return replace(step, step=f"{step.step}: {done:,} of {total:,} files") if total else step


def name_facet(pending: PendingStep, step: str, facet: FacetStatus) -> PendingStep:
    verb = _verb(step)
    return replace(
        pending,
        step=f"{verb} {facet.title}",
        verb=verb,
        titles=(facet.title,),
        facet_id=facet.id,
    )


def group_by_facet(
    pending: Sequence[PendingStep], facets: Sequence[FacetStatus]
) -> dict[str, PendingStep]:
    """The pending step of each facet, where it is known; a queued group is queued as a whole."""
    queued = {title: step for step in pending if not step.started for title in step.titles}
    found = {facet.id: queued[facet.title] for facet in facets if facet.title in queued}
    return found | {step.facet_id: step for step in pending if step.facet_id}


def join_titles(titles: Sequence[str], most: int = 2) -> str:
    """Titles in a sentence; several are quoted, because titles contain commas."""
    if len(titles) == 1:
        return titles[0]
    shown = [f"“{title}”" for title in titles[:most]]
    if len(titles) > most:
        return f"{', '.join(shown)} and {len(titles) - most} more"
    return " and ".join(shown)


def _verb(step: str) -> str:
    return step if step == STEPS["research"] else f"{step} on"
