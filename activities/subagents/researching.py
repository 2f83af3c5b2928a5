"""One research subagent: one facet, or one gap of one, to a finding or to an honest failure.

Asked on with a follow-up, it takes up its transcript where it ended. Told to stop, by the clock, by
the budget or by a person, it answers from what it has, and that part is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.agent.conversation import Answered, Unanswered
from activities.agent.loop import Subagent
from activities.agent.messages import JsonObject
from activities.agent.schemas import ResearchAnswer
from activities.agent.toolbox import Toolbox
from activities.agent.transcripts import Thread
from activities.context import Workshop
from activities.evidence.reconcile import reconciled
from activities.fleet.heartbeat import beating
from activities.llm.errors import RATE_LIMITED
from activities.subagents.findings import KNOWN_CLAIMS, Texts, afresh, gathered, handed_over
from workflows.config.roles import RESEARCHER
from workflows.contracts.activity_io import Reconciled, ResearchBrief, Researched
from workflows.contracts.evidence import Findings
from workflows.contracts.outcomes import (
    Failed,
    FindingsRef,
    Found,
    NoResults,
    Partial,
    RateLimited,
    Refused,
    SubagentOutcome,
    TimedOut,
)
from workflows.stages.activity_interfaces import ResearchActivities

# A rate limit is Temporal's to wait out; from this try on it is the coordinator's to decide about.
RATE_LIMIT_TRIES = 3

_TRY_INSTEAD = {
    "refused": "rephrase the question, or research this facet by hand",
    "cut_off": "ask for less at once",
    "malformed": "ask a narrower question, or use another model",
    "context_full": "ask a narrower question",
    "out_of_budget": "raise the budget",
    "finished": "run again without finishing early",
    "no_answer": "ask a narrower question",
}


@dataclass
class _Desk:
    """What one subagent works with."""

    brief: ResearchBrief
    subagent: Subagent
    tools: Toolbox
    texts: Texts
    thread: Thread
    afresh: bool = False
    """Whether its transcript was lost."""
    earlier: Findings | None = None
    """What it had found then."""
    checked: Reconciled | None = None
    """What it found now, held against its sources."""


class Researching(ResearchActivities):
    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    @activity.defn
    async def research(self, brief: ResearchBrief) -> Researched:
        store = self._workshop.store
        async with beating():
            # One cycle more for each follow-up: the coordinator asks because something is missing.
            cycles = brief.cycles + len(brief.follow_ups)
            tools = await self._workshop.toolbox(RESEARCHER, brief.job, cycles)
            # Its clock starts here: opening a corpus may have taken long.
            subagent = await self._workshop.subagent(
                RESEARCHER,
                brief.job,
                brief.task,
                brief.allowance,
                brief.seconds,
                finishes=True,
                facet=brief.facet.id,
            )
            desk = _Desk(brief, subagent, tools, Texts(store, tools), Thread(store, brief))
            try:
                async with asyncio.timeout(brief.seconds):
                    spoken = await self._converse(desk)
                outcome = await self._outcome(desk, spoken)
            except TimeoutError:
                reason = f"no answer within {brief.seconds:g} s"
                outcome = await self._part(desk, reason) or TimedOut(
                    asked=brief.ask,
                    reason=f"{reason}; {_looked_at(tools)}",
                    try_instead="ask a narrower question",
                    findings=await self._found(desk, subagent.answers),
                    seconds=brief.seconds,
                )
            except ApplicationError as error:
                if error.type != RATE_LIMITED or activity.info().attempt < RATE_LIMIT_TRIES:
                    raise
                outcome = await self._part(desk, error.message) or RateLimited(
                    asked=brief.ask,
                    reason=f"{error.message}; {_looked_at(tools)}",
                    try_instead="ask again later",
                    findings=await self._found(desk, subagent.answers),
                    retry_after_seconds=float(error.details[0]),
                )
        return Researched(
            outcome=outcome,
            spend=subagent.spend,
            checked=desk.checked if outcome.findings else None,
        )

    async def _converse(self, desk: _Desk) -> Answered[ResearchAnswer] | Unanswered:
        prompt = await desk.thread.opened_with(await self._prompt(desk.brief))
        follow_ups = desk.brief.follow_ups
        if follow_ups and not await desk.subagent.began(prompt):
            desk.afresh = True
            desk.earlier = await desk.thread.found()
            prompt = afresh(prompt, follow_ups[-1], desk.earlier)
            follow_ups = ()

        def hand_over(
            answers: Sequence[ResearchAnswer], follow_up: str | None
        ) -> JsonObject | None:
            if not answers[-1].missing:
                return None
            return handed_over(prompt, answers, follow_up or prompt["ask"])

        return await desk.subagent.converse(
            ResearchAnswer, prompt, desk.tools, desk.texts.complaints, follow_ups, hand_over
        )

    async def _prompt(self, brief: ResearchBrief) -> JsonObject:
        """All the subagent is told. Nothing else is inherited."""
        store = self._workshop.store
        known = [await store.load(key, Findings) for key in brief.known_findings]
        return {
            "question": brief.job.question,
            "pinned": brief.job.pinned,
            "today": brief.job.today,
            "facet": brief.facet.model_dump(include={"title", "question", "boundary", "prefer"}),
            "ask": brief.ask,
            "known": [k.model_dump() for k in brief.known],
            "known_claims": [c.text for found in known for c in found.claims
                             if c.facet_id == brief.facet.id][:KNOWN_CLAIMS],
            "attempt": brief.attempt,
            "approach": brief.approach,
            "previous": brief.previous,
            "cycles": brief.cycles,
            "max_claims": brief.max_claims,
        }  # fmt: skip

    async def _outcome(
        self, desk: _Desk, spoken: Answered[ResearchAnswer] | Unanswered
    ) -> SubagentOutcome:
        brief, tools = desk.brief, desk.tools
        if isinstance(spoken, Unanswered):
            part = await self._part(desk, spoken.detail)
            kind = Refused if spoken.why == "refused" else Failed
            return part or kind(
                asked=brief.ask,
                reason=f"{spoken.detail}; {_looked_at(tools)}",
                try_instead=_TRY_INSTEAD[spoken.why],
            )
        ref = await self._found(desk, spoken.answers)
        if ref is None:
            return _nothing(brief, spoken, tools)
        missing = (*ref.missing, *((spoken.cut_short,) if spoken.cut_short else ()))
        return Partial(findings=ref, missing=missing) if missing else Found(findings=ref)

    async def _part(self, desk: _Desk, why: str) -> Partial | None:
        """Where a follow-up failed, what was found before it is still taken."""
        if not desk.brief.follow_ups:
            return None
        ref = await self._found(desk, desk.subagent.answers)
        return Partial(findings=ref, missing=(*ref.missing, why)) if ref else None

    async def _found(self, desk: _Desk, answers: Sequence[ResearchAnswer]) -> FindingsRef | None:
        """What the answers come to, stored."""
        found = gathered(desk.brief, answers, desk.tools, desk.texts, desk.earlier, desk.afresh)
        if found is None:
            return None
        key = await self._workshop.store.save("findings", found)
        await desk.thread.keep(key)
        facet = desk.brief.facet
        desk.checked = await reconciled(
            self._workshop.store, {facet.id: facet.question}, findings=[found]
        )
        newest = answers[-1] if answers else ResearchAnswer(summary="")
        return FindingsRef(
            key=key,
            claims=len(found.claims),
            sources=len(found.sources),
            summary=found.summary,
            confidence=max(claim.confidence for claim in found.claims),
            missing=tuple(point for point in newest.missing if point.strip()),
            next_step=found.next_step,
            exhausted=newest.exhausted,
        )


def _nothing(
    brief: ResearchBrief, spoken: Answered[ResearchAnswer], tools: Toolbox
) -> SubagentOutcome:
    cut_short = f" ({spoken.cut_short})" if spoken.cut_short else ""
    if any(answer.claims for answer in spoken.answers):
        return Failed(
            asked=brief.ask,
            reason=f"none of the quotes stand in their sources{cut_short}; {_looked_at(tools)}",
            try_instead="ask a narrower question, or use another model",
        )
    if not tools.searched or cut_short:
        # Nothing was looked at, or not to the end, so nothing can be called absent.
        why = "its searches failed" if tools.queries() else "it answered without searching"
        why = spoken.cut_short or why
        return Failed(
            asked=brief.ask,
            reason=f"the subagent found nothing because {why}; {_looked_at(tools)}",
            try_instead="ask a narrower question"
            if cut_short
            else "look at the worker's log, then ask again",
        )
    return NoResults(
        asked=brief.ask,
        reason=f"the sources hold nothing on it; {_looked_at(tools)}",
        try_instead="add documents about it",
        queries=tools.queries(),
        exhausted=spoken.answer.exhausted,
    )


def _looked_at(tools: Toolbox) -> str:
    queries = "; ".join(f"“{q}”" for q in tools.queries()[:4])
    searched = f"searched {queries}" if queries else "nothing was searched"
    trouble = "".join(f"; {problem}" for problem in tools.problems[:3])
    return f"{searched}; {len(tools.sources)} documents came into sight{trouble}"
