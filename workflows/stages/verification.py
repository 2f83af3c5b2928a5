"""Verification: claims against their quotes, against each other, and against the gaps.

The claims of a facet are judged when the facet returns; how claims bear on each other, within a
facet and across facets, is judged when all are pooled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from workflows.config.policies import ActivityPolicy
from workflows.contracts.activity_io import (
    GapFollowUp,
    GapRuling,
    Job,
    JudgeClaimsBrief,
    Judged,
    JudgeGapsBrief,
    JudgeRelationsBrief,
    ReconcileBrief,
    Reconciled,
)
from workflows.contracts.facets import Facet
from workflows.contracts.outcomes import FindingsRef
from workflows.contracts.spend import Allowance
from workflows.contracts.state import FindingsJudgement, LedgerRef
from workflows.rules.budget import verification_allowance
from workflows.stages.activity_interfaces import VerificationActivities
from workflows.stages.execution import ActivityMethod, Brief, Execution

RECONCILING = ActivityPolicy(
    start_to_close=timedelta(minutes=10),
    schedule_to_close=timedelta(minutes=40),
    attempts=10,
    queue="coordinator",
)
JUDGING = ActivityPolicy(
    start_to_close=timedelta(minutes=15), schedule_to_close=timedelta(minutes=60), attempts=10
)
JUDGING_IN_BATCHES = ActivityPolicy(
    start_to_close=timedelta(hours=26), schedule_to_close=timedelta(hours=60), attempts=10
)
"""The provider's batches may take a day."""


class Verification:
    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._slots = asyncio.Semaphore(execution.state.request.parallel)

    async def check(
        self, facet: Facet, ask: str, said: FindingsRef, checked: Reconciled, task: str
    ) -> tuple[LedgerRef, FindingsJudgement | None]:
        """The ledger with every claim judged beside its quotes, and all of them against the ask.

        Both are judged in one request; where the claims need several, in the first.
        """
        ledger, batches = checked.ledger, checked.claim_batches
        judged = await asyncio.gather(
            *(
                self._judge(
                    VerificationActivities.judge_claims,
                    JudgeClaimsBrief(
                        job=Job.of(self._execution.state, self._share(len(batches))),
                        facet=facet,
                        ask=ask,
                        said=None if i else said,
                        ledger=ledger,
                        claim_ids=batch,
                        task=f"judge-{task}-{i}",
                    ),
                    f"judge {len(batch)} claims",
                )
                for i, batch in enumerate(batches)
            )
        )
        view = judged[0].findings if judged else None
        return await self._apply(ledger, judged, facet.title, [facet]), view

    async def reconcile(
        self, facet: Facet, findings: tuple[str, ...], known: LedgerRef | None
    ) -> Reconciled:
        """The findings of several attempts as one ledger; what is judged in `known` stays so."""
        ledgers = (known.key,) if known else ()
        return await self._reconcile(facet.title, [facet], findings=findings, ledgers=ledgers)

    async def pool(self, parts: Sequence[LedgerRef]) -> None:
        """Join the ledgers of all assignments with the job's, and judge how claims relate."""
        state, facets = self._execution.state, self._execution.plan.facets
        known = [state.ledger.key] if state.ledger else []
        pooled = await self._reconcile(
            "pool all claims",
            facets,
            ledgers=(*known, *(part.key for part in parts)),
            relate=True,
        )
        batches = pooled.group_batches
        judged = await asyncio.gather(
            *(
                self._judge(
                    VerificationActivities.judge_relations,
                    JudgeRelationsBrief(
                        job=Job.of(self._execution.state, self._share(len(batches))),
                        ledger=pooled.ledger,
                        groups=batch,
                        task=f"relate-{len(state.passes)}-{i}",
                    ),
                    f"judge {len(batch)} groups of claims",
                )
                for i, batch in enumerate(batches)
            )
        )
        state.ledger = await self._apply(pooled.ledger, judged, "apply the rulings", facets)

    async def judge_gaps(
        self, known: LedgerRef | None, follow_ups: Sequence[GapFollowUp], n: int
    ) -> dict[str, GapRuling]:
        """The rulings on gaps by id; a gap whose follow-up brought nothing new has none."""
        if not follow_ups:
            return {}
        judged = await self._execution.call(
            VerificationActivities.judge_gaps,
            JudgeGapsBrief(
                job=Job.of(self._execution.state, self._share(1)),
                known=known,
                follow_ups=tuple(follow_ups),
                task=f"gaps-{n}",
            ),
            self._policy,
            f"judge {len(follow_ups)} gaps",
        )
        self._execution.state.book("verifier", judged.spend)
        return {ruling.gap_id: ruling for ruling in judged.rulings}

    async def _judge(
        self,
        method: ActivityMethod[Brief, Judged],
        brief: Brief,
        summary: str,
    ) -> Judged:
        async with self._slots:
            self._execution.state.counters.spawned += 1
            judged = await self._execution.call(method, brief, self._policy, summary)
        self._execution.state.book("verifier", judged.spend)
        return judged

    async def _apply(
        self, ledger: LedgerRef, judged: Sequence[Judged], summary: str, facets: Sequence[Facet]
    ) -> LedgerRef:
        if not judged:
            return ledger
        rulings = tuple(batch.rulings for batch in judged)
        applied = await self._reconcile(summary, facets, ledgers=(ledger.key,), rulings=rulings)
        return applied.ledger

    async def _reconcile(
        self,
        summary: str,
        facets: Sequence[Facet],
        findings: tuple[str, ...] = (),
        ledgers: tuple[str, ...] = (),
        rulings: tuple[str, ...] = (),
        relate: bool = False,
    ) -> Reconciled:
        brief = ReconcileBrief(
            job=Job.of(self._execution.state),
            questions={facet.id: facet.question for facet in facets},
            findings=findings,
            ledgers=ledgers,
            rulings=rulings,
            relate=relate,
        )
        return await self._execution.call_mechanical(
            VerificationActivities.reconcile, brief, RECONCILING, summary
        )

    @property
    def _policy(self) -> ActivityPolicy:
        return JUDGING_IN_BATCHES if self._execution.state.request.economy else JUDGING

    def _share(self, batches: int) -> Allowance:
        state = self._execution.state
        return verification_allowance(state).share(1 / max(1, batches))
