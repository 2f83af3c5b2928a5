"""Verification: a mechanical check of every claim, then subagents for claims that seem to conflict.

`reconcile` needs no model: it checks quotes against stored texts, joins claims that agree and finds
candidates for conflicts. `verify` is a subagent that judges one batch of candidates. Where it
cannot run, its claims stay unverified and the conflict reaches the report with both sides.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence

from temporalio import activity

from activities.agent.conversation import Unanswered
from activities.agent.schemas import GroupAnswer, SideAnswer, VerifierAnswer
from activities.context import ActivityContext
from activities.evidence.ledger import Ledger
from activities.evidence.quotes import StoredText
from activities.evidence.reconcile import reconcile, stored_texts
from activities.fleet.heartbeat import send_heartbeats
from workflows.config.roles import VERIFIER
from workflows.contracts.activity_io import Group, ReconcileBrief, Reconciled, Verified, VerifyBrief
from workflows.contracts.evidence import (
    Claim,
    Contradiction,
    Difference,
    Findings,
    Position,
    Relation,
    Ruling,
    Rulings,
    Side,
    SideContext,
    Source,
    Verdict,
)
from workflows.stages.activity_interfaces import VerificationActivities

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
            return await reconcile(store, brief.questions, findings, ledgers, rulings)

    @activity.defn
    async def verify(self, brief: VerifyBrief) -> Verified:
        store, job = self._context.store, brief.job
        async with send_heartbeats():
            subagent = await self._context.create_subagent(VERIFIER, job, brief.task)
            ledger = await store.load(brief.ledger.key, Ledger)
            groups = [[ledger.claim(c) for c in group.claim_ids] for group in brief.batch.groups]
            sources = {sid: ledger.sources[sid] for g in groups for c in g for sid in c.source_ids}
            texts = await stored_texts(store, list(sources.values()))
            tools = await self._context.create_toolbox(
                VERIFIER, job, VERIFY_CYCLES, pages=ledger.sources
            )
            reply = await subagent.converse(
                VerifierAnswer,
                {
                    "question": job.question,
                    "groups": [
                        group.model_dump(
                            mode="json", include={"kind", "about", "relation", "sides"}
                        )
                        | _shown(claims, sources, texts)
                        for group, claims in zip(brief.batch.groups, groups, strict=True)
                    ],
                },
                tools,
            )
            reason = reply.detail if isinstance(reply, Unanswered) else ""
            judged = [] if isinstance(reply, Unanswered) else reply.answer.groups
            key = await store.save("rulings", _rulings(brief.batch.groups, judged, reason, ledger))
        return Verified(rulings=key, spend=subagent.spend)


def _shown(
    group: Sequence[Claim], sources: Mapping[str, Source], texts: Mapping[str, StoredText]
) -> dict[str, object]:
    """A group for the prompt: each claim with its quotes and the text around them."""
    return {
        "claims": [
            {
                "id": claim.id,
                "facet_id": claim.facet_id,
                "text": claim.text,
                "quotes": [
                    {
                        "source_id": quote.source_id,
                        "title": sources[quote.source_id].title,
                        "date": sources[quote.source_id].date,
                        "kind": sources[quote.source_id].kind,
                        "text": quote.text,
                        "context": texts[quote.source_id].around(quote.start, quote.end)
                        if quote.source_id in texts
                        and quote.start is not None
                        and quote.end is not None
                        else "",
                    }
                    for quote in claim.quotes
                ],
            }
            for claim in group
        ]
    }


def _rulings(
    groups: Sequence[Group], judged: Sequence[GroupAnswer], reason: str, ledger: Ledger
) -> Rulings:
    """The verifier's verdicts, contradictions and other differences of all groups."""
    rulings: list[Ruling] = []
    contradictions: list[Contradiction] = []
    differences: list[Difference] = []
    for group in groups:
        verdicts, relation, found = _rule(group, judged, reason, ledger)
        rulings += verdicts
        if found and relation == "contradicts":
            contradictions.append(found)
        elif found and relation:
            differences.append(Difference(**found.model_dump(), relation=relation))
    return Rulings(
        rulings=tuple(rulings),
        contradictions=tuple(contradictions),
        differences=tuple(differences),
        settled=tuple(tuple(sorted(group.claim_ids)) for group in groups),
    )


def _rule(
    group: Group, judged: Sequence[GroupAnswer], reason: str, ledger: Ledger
) -> tuple[list[Ruling], Relation | None, Contradiction | None]:
    """The verdicts on one group, and how its claims differ.

    Without a usable answer the group keeps the relation that code found, and its claims stay
    unverified.
    """
    ids = {ledger.claim(cid).id for cid in group.claim_ids}
    answer = next((a for a in judged if set(a.claim_ids) & ids), None)
    found = _found(answer, group, ids, ledger) if answer else None
    if answer is None or (answer.difference and found is None):
        why = reason or "the verifier gave no usable answer"
        unverified = [_unverified(ledger.claim(cid), why) for cid in sorted(ids)]
        return unverified, group.relation, _unjudged(group, why, ledger)
    rulings = [Ruling(**r.model_dump()) for r in answer.rulings if r.claim_id in ids]
    return rulings, answer.difference, found


def _found(
    answer: GroupAnswer, group: Group, ids: set[str], ledger: Ledger
) -> Contradiction | None:
    """The difference that the verifier found, with its sides; None where it found none."""
    sides = _sides(answer, ids, ledger)
    if not answer.difference or len(sides) < 2:
        return None
    return Contradiction(
        id=_contradiction_id(ids),
        about=answer.about or group.about,
        sides=sides,
        cause=answer.cause,
        explanation=answer.explanation or "the sources give no reason",
    )


def _unverified(claim: Claim, why: str) -> Ruling:
    return Ruling(
        claim_id=claim.id,
        verdict=Verdict.UNVERIFIED,
        confidence=claim.confidence,
        notes=f"could not be checked: {why}",
    )


def _sides(answer: GroupAnswer, ids: set[str], ledger: Ledger) -> tuple[Side, ...]:
    return tuple(
        _side(side, [ledger.claim(cid) for cid in side.claim_ids if cid in ids])
        for side in answer.sides
        if any(cid in ids for cid in side.claim_ids)
    )


def _side(answer: SideAnswer, claims: Sequence[Claim]) -> Side:
    return Side(
        text=answer.text or claims[0].text,
        claim_ids=tuple(claim.id for claim in claims),
        source_ids=tuple(dict.fromkeys(sid for claim in claims for sid in claim.source_ids)),
        context=SideContext(
            value=answer.value,
            date=answer.date,
            definition=answer.definition,
            population=answer.population,
        ),
    )


def _unjudged(group: Group, why: str, ledger: Ledger) -> Contradiction:
    """The difference as code found it: a side per value, or per claim where it has no values."""
    found = group.sides or [Position(claim_ids=(cid,), value="") for cid in group.claim_ids]
    return Contradiction(
        id=_contradiction_id({ledger.claim(cid).id for cid in group.claim_ids}),
        about=group.about,
        sides=tuple(
            _side(
                SideAnswer(
                    text="", claim_ids=list(side.claim_ids), value=side.value, date=side.date
                ),
                [ledger.claim(cid) for cid in side.claim_ids],
            )
            for side in found
        ),
        explanation=f"these seem to differ, and it could not be checked why: {why}",
    )


def _contradiction_id(claim_ids: set[str]) -> str:
    return "x" + hashlib.sha256("|".join(sorted(claim_ids)).encode()).hexdigest()[:8]
