"""One research subagent: one facet, or one gap of one, to a finding or to an honest failure."""

from __future__ import annotations

import asyncio

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.agent import Answered, Unanswered, beating
from activities.answers import ClaimAnswer, ResearchAnswer
from activities.errors import RATE_LIMITED
from activities.roles import RESEARCHER
from activities.toolbox import Toolbox
from activities.workshop import Workshop
from workflows.briefs import ResearchBrief, Researched
from workflows.evidence import Claim, Findings, Quote
from workflows.outcomes import (
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
from workflows.quotes import StoredText

# A rate limit is Temporal's to wait out; from this try on it is the coordinator's to decide about.
RATE_LIMIT_TRIES = 3
KNOWN_CLAIMS = 60

_TRY_INSTEAD = {
    "refused": "rephrase the question, or research this facet by hand",
    "cut_off": "ask for less at once",
    "malformed": "ask a narrower question, or use another model",
    "context_full": "ask a narrower question",
    "out_of_budget": "raise the budget",
    "no_answer": "ask a narrower question",
}


class Researching:
    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    @activity.defn
    async def research(self, brief: ResearchBrief) -> Researched:
        subagent = self._workshop.subagent(brief.job, brief.allowance)
        async with beating():
            tools = await self._workshop.toolbox(RESEARCHER, brief.job, brief.cycles)
            texts = _Texts(self._workshop, tools)
            try:
                async with asyncio.timeout(brief.seconds):
                    prompt = await self._prompt(brief)
                    spoken = await subagent.converse(
                        RESEARCHER, ResearchAnswer, prompt, tools, texts.complaints
                    )
                    outcome = await self._outcome(brief, spoken, tools, texts)
            except TimeoutError:
                outcome = TimedOut(
                    asked=brief.ask,
                    reason=f"no answer within {brief.seconds:g} s; {_looked_at(tools)}",
                    try_instead="ask a narrower question",
                    seconds=brief.seconds,
                )
            except ApplicationError as error:
                if error.type != RATE_LIMITED or activity.info().attempt < RATE_LIMIT_TRIES:
                    raise
                outcome = RateLimited(
                    asked=brief.ask,
                    reason=f"{error.message}; {_looked_at(tools)}",
                    try_instead="ask again later",
                    retry_after_seconds=float(error.details[0]),
                )
        return Researched(outcome=outcome, spend=subagent.spend)

    async def _prompt(self, brief: ResearchBrief) -> dict[str, object]:
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
        self,
        brief: ResearchBrief,
        spoken: Answered[ResearchAnswer] | Unanswered,
        tools: Toolbox,
        texts: _Texts,
    ) -> SubagentOutcome:
        if isinstance(spoken, Unanswered):
            kind = Refused if spoken.why == "refused" else Failed
            return kind(
                asked=brief.ask,
                reason=f"{spoken.detail}; {_looked_at(tools)}",
                try_instead=_TRY_INSTEAD[spoken.why],
            )
        answer = spoken.answer
        standing = [claim for claim in answer.claims if texts.stands(claim)]
        if not standing:
            return _nothing(brief, answer, tools)
        claims = tuple(
            _claim(brief, i, claim) for i, claim in enumerate(standing[: brief.max_claims])
        )
        cited = {sid for claim in claims for sid in claim.source_ids}
        found = Findings(
            facet_id=brief.facet.id,
            summary=answer.summary[:1200],
            claims=claims,
            sources=tuple(s for s in tools.sources.values() if s.id in cited),
            cycles=tools.cycles((s.source_id, s.score, s.reason) for s in answer.scores),
            uncertain=tuple(answer.missing),
            next_step=answer.next_step,
        )
        ref = FindingsRef(
            key=await self._workshop.store.save("findings", found),
            claims=len(claims),
            sources=len(cited),
            summary=found.summary,
        )
        missing = tuple(point for point in answer.missing if point.strip())
        return Partial(findings=ref, missing=missing) if missing else Found(findings=ref)


class _Texts:
    """The stored copies of what the subagent has seen, to hold its quotes against."""

    def __init__(self, workshop: Workshop, tools: Toolbox) -> None:
        self._workshop = workshop
        self._tools = tools
        self._texts: dict[str, StoredText] = {}

    async def complaints(self, answer: ResearchAnswer) -> list[str]:
        wanted = {quote.source_id for claim in answer.claims for quote in claim.quotes}
        for source_id in sorted(wanted & set(self._tools.sources)):
            if source_id not in self._texts:
                text = await self._workshop.store.text(self._tools.sources[source_id].sha256)
                self._texts[source_id] = StoredText(text or "")
        return [
            f"this quote does not stand in {quote.source_id}, copy it exactly: {quote.text[:200]}"
            for claim in answer.claims
            for quote in claim.quotes
            if not self._quote_stands(quote.source_id, quote.text)
        ]

    def stands(self, claim: ClaimAnswer) -> bool:
        return any(self._quote_stands(q.source_id, q.text) for q in claim.quotes)

    def _quote_stands(self, source_id: str, text: str) -> bool:
        stored = self._texts.get(source_id)
        return stored is not None and stored.find(Quote(source_id=source_id, text=text)) is not None


def _claim(brief: ResearchBrief, number: int, answer: ClaimAnswer) -> Claim:
    retry = f"-again{brief.attempt}" if brief.attempt else ""
    return Claim(
        id=f"{brief.task}{retry}-{number + 1}",
        facet_id=brief.facet.id,
        text=answer.text,
        quotes=tuple(Quote(source_id=q.source_id, text=q.text) for q in answer.quotes),
        confidence=answer.confidence,
        relevance=answer.relevance,
        uncertain=answer.uncertain,
        not_to_overstate=answer.not_to_overstate,
    )


def _nothing(brief: ResearchBrief, answer: ResearchAnswer, tools: Toolbox) -> SubagentOutcome:
    if answer.claims:
        return Failed(
            asked=brief.ask,
            reason=f"none of the quotes stand in their sources; {_looked_at(tools)}",
            try_instead="ask a narrower question, or use another model",
        )
    if not tools.searched:
        # Nothing was looked at, so nothing can be called absent.
        why = "its searches failed" if tools.queries() else "it answered without searching"
        return Failed(
            asked=brief.ask,
            reason=f"the subagent found nothing because {why}",
            try_instead="look at the worker's log, then ask again",
        )
    return NoResults(
        asked=brief.ask,
        reason=f"the sources hold nothing on it; {_looked_at(tools)}",
        try_instead="add documents about it",
        queries=tools.queries(),
        exhausted=answer.exhausted,
    )


def _looked_at(tools: Toolbox) -> str:
    queries = "; ".join(f"“{q}”" for q in tools.queries()[:4])
    searched = f"searched {queries}" if queries else "nothing was searched"
    return f"{searched}; {len(tools.sources)} documents came into sight"
