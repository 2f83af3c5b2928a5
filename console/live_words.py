"""The words of a running job, shared by all who show one: marks, counts, money, time, waiting."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.waiting import listed
from workflows.contracts.result import FacetStatus, Status
from workflows.contracts.state import Gap, Phase

if TYPE_CHECKING:
    from console.progress import Progress
    from console.waiting import Waiting

NO_BREAK = "\N{NO-BREAK SPACE}"
MARKS = {"waiting": "·", "running": "▸", "found": "✓", "partial": "◐", "no_results": "∅"}
GAP_MARKS = {"open": "○", "closed": "✓", "partly": "◐", "absent": "∅", "failed": "✗"}
GAP_WORDS = {
    "open": "gap",
    "closed": "gap closed",
    "partly": "gap answered in part",
    "absent": "gap absent",
    "failed": "gap failed",
}
_OWN_WORK = {
    Phase.STARTING: "reading the documents",
    Phase.PLANNING: "splitting the question",
    Phase.REVIEWING: "reviewing the plan",
    Phase.RESEARCHING: "putting the findings together",
    Phase.WRITING: "writing the report",
    Phase.EVALUATING: "judging the draft",
    Phase.FINISHED: "putting the report together",
}
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
    tally = _tally(status, gaps)
    if any(tally.values()):
        parts.append("gaps: " + ", ".join(f"{number} {name}" for name, number in tally.items()))
    return " · ".join(parts)


def missing(status: Status, gaps: Sequence[Gap] = ()) -> str:
    """Gaps that are left, and how many were closed."""
    tally = _tally(status, gaps)
    closed = tally.pop("closed")
    left = [f"{number} {name}" for name, number in tally.items() if number]
    if closed:
        left = [*(left or ["nothing"]), f"{closed} closed"]
    return ", ".join(left)


def _tally(status: Status, gaps: Sequence[Gap]) -> dict[str, int]:
    tally = {"open": status.gaps_open, "closed": status.gaps_closed}
    for gap in gaps:
        if gap.status not in tally:
            tally[gap.status] = sum(other.status == gap.status for other in gaps)
    return tally


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


def doing(waiting: Sequence[Waiting], status: Status | None = None) -> str:
    """All that is under way in a phrase, each with what it is about; then what is queued."""
    if not waiting:
        return _between(status)
    begun = [one for one in waiting if one.started]
    queued = sum(one.count for one in waiting) - sum(one.count for one in begun)
    objects: dict[str, list[str]] = {}
    for one in begun or waiting:
        objects.setdefault(one.verb or one.step, []).extend(one.titles)
    parts = [f"{verb} {listed(titles)}" if titles else verb for verb, titles in objects.items()]
    if not begun:
        return f"{'; '.join(parts)}, queued"
    return "; ".join([*parts, *([f"{queued} queued"] if queued else [])])


def _between(status: Status | None) -> str:
    """What a job does while no step is waited for: workers do it as a part of the job itself."""
    if status is None:
        return "taking the next step"
    if status.phase is Phase.REFINING:
        return f"closing gaps in pass {status.passes + 1}"
    return _OWN_WORK.get(status.phase, "taking the next step")


def awaited(seen: Progress, now: datetime | None = None) -> str:
    """All that is waited for, in a line that follows `now` or `still`."""
    if not seen.waiting:
        return "" if seen.answered else "no worker answers"
    longest = seen.waiting[0]
    rest = sum(one.count for one in seen.waiting) - longest.count
    others = f", and {rest} more" if rest else ""
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
    if len(text) <= length:
        return text
    # Not within a word, unless it is a very long one.
    short, _, rest = text[:length].rpartition(" ")
    short = short if len(rest) < length // 4 else text[: length - 1]
    return f"{short.rstrip(' ,;:')}…"


def say(text: str, first: str = "", then: str | None = None) -> None:
    """Print; on a terminal broken between words, every line but the first after `then`."""
    if not sys.stdout.isatty():
        print(f"{first}{text}".replace(NO_BREAK, " ").rstrip())
        return
    width, then = shutil.get_terminal_size().columns, first if then is None else then
    whole = textwrap.fill(
        text,
        max(40, width),
        initial_indent=first,
        subsequent_indent=then,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    print((whole or first).replace(NO_BREAK, " ").rstrip())


def count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
