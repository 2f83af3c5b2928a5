"""Verification: a mechanical check of every claim, then the judge.

`reconcile` needs no model: it checks quotes against stored texts and joins claims that agree. The
judge is the verifier role: `judge_claims` holds claims against their quotes, `judge_relations`
claims against each other, `judge_gaps` new claims against the question of a gap. Where it cannot
run, claims stay unverified, conflicts reach the report with all sides, and gaps stay open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TypeVar

from temporalio import activity

from activities.agent.conversation import Answered, Unanswered
from activities.agent.messages import JsonObject
from activities.agent.schemas import Answer, EntailmentAnswer, GapRulingsAnswer, RelationsAnswer
from activities.context import ActivityContext
from activities.evidence import entailment, relations
from activities.evidence.ledger import Ledger, join
from activities.evidence.reconcile import read_sources, reconcile
from activities.fleet.heartbeat import send_heartbeats
from workflows.config.roles import CLAIM_VERIFIER, GAP_VERIFIER, VERIFIER
from workflows.contracts.activity_io import (
    GapFollowUp,
    GapRuling,
    GapsJudged,
    JudgeClaimsBrief,
    Judged,
    JudgeGapsBrief,
    JudgeRelationsBrief,
    ReconcileBrief,
    Reconciled,
)
from workflows.contracts.evidence import Claim, Findings, Rulings
from workflows.contracts.outcomes import FindingsRef
from workflows.contracts.spend import Spend
from workflows.stages.activity_interfaces import VerificationActivities

A = TypeVar("A", bound=Answer)
VERIFY_CYCLES = 2


class Verifying(VerificationActivities):
    def __init__(self, context: ActivityContext) -> None:
        self._context = context

    @activity.defn
    async def reconcile(self, brief: ReconcileBrief) -> Reconciled:
        store = self._context.store
        async with send_heartbeats():
            findings = await asyncio.gather(*(store.load(k, Findings) for k in brief.findings))
            ledgers = await asyncio.gather(*(store.load(k, Ledger) for k in brief.ledgers))
            rulings = await asyncio.gather(*(store.load(k, Rulings) for k in brief.rulings))
            return await reconcile(store, brief.questions, findings, ledgers, rulings, brief.relate)

    @activity.defn
    async def judge_claims(self, brief: JudgeClaimsBrief) -> Judged:
        async with send_heartbeats():
            subagent = await self._context.create_subagent(CLAIM_VERIFIER, brief.job, brief.task)
            ledger = await self._context.store.load(brief.ledger.key, Ledger)
            claims = [ledger.claim(claim_id) for claim_id in brief.claim_ids]
            shown = await self._describe(claims, ledger)
            asked = _describe_ask(brief, brief.said, ledger) if brief.said else {}

            async def complain(answer: EntailmentAnswer) -> list[str]:
                return entailment.complain(answer, claims)

            reply = await subagent.converse(
                EntailmentAnswer,
                {
                    "question": brief.job.question,
                    "today": brief.job.today,
                    "claims": [
                        entry | {"figures_not_in_quotes": entailment.list_missing_figures(claim)}
                        for entry, claim in zip(shown, claims, strict=True)
                    ],
                    **asked,
                },
                gate=complain,
            )
            answer, why = _answer_or_reason(reply)
            key = await self._context.store.save("rulings", entailment.rule(claims, answer, why))
        found = answer.findings if answer and asked else None
        return Judged(rulings=key, findings=found, spend=subagent.spend)

    @activity.defn
    async def judge_relations(self, brief: JudgeRelationsBrief) -> Judged:
        async with send_heartbeats():
            subagent = await self._context.create_subagent(VERIFIER, brief.job, brief.task)
            ledger = await self._context.store.load(brief.ledger.key, Ledger)
            groups = {f"g{i + 1}": group for i, group in enumerate(brief.groups)}
            distinct = dict.fromkeys(cid for group in brief.groups for cid in group.claim_ids)
            shown = await self._describe([ledger.claim(cid) for cid in distinct], ledger)

            async def complain(answer: RelationsAnswer) -> list[str]:
                return relations.complain(answer, groups)

            reply = await subagent.converse(
                RelationsAnswer,
                {
                    "question": brief.job.question,
                    "claims": shown,
                    "groups": [
                        {"group": name} | group.model_dump(mode="json")
                        for name, group in groups.items()
                    ],
                },
                await self._context.create_toolbox(
                    VERIFIER, brief.job, VERIFY_CYCLES, pages=ledger.sources
                ),
                complain,
            )
            rulings = relations.rule(groups, *_answer_or_reason(reply), ledger)
            key = await self._context.store.save("rulings", rulings)
        return Judged(rulings=key, spend=subagent.spend)

    @activity.defn
    async def judge_gaps(self, brief: JudgeGapsBrief) -> GapsJudged:
        store = self._context.store
        async with send_heartbeats():
            known = await store.load(brief.known.key, Ledger) if brief.known else Ledger()
            parts = [await store.load(f.ledger.key, Ledger) for f in brief.follow_ups]
            new = [_new_claims(known, part) for part in parts]
            judged = [pair for pair in zip(brief.follow_ups, new, strict=True) if pair[1]]
            if not judged:
                return GapsJudged(rulings=(), spend=Spend())
            subagent = await self._context.create_subagent(GAP_VERIFIER, brief.job, brief.task)
            wanted = {follow_up.gap.id for follow_up, _ in judged}

            async def complain(answer: GapRulingsAnswer) -> list[str]:
                missing = wanted - {ruling.gap_id for ruling in answer.gaps}
                return [f"{gap_id}: rule on this gap as well" for gap_id in sorted(missing)]

            reply = await subagent.converse(
                GapRulingsAnswer,
                {
                    "question": brief.job.question,
                    "gaps": [_describe_follow_up(*pair) for pair in judged],
                },
                gate=complain,
            )
            answer, why = _answer_or_reason(reply)
        return GapsJudged(rulings=tuple(_gap_rulings(judged, answer, why)), spend=subagent.spend)

    async def _describe(self, claims: Sequence[Claim], ledger: Ledger) -> list[JsonObject]:
        """The claims for a prompt, with the text around their quotes."""
        sources = {sid: ledger.sources[sid] for claim in claims for sid in claim.source_ids}
        texts = await read_sources(self._context.store, list(sources.values()))
        return await asyncio.to_thread(entailment.describe_claims, claims, sources, texts)


def _describe_ask(brief: JudgeClaimsBrief, said: FindingsRef, ledger: Ledger) -> JsonObject:
    """What was asked, what the subagent says of its answer, and the claims of other requests."""
    others = [claim for claim in ledger.citable() if claim.id not in brief.claim_ids]
    return {
        "asked": {
            "ask": brief.ask,
            "facet": brief.facet.model_dump(include={"title", "question", "boundary"}),
            "said": said.model_dump(include={"missing", "critical", "next_step"}),
            "other_claims": [
                {"text": c.text, "confidence": c.confidence, "relevance": c.relevance}
                for c in others
            ],
        }
    }


def _answer_or_reason(reply: Answered[A] | Unanswered) -> tuple[A | None, str]:
    """The answer, or why there is none."""
    if isinstance(reply, Unanswered):
        return None, reply.detail
    return reply.answer, ""


def _new_claims(known: Ledger, part: Ledger) -> tuple[Claim, ...]:
    """What a follow-up found that was not known before in the same words or others."""
    aliases = join([known, part]).aliases
    before = {claim.id for claim in known.claims}
    return tuple(
        claim
        for claim in part.citable()
        if claim.id not in before and aliases.get(claim.id) not in before
    )


def _describe_follow_up(follow_up: GapFollowUp, claims: Sequence[Claim]) -> JsonObject:
    gap = follow_up.gap
    return {
        "id": gap.id,
        "question": gap.question,
        "text": gap.text,
        "new_claims": [
            {"text": claim.text, "quotes": [quote.text for quote in claim.quotes]}
            for claim in claims
        ],
        "said": follow_up.said,
        "missing": follow_up.missing,
    }


def _gap_rulings(
    judged: Iterable[tuple[GapFollowUp, Sequence[Claim]]], answer: GapRulingsAnswer | None, why: str
) -> Iterable[GapRuling]:
    rulings = {ruling.gap_id: ruling for ruling in answer.gaps} if answer else {}
    for follow_up, claims in judged:
        ruling = rulings.get(follow_up.gap.id)
        yield GapRuling(
            gap_id=follow_up.gap.id,
            status=ruling.status if ruling else "open",
            reason=ruling.reason if ruling else f"could not be judged: {why or 'no ruling on it'}",
            new_claims=len(claims),
        )
