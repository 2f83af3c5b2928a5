"""A job as its page shows it: what it does now, what it cost, what is contested, what is missing.

Made from a `Standing` alone; which actions are offered follows from the same, so nothing is offered
that the job would refuse as a matter of course.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from console import live_words as words
from console.waiting import STEPS, Waiting, by_facet
from console.web.pages import moment, sentence, when
from console.web.standing import Point, Standing
from workflows.contracts.evidence import Contradiction
from workflows.contracts.facets import Plan
from workflows.contracts.state import Gap, Parent, Phase, UnreadableFile
from workflows.rules.status import describe_status as status_of

_RAIL = (
    ("Plan", (Phase.STARTING, Phase.PLANNING, Phase.REVIEWING)),
    ("Approve", (Phase.APPROVING,)),
    ("Research", (Phase.RESEARCHING,)),
    ("Write", (Phase.WRITING,)),
    ("Evaluate", (Phase.EVALUATING,)),
    ("Refine", (Phase.REFINING,)),
    ("Report", (Phase.FINISHED,)),
)
_BEFORE_RESEARCH = (Phase.STARTING, Phase.PLANNING, Phase.REVIEWING, Phase.APPROVING)
_STOPS = {
    "sufficient": "It stopped because no gap is left that another pass could close.",
    "no_progress": "It stopped because the last pass closed no gap.",
    "cap": "It stopped because it had its number of passes.",
    "budget": "It stopped because the budget was reached.",
    "finished": "It stopped because somebody said: finish now.",
}
_ENDS = {
    "complete": "The report is complete.",
    "complete_with_gaps": "The report is written; some things are missing.",
    "nothing_found": "Nothing was found; the report says what was tried.",
}
_TONES = {
    "nothing_found": "warn",
}


@dataclass(frozen=True)
class Step:
    name: str
    mark: str
    """done, now, ahead or stopped."""


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
    doing: Waiting | None = None
    reason: str = ""

    @property
    def queued(self) -> bool:
        """Whether no worker has taken it yet."""
        now = self.doing
        return now is not None and not now.started and now.attempt == 1


@dataclass(frozen=True)
class Shown:
    id: str
    question: str
    word: str
    going: bool
    headline: str
    remedy: str
    tone: str
    rail: tuple[Step, ...]
    waiting: tuple[Waiting, ...]
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
    began: datetime | None
    ended: datetime | None
    as_of: str
    notes: tuple[str, ...]
    plan: Plan | None
    plan_changes: tuple[str, ...]
    parent: Parent | None
    settings: tuple[tuple[str, str], ...]
    points: tuple[Point, ...]
    can: frozenset[str]
    unreadable: int
    unread: tuple[UnreadableFile, ...]
    """Which files, where that is known."""

    @property
    def open_gaps(self) -> list[Gap]:
        return [gap for gap in self.gaps if gap.status != "closed"]

    @property
    def acts(self) -> bool:
        """Whether anything can be done with the job itself, beside reading and forking it."""
        return bool(self.can - {"fork", "read"})

    @property
    def done(self) -> int:
        return sum(row.status not in ("waiting", "running") for row in self.facets)

    @property
    def seconds(self) -> float:
        if self.began is None:
            return 0.0
        return ((self.ended or datetime.now(UTC)) - self.began).total_seconds()


def shown(now: Standing) -> Shown:
    state, result = now.state, now.result
    status = now.progress.status if now.progress and now.progress.answered else None
    status = status or (status_of(state) if state else None)
    headline, remedy, tone = _headline(now)
    spend = state.spend if state else None
    told = result.telemetry if result else None
    parent = (result.parent if result else None) or (state.parent if state else None)
    passes = result.passes if result else (state.passes if state else ())
    return Shown(
        id=now.job.id,
        question=now.request.question,
        word=now.word,
        going=now.going,
        headline=headline,
        remedy=remedy,
        tone=tone,
        rail=tuple(_rail(now)),
        waiting=now.progress.waiting if now.progress else (),
        facets=tuple(_facets(now)),
        gaps=result.gaps if result else (state.gaps if state else ()),
        contradictions=now.contradictions,
        contested=len(now.contradictions) or (status.contradictions if status else 0),
        usd=told.usd if told else (spend.usd if spend else 0.0),
        budget_usd=now.request.budget.usd,
        tokens=told.input_tokens + told.output_tokens if told else (spend.tokens if spend else 0),
        budget_tokens=now.request.budget.tokens,
        turns=told.turns if told else (spend.turns if spend else 0),
        claims=len(result.claims) if result else (status.claims if status else 0),
        passes=sum(p.n > 0 for p in passes),
        began=when(state.started_at if state else None) or now.about.start_time,
        ended=now.about.close_time,
        as_of=now.as_of if now.going else "",
        notes=tuple(note.text for note in state.notes) if state else (),
        plan=state.plan if state else None,
        plan_changes=state.plan.changes if state and state.plan else (),
        parent=parent,
        settings=tuple(_settings(now)),
        points=now.points,
        can=frozenset(_possible(now)),
        unreadable=state.corpus.unreadable_count if state else 0,
        unread=result.unreadable if result else (state.corpus.unreadable if state else ()),
    )


def _headline(now: Standing) -> tuple[str, str, str]:
    """What it does now, what would help, and how loudly that is said."""
    if now.result is not None:
        why = _STOPS[now.result.stop_reason] if now.result.stop_reason else ""
        if now.result.status == "nothing_found":
            why = "Ask more broadly, or give it documents that deal with it."
        return _ENDS[now.result.status], why, _TONES.get(now.result.status, "good")
    if not now.going:
        how = {"cancelled": "It was cancelled", "terminated": "It was terminated"}
        said = f"{how.get(now.word, 'It did not finish')}: {now.failure.rstrip('.')}."
        if now.word == "cancelled":
            said = "It was cancelled."
        return said, "Restart it from a checkpoint: what it had bought is kept.", "bad"
    state, progress = now.state, now.progress
    if now.blocked is not None:
        step, remedy = now.blocked.step, sentence(now.blocked.remedy)
        doing = f"while {STEPS[step]}" if step in STEPS else f"at “{step.replace('_', ' ')}”"
        if "resume" not in remedy:
            remedy = f"{remedy.rstrip('.')}, then resume it."
        return f"Blocked {doing}: {now.blocked.reason.rstrip('.')}.", remedy, "bad"
    if progress is None or not progress.answered:
        help_ = "Start a worker with `python worker.py` and the same TEMPORAL_* settings."
        return "Nobody answers for it: no worker is there, or all are busy.", help_, "warn"
    if progress.status.paused:
        return "Paused: nothing is bought until it is resumed.", "", "warn"
    if progress.status.approve_by is not None:
        until = moment(progress.status.approve_by)
        return f"The plan waits for your word, until {until}.", "", "warn"
    if state is not None and state.finishing:
        doing = words.doing(progress.waiting, progress.status)
        return f"Finishing with what there is: {doing}.", "", "busy"
    return sentence(words.doing(progress.waiting, progress.status)), "", "busy"


def _rail(now: Standing) -> Iterator[Step]:
    phase = now.state.phase if now.state else Phase.STARTING
    if now.progress and now.progress.answered:
        phase = now.progress.status.phase
    if now.result is not None:
        phase = Phase.FINISHED
    asked = now.request.approval is not None
    names = [(name, phases) for name, phases in _RAIL if name != "Approve" or asked]
    at = next(n for n, (_, phases) in enumerate(names) if phase in phases)
    refined = bool(now.result and len(now.result.passes) > 1)
    for n, (name, _) in enumerate(names):
        if name == "Refine" and now.result is not None and not refined:
            continue
        mark = "done" if n < at or now.result else ("now" if n == at else "ahead")
        stopped = mark == "now" and (now.blocked is not None or not now.going)
        yield Step(name, "stopped" if stopped else mark)


def _facets(now: Standing) -> Iterator[FacetRow]:
    if now.result is not None:
        questions = {facet.id: facet.question for facet in now.result.plan.facets}
        for row in now.result.coverage:
            yield FacetRow(
                row.facet_id, row.title, questions.get(row.facet_id, ""), row.status, row.claims,
                row.sources, row.turns, row.usd, reason=row.reason,
            )  # fmt: skip
        return
    if now.state is None or now.state.plan is None:
        return
    waiting = now.progress.waiting if now.progress else ()
    known = status_of(now.state).facets
    doing = by_facet(waiting, known)
    for facet, told in zip(now.state.plan.facets, known, strict=True):
        spend, live = now.state.spend_by_facet.get(facet.id), doing.get(facet.id)
        outcome = now.state.outcomes.get(facet.id)
        yield FacetRow(
            facet.id, facet.title, facet.question, told.status, told.claims,
            told.sources or (live.sources if live else 0),
            max(told.turns, live.turns if live else 0),
            spend.usd if spend else 0.0, live, getattr(outcome, "reason", "") or "",
        )  # fmt: skip


def _settings(now: Standing) -> Iterator[tuple[str, str]]:
    asked = now.request
    yield "Model", "Claude, each role its own" if asked.model == "claude" else asked.model
    yield "Effort", asked.effort.value
    if asked.corpus:
        yield "Folder", asked.corpus
    yield "Web", "on" if asked.web else "off"
    if asked.max_passes is not None:
        yield "Passes at most", str(asked.max_passes)
    if asked.max_facets is not None:
        yield "Facets at most", str(asked.max_facets)


def _possible(now: Standing) -> Iterator[str]:
    """What may be done with the job as it is."""
    if now.points:
        yield "fork"
    if now.result is not None:
        yield "read"
        return
    yield "restart"
    if not now.going:
        return
    yield "cancel"
    state = now.state
    paused = bool(now.progress and now.progress.status.paused)
    if now.blocked or paused:
        yield "resume"
    if state is None or now.as_of:
        return
    if state.phase is Phase.APPROVING and not state.approved:
        yield "approve"
    if not paused and not now.blocked:
        yield "pause"
    if state.phase is not Phase.FINISHED:
        yield "steer"
        if state.plan and not state.finishing:
            yield "add"
        if state.plan and not state.researched and len(state.plan.facets) > 1:
            yield "drop"
    if state.phase not in (*_BEFORE_RESEARCH, Phase.FINISHED) and not state.finishing:
        yield "finish"
