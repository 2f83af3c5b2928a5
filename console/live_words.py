"""The words of a running job, shared by all who show one: marks, counts, money, time, waiting."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from workflows.contracts import FacetStatus, Phase, Status
from workflows.gaps import Gap

if TYPE_CHECKING:
    from console.progress import Progress, Waiting

MARKS = {"waiting": "·", "running": "▸", "found": "✓", "partial": "◐"}
GAP_MARKS = {"open": "○", "closed": "✓", "absent": "∅", "failed": "✗"}
GAP_WORDS = {"open": "gap", "closed": "gap closed", "absent": "gap absent", "failed": "gap failed"}
_RAIL = (
    ("plan", Phase.PLANNING),
    ("review", Phase.REVIEWING),
    ("research", Phase.RESEARCHING),
    ("write", Phase.WRITING),
    ("evaluate", Phase.EVALUATING),
    ("publish", Phase.FINISHED),
)


def rail(status: Status, over: bool = False) -> list[tuple[str, str]]:
    """The stages of a job, each with its mark: ✓ behind, ▸ here, · ahead."""
    stages = list(_RAIL)
    if status.phase is Phase.STARTING:
        stages.insert(0, ("read", Phase.STARTING))
    if status.phase is Phase.APPROVING:
        stages.insert(2, ("approve", Phase.APPROVING))
    if status.phase is Phase.REFINING:
        stages.insert(-1, (f"pass {status.passes + 1}", Phase.REFINING))
    elif status.passes:
        done = "1 pass" if status.passes == 1 else f"{status.passes} passes"
        stages.insert(-1, (done, Phase.REFINING))
    phases = list(Phase)
    now = phases.index(status.phase)
    # After a pass the job stands at its evaluation again: that was the pass's own.
    if status.phase is Phase.EVALUATING and status.passes:
        now = phases.index(Phase.REFINING)
    marks = []
    for name, phase in stages:
        at = phases.index(phase)
        marks.append((name, "✓" if at < now or over else "▸" if at == now else "·"))
    return marks


def headline(status: Status) -> str:
    """The phase and what was spent, in a line."""
    spent = f" · {count(status.turns, 'turn')}" if status.turns else ""
    spent += f" · {money(status)}" if status.usd or status.budget_usd else ""
    current = f"pass {status.passes + 1}" if status.phase is Phase.REFINING else ""
    return " ".join(part for part in (status.phase.value, current) if part) + spent


def money(status: Status) -> str:
    of = f" of ${status.budget_usd:.2f}" if status.budget_usd else ""
    return f"${status.usd:.2f}{of}"


def counts(status: Status, gaps: Sequence[Gap] = ()) -> str:
    """Contradictions, and gaps by how they stand; the texts say more than the status does."""
    parts = []
    if status.contradictions:
        parts.append(count(status.contradictions, "contradiction"))
    tally = {"open": status.gaps_open, "closed": status.gaps_closed}
    for gap in gaps:
        if gap.status not in tally:
            tally[gap.status] = sum(other.status == gap.status for other in gaps)
    if any(tally.values()):
        parts.append("gaps: " + ", ".join(f"{number} {name}" for name, number in tally.items()))
    return " · ".join(parts)


def mark(facet: FacetStatus) -> str:
    return MARKS.get(facet.status, "✗")


def word(facet: FacetStatus) -> str:
    return facet.status.replace("_", " ")


def found(facet: FacetStatus) -> str:
    """A facet's state with what it brought."""
    if not facet.claims:
        return word(facet)
    return f"{word(facet)}, {count(facet.claims, 'claim')} from {count(facet.sources, 'source')}"


def gap_line(gap: Gap, length: int = 100) -> str:
    return f"{GAP_MARKS[gap.status]} {GAP_WORDS[gap.status]}: {cut(gap.text, length)}"


def changed(before: Sequence[Gap], now: Sequence[Gap]) -> list[Gap]:
    """Gaps that opened, and those that ended one way or the other."""
    known = {gap.id: gap.status for gap in before}
    return [gap for gap in now if known.get(gap.id) != gap.status]


def waiting_line(one: Waiting, now: datetime | None = None) -> str:
    """One step under way: for how long, how far, and why it is tried again."""
    now = now or datetime.now(UTC)
    parts = [clock((now - one.since).total_seconds())]
    if one.turns:
        parts.append(count(one.turns, "turn"))
    if not one.started and one.attempt == 1:
        parts.append("queued")
    if one.attempt > 1:
        parts.append(f"try {one.attempt}")
    text = f"{plain(one.step)} ({', '.join(parts)})"
    if one.retry_at is not None:
        seconds = max(0, round((one.retry_at - now).total_seconds()))
        text += f", again in {seconds} s" if seconds else ", again now"
    return f"{text}; last: {cut(one.last_failure, 80)}" if one.last_failure else text


def awaited(seen: Progress, now: datetime | None = None) -> str:
    """All that is waited for, in a line that follows `now` or `still`."""
    if not seen.waiting:
        return "" if seen.answered else "no worker answers"
    longest = seen.waiting[0]
    others = f", and {len(seen.waiting) - 1} more" if len(seen.waiting) > 1 else ""
    return waiting_line(longest, now) + others


def elapsed(seen: Progress, now: datetime | None = None) -> str:
    if seen.since is None:
        return ""
    return clock(((seen.ended or now or datetime.now(UTC)) - seen.since).total_seconds())


def clock(seconds: float) -> str:
    whole = max(0, int(seconds))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def age(seconds: float) -> str:
    """How long ago, as one reads it in a list."""
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {name}"
    return f"{max(0, int(seconds))} s"


def plain(text: str) -> str:
    """One line without what could steer a terminal: titles and failures quote sources."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def cut(text: str, length: int) -> str:
    text = plain(text)
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
