"""A job as its page shows it, built from a `JobSnapshot`.

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
from console.web.job_snapshot import CheckpointRow, JobSnapshot
from console.web.people import Person
from console.web.rendering import format_time, parse_time
from workflows.contracts.evidence import Contradiction
from workflows.contracts.facets import Plan
from workflows.contracts.result import ResearchResult
from workflows.contracts.spend import Spend
from workflows.contracts.state import Act, Gap, Parent, Phase, ResearchState, UnreadableFile
from workflows.rules.status import describe_status as status_of

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
    id: str
    question: str
    state: str
    is_open: bool
    headline: str
    remedy: str
    tone: str
    stages: tuple[tuple[str, str], ...]
    """Name and mark: done, now, ahead or stopped."""
    pending: tuple[PendingStep, ...]
    facets: tuple[FacetRow, ...]
    gaps: tuple[Gap, ...]
    contradictions: tuple[Contradiction, ...]
    contested: int
    usd: float
    budget_usd: float | None
    tokens: int
    budget_tokens: int | None
    turns: int
    claims: int
    passes: int
    started: datetime
    ended: datetime | None
    as_of: str
    notes: tuple[str, ...]
    acts: tuple[Act, ...]
    plan: Plan | None
    parent: Parent | None
    settings: tuple[tuple[str, str], ...]
    checkpoints: tuple[CheckpointRow, ...]
    can: frozenset[str]
    unreadable_count: int
    unreadable: tuple[UnreadableFile, ...]
    """The files, if they are known."""

    @property
    def open_gaps(self) -> list[Gap]:
        return [gap for gap in self.gaps if gap.status != "closed"]

    @property
    def has_actions(self) -> bool:
        """Whether there are actions besides reading and forking."""
        return bool(self.can - {"fork", "read"})

    @property
    def done(self) -> int:
        return sum(row.status not in ("waiting", "running") for row in self.facets)

    @property
    def seconds(self) -> float:
        return max(0.0, ((self.ended or datetime.now(UTC)) - self.started).total_seconds())


def build_view(snapshot: JobSnapshot, person: Person) -> JobView:
    """The job as this person sees it: with the actions that are theirs."""
    result, progress, began = snapshot.result, snapshot.progress, snapshot.description.start_time
    state = snapshot.state or ResearchState(
        id=snapshot.job.id, journal="", request=snapshot.request, started_at=began.isoformat()
    )
    status = progress.status if progress and progress.answered else status_of(state)
    latest, cost = result or state, result.telemetry if result else state.spend
    headline, remedy, tone = _describe(snapshot)
    return JobView(
        id=snapshot.job.id,
        question=snapshot.request.question,
        state=snapshot.state_name,
        is_open=snapshot.is_open,
        headline=headline,
        remedy=remedy,
        tone=tone,
        stages=tuple(_stages(snapshot)),
        pending=progress.pending if progress else (),
        facets=tuple(_result_rows(result) if result else _state_rows(state, progress)),
        gaps=latest.gaps,
        contradictions=snapshot.contradictions,
        contested=len(snapshot.contradictions) or status.contradictions,
        usd=cost.usd,
        budget_usd=snapshot.request.budget.usd,
        tokens=cost.input_tokens + cost.output_tokens,
        budget_tokens=snapshot.request.budget.tokens,
        turns=cost.turns,
        claims=len(result.claims) if result else status.claims,
        passes=sum(item.n > 0 for item in latest.passes),
        started=parse_time(state.started_at) or began,
        ended=snapshot.description.close_time,
        as_of=snapshot.as_of if snapshot.is_open else "",
        notes=tuple(note.text for note in state.notes),
        acts=state.acts,
        plan=state.plan,
        parent=latest.parent or state.parent,
        settings=tuple(_settings(snapshot)),
        checkpoints=snapshot.checkpoints,
        can=frozenset(a for a in _possible_actions(snapshot) if person.may(a)),
        unreadable_count=state.corpus.unreadable_count,
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
    }.get(snapshot.state_name, f"It did not finish: {failure}.")
    return headline, "Restart it from a checkpoint: completed work is not paid again.", "bad"


def _stages(snapshot: JobSnapshot) -> Iterator[tuple[str, str]]:
    result, phase = snapshot.result, _current_phase(snapshot)
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


def _current_phase(snapshot: JobSnapshot) -> Phase:
    if snapshot.progress and snapshot.progress.answered:
        return snapshot.progress.status.phase
    return snapshot.state.phase if snapshot.state else Phase.STARTING


def _result_rows(result: ResearchResult) -> Iterator[FacetRow]:
    questions = {facet.id: facet.question for facet in result.plan.facets}
    for row in result.coverage:
        yield FacetRow(
            row.facet_id, row.title, questions.get(row.facet_id, ""), row.status, row.claims,
            row.sources, row.turns, row.usd, reason=row.reason,
        )  # fmt: skip


def _state_rows(state: ResearchState, progress: Progress | None) -> Iterator[FacetRow]:
    statuses = status_of(state).facets
    by_facet = group_by_facet(progress.pending if progress else (), statuses)
    for facet, status in zip(state.plan.facets if state.plan else (), statuses, strict=True):
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
