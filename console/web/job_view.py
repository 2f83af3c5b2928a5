"""What the page of a job says about its `JobSnapshot`.

The same snapshot decides which actions are offered, so that no offered action is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from console.client.progress import STEPS, PendingStep, Progress, group_by_facet
from console.formatting import sentence
from console.live.status_text import current_work
from console.report.contents import STOP_REASONS
from console.web.job_snapshot import JobSnapshot
from console.web.people import Person
from console.web.rendering import format_time, parse_time
from workflows.contracts.result import ResearchResult, Telemetry
from workflows.contracts.spend import Spend
from workflows.contracts.state import Gap, Phase, ResearchState, UnreadableFile
from workflows.rules.status import describe_status

_STAGES = (
    ("Plan", (Phase.STARTING, Phase.PLANNING, Phase.REVIEWING)),
    ("Approve", (Phase.APPROVING,)),
    ("Research", (Phase.RESEARCHING,)),
    ("Write", (Phase.WRITING,)),
    ("Evaluate", (Phase.EVALUATING,)),
    ("Refine", (Phase.REFINING,)),
    ("Report", (Phase.FINISHED,)),
)
_BEFORE_RESEARCH = (Phase.STARTING, Phase.PLANNING, Phase.REVIEWING, Phase.APPROVING)
# A version is a long hash: its beginning is enough to tell it from others.
_LONG_VERSION = re.compile(r"(?<=@[0-9a-f]{12})[0-9a-f]+$")
_OUTCOMES = {
    "complete": "The report is complete.",
    "complete_with_gaps": "The report is written; it has gaps.",
    "nothing_found": "Nothing was found; the report lists what was tried.",
}


@dataclass(frozen=True)
class FacetRow:
    id: str
    title: str
    question: str
    status: str
    claims: int
    sources: int
    turns: int
    usd: float
    pending: PendingStep | None = None
    reason: str = ""

    @property
    def queued(self) -> bool:
        step = self.pending
        return step is not None and not step.started and step.attempt == 1


@dataclass(frozen=True)
class JobView:
    state: ResearchState
    headline: str
    remedy: str
    tone: str
    stages: tuple[tuple[str, str], ...]
    """Name and mark: done, now, ahead or stopped."""
    facets: tuple[FacetRow, ...]
    latest: ResearchResult | ResearchState
    """What the gaps, the passes and the parent are taken from."""
    cost: Telemetry | Spend
    claims: int
    contested: int
    settings: tuple[tuple[str, str], ...]
    can: frozenset[str]
    started: datetime
    seconds: float
    unreadable: tuple[UnreadableFile, ...]
    """The files, if they are known."""

    @property
    def open_gaps(self) -> list[Gap]:
        return [gap for gap in self.latest.gaps if gap.status != "closed"]

    @property
    def has_actions(self) -> bool:
        """Whether there are actions besides reading and forking."""
        return bool(self.can - {"fork", "read"})

    @property
    def done(self) -> int:
        return sum(row.status not in ("waiting", "running") for row in self.facets)

    @property
    def passes(self) -> int:
        return sum(item.n > 0 for item in self.latest.passes)


def build_view(snapshot: JobSnapshot, person: Person) -> JobView:
    """The job as this person sees it: with the actions that are theirs."""
    result, progress, began = snapshot.result, snapshot.progress, snapshot.description.start_time
    state = snapshot.state or ResearchState(
        id=snapshot.id, journal="", request=snapshot.request, started_at=began.isoformat()
    )
    status = snapshot.status or describe_status(state)
    headline, remedy, tone = _describe(snapshot)
    started = parse_time(state.started_at) or began
    ended = snapshot.description.close_time or datetime.now(UTC)
    return JobView(
        state=state,
        headline=headline,
        remedy=remedy,
        tone=tone,
        stages=tuple(_stages(snapshot)),
        facets=tuple(_result_rows(result) if result else _state_rows(state, progress)),
        latest=result or state,
        cost=result.telemetry if result else state.spend,
        claims=len(result.claims) if result else status.claims,
        contested=len(snapshot.contradictions) or status.contradictions,
        settings=tuple(_settings(snapshot)),
        can=frozenset(a for a in _possible_actions(snapshot) if person.may(a)),
        started=started,
        seconds=max(0.0, (ended - started).total_seconds()),
        unreadable=result.unreadable if result else state.corpus.unreadable,
    )


def _describe(snapshot: JobSnapshot) -> tuple[str, str, str]:
    """The headline, the remedy and the tone."""
    if not snapshot.is_open:
        return _describe_closed(snapshot)
    state, progress = snapshot.state, snapshot.progress
    if snapshot.blocked is not None:
        step, remedy = snapshot.blocked.step, sentence(snapshot.blocked.remedy)
        where = f"while {STEPS[step]}" if step in STEPS else f"at “{step.replace('_', ' ')}”"
        if "resume" not in remedy:
            remedy = f"{remedy.rstrip('.')}, then resume it."
        return f"Blocked {where}: {snapshot.blocked.reason.rstrip('.')}.", remedy, "bad"
    if snapshot.is_stopped:
        return "Stopped: no worker runs it.", "“Resume” continues it.", "warn"
    if progress is None or not progress.answered:
        remedy = "Start a worker with `python worker.py` and the same TEMPORAL_* settings."
        return "No worker answers: none is running, or all are busy.", remedy, "warn"
    if progress.status.paused:
        return "Paused: nothing is spent until it is resumed.", "", "warn"
    if progress.status.approve_by is not None:
        until = format_time(progress.status.approve_by)
        return f"The plan waits for your approval until {until}.", "", "warn"
    work = current_work(progress.pending, progress.status)
    if state is not None and state.finishing:
        return f"Finishing with what was found: {work}.", "", "busy"
    return sentence(work), "", "busy"


def _describe_closed(snapshot: JobSnapshot) -> tuple[str, str, str]:
    result = snapshot.result
    if result is not None:
        if result.status == "nothing_found":
            remedy = "Ask a broader question, or add documents about the subject."
            return _OUTCOMES[result.status], remedy, "warn"
        why = result.stop_reason
        reason = f"It stopped because {STOP_REASONS[why]}." if why else ""
        return _OUTCOMES[result.status], reason, "good"
    failure = snapshot.failure.rstrip(".")
    headline = {
        "cancelled": "It was cancelled.",
        "terminated": f"It was terminated: {failure}.",
    }.get(snapshot.record.state, f"It did not finish: {failure}.")
    return headline, "Restart it from a checkpoint: completed work is not paid again.", "bad"


def _stages(snapshot: JobSnapshot) -> Iterator[tuple[str, str]]:
    result, phase = snapshot.result, snapshot.status.phase if snapshot.status else Phase.STARTING
    hidden = set() if snapshot.request.approval else {"Approve"}
    if result is not None and len(result.passes) < 2:
        hidden.add("Refine")
    stopped = snapshot.blocked is not None or not snapshot.is_open
    before = True
    for name, phases in _STAGES:
        is_current = phase in phases and result is None
        before = before and not is_current
        if name not in hidden:
            now = "stopped" if stopped else "now"
            yield name, now if is_current else ("done" if before else "ahead")


def _result_rows(result: ResearchResult) -> Iterator[FacetRow]:
    questions = {facet.id: facet.question for facet in result.plan.facets}
    for row in result.coverage:
        yield FacetRow(
            row.facet_id, row.title, questions.get(row.facet_id, ""), row.status, row.claims,
            row.sources, row.turns, row.usd, reason=row.reason,
        )  # fmt: skip


def _state_rows(state: ResearchState, progress: Progress | None) -> Iterator[FacetRow]:
    statuses = describe_status(state).facets
    by_facet = group_by_facet(progress.pending if progress else (), statuses)
    for facet, status in zip(state.facets.values(), statuses, strict=True):
        spend, step = state.spend_by_facet.get(facet.id, Spend()), by_facet.get(facet.id)
        yield FacetRow(
            facet.id, facet.title, facet.question, status.status, status.claims,
            status.sources or (step.sources if step else 0),
            max(status.turns, step.turns if step else 0), spend.usd, step,
            getattr(state.outcomes.get(facet.id), "reason", "") or "",
        )  # fmt: skip


def _settings(snapshot: JobSnapshot) -> Iterator[tuple[str, str]]:
    request = snapshot.request
    yield "Model", "Claude, a model per role" if request.model == "claude" else request.model
    yield "Effort", request.effort.value
    if request.corpus:
        yield "Documents", _LONG_VERSION.sub("", request.corpus)
    yield "Web", "on" if request.web else "off"
    if request.max_passes is not None:
        yield "Maximum passes", str(request.max_passes)
    if request.max_facets is not None:
        yield "Maximum facets", str(request.max_facets)


def _possible_actions(snapshot: JobSnapshot) -> Iterator[str]:
    if snapshot.checkpoints:
        yield "fork"
    if not snapshot.is_open:
        yield "delete"
    if snapshot.result is not None:
        yield "read"
        return
    yield "restart"
    if snapshot.is_open:
        yield "cancel"
        yield from _actions_of_open_job(snapshot)


def _actions_of_open_job(snapshot: JobSnapshot) -> Iterator[str]:
    state = snapshot.state
    paused = bool(snapshot.progress and snapshot.progress.status.paused)
    waits = paused or snapshot.blocked is not None or snapshot.is_stopped
    if waits:
        yield "resume"
    if state is None or snapshot.as_of:
        return
    if not waits:
        yield "pause"
    if state.phase is Phase.APPROVING and not state.approved:
        yield "approve"
    if state.phase is Phase.FINISHED:
        return
    yield "steer"
    if state.plan and not state.finishing:
        yield "add"
    if state.plan and not state.researched and len(state.plan.facets) > 1:
        yield "drop"
    if state.phase not in _BEFORE_RESEARCH and not state.finishing:
        yield "finish"
