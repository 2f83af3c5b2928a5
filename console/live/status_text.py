"""A job's status in words and marks, for the live views, the `status` command and the web pages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.client.progress import join_titles
from console.formatting import clock, count, cut, plain
from workflows.contracts.result import FacetStatus, Status
from workflows.contracts.state import Gap, Phase

if TYPE_CHECKING:
    from console.client.progress import PendingStep

MARKS = {"waiting": "·", "running": "▸", "found": "✓", "partial": "◐", "no_results": "∅"}
GAP_MARKS = {"open": "○", "closed": "✓", "partly": "◐", "absent": "∅", "failed": "✗"}
_PHASE_STEPS = {
    Phase.STARTING: "reading the documents",
    Phase.PLANNING: "planning the facets",
    Phase.REVIEWING: "reviewing the plan",
    Phase.RESEARCHING: "merging the findings",
    Phase.WRITING: "writing the report",
    Phase.EVALUATING: "evaluating the draft",
    Phase.FINISHED: "publishing the report",
}
_STAGES = (
    ("plan", Phase.PLANNING),
    ("review", Phase.REVIEWING),
    ("research", Phase.RESEARCHING),
    ("write", Phase.WRITING),
    ("evaluate", Phase.EVALUATING),
    ("publish", Phase.FINISHED),
)


def stages(status: Status, finished: bool = False) -> list[tuple[str, str]]:
    """The stages of a job, each with its mark: ✓ done, ▸ current, · ahead."""
    names = list(_STAGES)
    if status.phase is Phase.STARTING:
        names.insert(0, ("read", Phase.STARTING))
    if status.phase is Phase.APPROVING:
        names.insert(2, ("approve", Phase.APPROVING))
    if status.phase is Phase.REFINING:
        names.insert(-1, (f"pass {status.passes + 1}", Phase.REFINING))
    elif status.passes:
        names.insert(-1, (count(status.passes, "pass", "passes"), Phase.REFINING))
    phases = list(Phase)
    now = phases.index(status.phase)
    # After a pass the phase is "evaluating" again; that evaluation belongs to the pass.
    if status.phase is Phase.EVALUATING and status.passes:
        now = phases.index(Phase.REFINING)
    marks = []
    for name, phase in names:
        at = phases.index(phase)
        marks.append((name, "✓" if at < now or finished else "▸" if at == now else "·"))
    return marks


def headline(status: Status) -> str:
    """The phase and the cost so far, in one line."""
    spent = f" · {count(status.turns, 'turn')}" if status.turns else ""
    spent += f" · {money(status)}" if status.usd or status.budget_usd else ""
    current = f"pass {status.passes + 1}" if status.phase is Phase.REFINING else ""
    return " ".join(part for part in (status.phase.value, current) if part) + spent


def money(status: Status) -> str:
    budget = f" of ${status.budget_usd:.2f}" if status.budget_usd else ""
    return f"${status.usd:.2f}{budget}"


def counts(status: Status, gaps: Sequence[Gap] = ()) -> str:
    """The number of contradictions, and of gaps by their status."""
    parts = []
    if status.contradictions:
        parts.append(count(status.contradictions, "contradiction"))
    tally = _tally_gaps(status, gaps)
    if any(tally.values()):
        parts.append("gaps: " + ", ".join(f"{number} {name}" for name, number in tally.items()))
    return " · ".join(parts)


def missing(status: Status, gaps: Sequence[Gap] = ()) -> str:
    """The gaps that are left, and how many were closed."""
    tally = _tally_gaps(status, gaps)
    closed = tally.pop("closed")
    left = [f"{number} {name}" for name, number in tally.items() if number]
    if closed:
        left = [*(left or ["nothing"]), f"{closed} closed"]
    return ", ".join(left)


def _tally_gaps(status: Status, gaps: Sequence[Gap]) -> dict[str, int]:
    tally = {"open": status.gaps_open, "closed": status.gaps_closed}
    for gap in gaps:
        if gap.status not in tally:
            tally[gap.status] = sum(other.status == gap.status for other in gaps)
    return tally


def mark(facet: FacetStatus) -> str:
    return MARKS.get(facet.status, "✗")


def outcome(facet: FacetStatus) -> str:
    """A facet's state with what it found."""
    found = f", {count(facet.claims, 'claim')} from {count(facet.sources, 'source')}"
    return facet.status.replace("_", " ") + (found if facet.claims else "")


def gap_line(gap: Gap, length: int = 100) -> str:
    word = {"open": "gap", "partly": "gap answered in part"}.get(gap.status, f"gap {gap.status}")
    return f"{GAP_MARKS[gap.status]} {word}: {cut(gap.text, length)}"


def changed_gaps(before: Sequence[Gap], now: Sequence[Gap]) -> list[Gap]:
    known = {gap.id: gap.status for gap in before}
    return [gap for gap in now if known.get(gap.id) != gap.status]


def pending_line(step: PendingStep, now: datetime | None = None) -> str:
    """One pending step: its age, its turns, and why it is retried."""
    now = now or datetime.now(UTC)
    parts = [clock((now - step.since).total_seconds())]
    if step.turns:
        parts.append(count(step.turns, "turn"))
    if not step.started and step.attempt == 1:
        parts.append("queued")
    if step.attempt > 1:
        parts.append(f"attempt {step.attempt}")
    text = f"{plain(step.step)} ({', '.join(parts)})"
    if step.retry_at is not None:
        seconds = max(0, round((step.retry_at - now).total_seconds()))
        text += f", again in {seconds} s" if seconds else ", again now"
    return f"{text}; last: {cut(step.last_failure, 80)}" if step.last_failure else text


def current_work(pending: Sequence[PendingStep], status: Status) -> str:
    """All pending steps in one phrase, with their facets and the number that is queued."""
    if not pending:
        # The workflow itself works between two activities.
        if status.phase is Phase.REFINING:
            return f"closing gaps in pass {status.passes + 1}"
        return _PHASE_STEPS.get(status.phase, "taking the next step")
    started = [step for step in pending if step.started]
    queued = sum(step.count for step in pending) - sum(step.count for step in started)
    titles_by_verb: dict[str, list[str]] = {}
    for step in started or pending:
        titles_by_verb.setdefault(step.verb or step.step, []).extend(step.titles)
    parts = [
        f"{verb} {join_titles(titles)}" if titles else verb
        for verb, titles in titles_by_verb.items()
    ]
    if not started:
        return f"{'; '.join(parts)}, queued"
    return "; ".join([*parts, *([f"{queued} queued"] if queued else [])])
