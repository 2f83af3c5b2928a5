"""The research activity: one facet, or one gap of one, to findings or to a failure as a value.

A follow-up continues the transcript where it ended. A subagent that is stopped by the clock, by the
budget or by a person answers from what it has, and that part is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from temporalio import activity

from activities.agent.conversation import Answered, Unanswered
from activities.agent.loop import Subagent
from activities.agent.messages import JsonObject
from activities.agent.schemas import ResearchAnswer
from activities.agent.toolbox import Toolbox
from activities.agent.transcripts import Transcript
from activities.context import ActivityContext
from activities.evidence.reconcile import reconcile
from activities.fleet.heartbeat import send_heartbeats
from activities.subagents import failures
from activities.subagents.findings import (
    KNOWN_CLAIMS,
    AnswerChecker,
    build_fresh_start,
    build_hand_over,
    gather_findings,
)
from activities.subagents.prompt_parts import describe_asker
from workflows.config.roles import RESEARCHER
from workflows.contracts.activity_io import Reconciled, ResearchBrief, Researched
from workflows.contracts.evidence import Findings
from workflows.contracts.outcomes import (
    FindingsRef,
    Found,
    Partial,
    SubagentOutcome,
)
from workflows.stages.activity_interfaces import ResearchActivities


@dataclass
class _Session:
    """What one call of the research subagent works with."""

    brief: ResearchBrief
    subagent: Subagent
    tools: Toolbox
    quotes: AnswerChecker
    transcript: Transcript
    lost_transcript: bool = False
    earlier: Findings | None = None
    """What it had found before its transcript was lost."""
    checked: Reconciled | None = None
    """The ledger of what it found now."""


class Researching(ResearchActivities):
    def __init__(self, context: ActivityContext) -> None:
        self._context = context

    @activity.defn
    async def research(self, brief: ResearchBrief) -> Researched:
        store = self._context.store
        async with send_heartbeats():
            # Each follow-up gets another cycle: the coordinator asks because something is missing.
            cycles = brief.cycles + len(brief.follow_ups)
            tools = await self._context.create_toolbox(
                RESEARCHER, brief.job, cycles, is_guided=not brief.follow_ups
            )
            # Its time starts here: opening a corpus may have taken long.
            subagent = await self._context.create_subagent(
                RESEARCHER,
                brief.job,
                brief.task,
                brief.allowance,
                brief.seconds,
                finishes=True,
                facet=brief.facet.id,
            )
            session = _Session(
                brief, subagent, tools, AnswerChecker(store, tools), Transcript(store, brief)
            )
            try:
                async with asyncio.timeout(brief.seconds):
                    reply = await self._converse(session)
                outcome = await self._outcome(session, reply)
            except TimeoutError:
                failure = failures.time_out(brief, tools)
                part = await self._part(session, f"no answer within {brief.seconds:g} s")
                outcome = part or failure.model_copy(
                    update={"findings": await self._found(session, subagent.answers)}
                )
        return Researched(
            outcome=outcome,
            spend=subagent.spend,
            checked=session.checked if outcome.findings else None,
            transcript=session.transcript.id,
        )

    async def _converse(self, session: _Session) -> Answered[ResearchAnswer] | Unanswered:
        prompt = await session.transcript.first_prompt(await self._prompt(session.brief))
        follow_ups = session.brief.follow_ups
        if follow_ups and not await session.subagent.has_conversation(prompt):
            session.lost_transcript = True
            session.earlier = await session.transcript.findings()
            prompt = build_fresh_start(prompt, follow_ups[-1], session.earlier)
            follow_ups = ()

        def hand_over(
            answers: Sequence[ResearchAnswer], follow_up: str | None
        ) -> JsonObject | None:
            if not answers[-1].missing:
                return None
            return build_hand_over(prompt, answers, follow_up or prompt["ask"])

        # One attempt: where it leads nowhere, the coordinator asks a narrower question.
        return await session.subagent.converse(
            ResearchAnswer,
            prompt,
            session.tools,
            session.quotes.complaints,
            follow_ups,
            hand_over,
            attempts=1,
        )

    async def _prompt(self, brief: ResearchBrief) -> JsonObject:
        """All that the subagent is told: it inherits nothing."""
        store = self._context.store
        known = [await store.load(key, Findings) for key in brief.known_findings]
        return {
            **describe_asker(brief.job),
            "facet": brief.facet.model_dump(include={"title", "question", "boundary", "prefer"}),
            "ask": brief.ask,
            "known": [k.model_dump(exclude_defaults=True) for k in brief.known],
            "known_claims": [c.text for found in known for c in found.claims
                             if c.facet_id == brief.facet.id][:KNOWN_CLAIMS],
            "limits": _describe_limits(brief),
            "max_claims": brief.max_claims,
            **_describe_retry(brief),
        }  # fmt: skip

    async def _outcome(
        self, session: _Session, reply: Answered[ResearchAnswer] | Unanswered
    ) -> SubagentOutcome:
        brief, tools = session.brief, session.tools
        if isinstance(reply, Unanswered):
            part = await self._part(session, reply.detail)
            return part or failures.no_answer(brief, tools, reply)
        ref = await self._found(session, reply.answers)
        if ref is None:
            return failures.nothing_found(brief, tools, reply)
        missing = (*ref.missing, *((reply.cut_short,) if reply.cut_short else ()))
        searches = failures.list_searches(tools)
        if missing:
            return Partial(findings=ref, missing=missing, **searches)
        return Found(findings=ref, **searches)

    async def _part(self, session: _Session, why: str) -> Partial | None:
        """The findings before a follow-up that failed."""
        if not session.brief.follow_ups:
            return None
        ref = await self._found(session, session.subagent.answers)
        if ref is None:
            return None
        searches = failures.list_searches(session.tools)
        return Partial(findings=ref, missing=(*ref.missing, why), **searches)

    async def _found(
        self, session: _Session, answers: Sequence[ResearchAnswer]
    ) -> FindingsRef | None:
        """The findings of the answers, stored and checked."""
        found = gather_findings(
            session.brief,
            answers,
            session.tools,
            session.quotes,
            session.earlier,
            session.lost_transcript,
        )
        if found is None:
            return None
        key = await self._context.store.save("findings", found)
        await session.transcript.save_findings(key)
        facet = session.brief.facet
        session.checked = await reconcile(
            self._context.store, {facet.id: facet.question}, findings=[found]
        )
        newest = answers[-1] if answers else ResearchAnswer(summary="")
        return FindingsRef(
            key=key,
            claims=len(found.claims),
            sources=len(found.sources),
            summary=found.summary,
            missing=tuple(point for point in newest.missing if point.strip()),
            critical=tuple(point for point in newest.critical if point.strip()),
            next_step=found.next_step,
            exhausted=newest.exhausted,
        )


def _describe_limits(brief: ResearchBrief) -> JsonObject:
    """The limits of the tools that the researcher has."""
    job = brief.job
    limits: JsonObject = {}
    if job.corpus is not None:
        limits["cycles"] = brief.cycles
    if job.web is not None:
        limits |= {"web_searches": job.web.max_searches, "web_fetches": job.web.max_fetches}
    return limits


def _describe_retry(brief: ResearchBrief) -> JsonObject:
    """Why there is another attempt, and what it is to try; nothing for the first."""
    if brief.alternative is None:
        return {}
    return {
        "attempt": brief.attempt,
        "previous": brief.previous,
        "try_now": brief.alternative.model_dump(include={"kind", "text", "query"}),
    }
