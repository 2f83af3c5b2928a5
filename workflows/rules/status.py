"""The state of a job for people: the status, and the details in the Temporal UI."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypedDict

from workflows.contracts.activity_io import FacetReport
from workflows.contracts.request import ResearchRequest
from workflows.contracts.result import FacetStatus, Status
from workflows.contracts.spend import Spend
from workflows.contracts.state import Phase, ResearchState
from workflows.rules.gaps import open_gaps

_MARKS = {"waiting": "·", "running": "▸", "found": "✓", "partial": "◐"}
_GAPS = {"open": "○", "closed": "✓", "partly": "◐", "absent": "∅", "failed": "✗"}
_MOST = 30
"""Gaps shown in the Temporal UI."""
_SUMMARY = 160


def summarize_status(state: ResearchState | Status) -> str:
    """One word for the job, which lists can be filtered by."""
    if state.blocked:
        return "blocked"
    if state.paused:
        return "paused"
    return "awaiting_approval" if state.phase is Phase.APPROVING else "running"


def describe_status(state: ResearchState, approve_by: str | None = None) -> Status:
    outcomes = list(state.outcomes.values())
    return Status(
        id=state.id,
        phase=state.phase,
        question=state.request.question,
        model=state.request.model,
        facets=tuple(_facets(state)),
        gaps_open=len(open_gaps(state.gaps)),
        gaps_closed=sum(gap.status == "closed" for gap in state.gaps),
        contradictions=state.ledger.contradictions if state.ledger else 0,
        claims=sum(o.findings.claims for o in outcomes if o.findings),
        passes=sum(p.n > 0 for p in state.passes),
        turns=state.spend.turns,
        usd=state.spend.usd,
        budget_usd=state.request.budget.usd,
        budget_tokens=state.request.budget.tokens,
        checkpoints=tuple(c.name for c in state.checkpoints),
        blocked=state.blocked,
        waiting_for=state.waiting_for,
        paused=state.paused,
        finishing=state.finishing,
        approve_by=approve_by,
        plan_changes=state.plan.changes if state.plan else (),
        notes=tuple(note.text for note in state.notes),
        parent=state.parent,
        stop_reason=state.stop_reason,
        files=state.corpus.files,
        files_parsed=state.corpus.files_parsed,
    )


def facet_reports(state: ResearchState) -> tuple[FacetReport, ...]:
    """How the research of each facet ended, for the writer and the evaluator.

    What is missing is what the subagent did not find, and what the judge misses in what it found.
    """
    reports: list[FacetReport] = []
    for facet_id in state.facets:
        if (outcome := state.outcomes.get(facet_id)) is None:
            continue
        taken = state.acceptances.get(facet_id)
        judged = taken.judged if taken else None
        seen = (*judged.missing, judged.reason) if judged else ()
        reports.append(
            FacetReport(
                facet_id=facet_id,
                status=outcome.status,
                reason=outcome.reason,
                missing=tuple(dict.fromkeys(filter(None, (*outcome.missing, *seen)))),
                next_step=outcome.findings.next_step if outcome.findings else "",
                leads=judged.leads if judged else (),
                problems=outcome.problems,
            )
        )
    return tuple(reports)


def _facets(state: ResearchState) -> Iterator[FacetStatus]:
    for facet in state.facets.values():
        outcome, taken = state.outcomes.get(facet.id), state.acceptances.get(facet.id)
        found = outcome.findings if outcome else None
        status = outcome.status if outcome else "waiting"
        yield FacetStatus(
            id=facet.id,
            title=facet.title,
            status="running" if facet.id in state.running else status,
            claims=found.claims if found else 0,
            sources=found.sources if found else 0,
            turns=state.spend_by_facet.get(facet.id, Spend()).turns,
            follow_ups=taken.follow_ups if taken else (),
            transcript=taken.transcript if taken else "",
        )


class RequestDescription(TypedDict):
    """The summary, details and memo of a new workflow; encrypted where there are keys."""

    static_summary: str
    static_details: str
    memo: dict[str, object]


def describe_request(request: ResearchRequest) -> RequestDescription:
    """The question and its limits for the Temporal UI, the start of the question for lists."""
    limits = [f"effort {request.effort}"]
    if request.budget.usd is not None:
        limits.append(f"at most ${request.budget.usd:.2f}")
    if request.budget.tokens is not None:
        limits.append(f"at most {request.budget.tokens:,} tokens")
    short = " ".join(request.question.split())
    short = short if len(short) <= _SUMMARY else f"{short[: _SUMMARY - 1]}…"
    question = _escape(request.question, 4000)
    return RequestDescription(
        static_summary=short,
        static_details=f"{question}\n\n{request.model} · {', '.join(limits)}",
        memo={"question": short, "labels": list(request.labels)},
    )


def render_details(state: ResearchState) -> str:
    """Markdown for the Temporal UI: phase, plan, gaps, contradictions, spend."""
    blocks = [_headline(state), *_describe_wait(state)]
    if facets := [_facet_line(facet) for facet in _facets(state)]:
        blocks.append("\n".join(["**Plan**", "", *facets]))
    if state.gaps:
        newest = sorted(state.gaps, key=lambda gap: gap.status != "open")
        lines = [f"- {_GAPS[gap.status]} {_escape(gap.text, 160)}" for gap in newest[:_MOST]]
        more = [f"- and {len(newest) - _MOST} more"] if len(newest) > _MOST else []
        blocks.append("\n".join(["**Gaps**", "", *lines, *more]))
    if state.ledger and state.ledger.contradictions:
        blocks.append(f"**Contradictions**: {state.ledger.contradictions}")
    return "\n\n".join(blocks)


def _headline(state: ResearchState) -> str:
    passes = sum(done.n > 0 for done in state.passes)
    phase = f"{state.phase}, pass {passes + 1}" if state.phase is Phase.REFINING else state.phase
    spent, limit = state.spend, state.request.budget
    money = f"${spent.usd:.2f}" + (f" of ${limit.usd:.2f}" if limit.usd is not None else "")
    tokens = f" · {spent.tokens:,} of {limit.tokens:,} tokens" if limit.tokens is not None else ""
    return f"**{phase}** · {spent.turns} turns · {money}{tokens}"


def _describe_wait(state: ResearchState) -> list[str]:
    """What the job waits for, if it waits."""
    if state.blocked:
        why = f"{_escape(state.blocked.reason, 300)}; {_escape(state.blocked.remedy, 300)}"
        return [f"**blocked** at {_escape(state.blocked.step, 80)}: {why}"]
    if state.waiting_for:
        return [f"**waiting**: {_escape(state.waiting_for, 300)}"]
    if state.paused:
        return ["**paused**: resume it to go on"]
    if state.phase is Phase.APPROVING:
        return ["**the plan waits for approval**"]
    return ["**finishing** with what there is"] if state.finishing else []


def _facet_line(facet: FacetStatus) -> str:
    numbers = ((facet.claims, "claims"), (facet.sources, "sources"), (facet.turns, "turns"))
    found = "".join(f", {count} {name}" for count, name in numbers if count)
    mark = _MARKS.get(facet.status, "✗")
    return f"- {mark} {_escape(facet.title, 120)}: {facet.status.replace('_', ' ')}{found}"


def _escape(text: str, length: int) -> str:
    """One line of text, escaped for Markdown."""
    text = " ".join(text.split())
    text = text if len(text) <= length else f"{text[: length - 1]}…"
    return re.sub(r"([\\`*_\[\]<>#|!])", r"\\\1", text)
