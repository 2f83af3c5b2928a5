"""Verification: check claims against their sources; have conflicting claims judged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from workflows.config.policies import ActivityPolicy
from workflows.contracts.activity_io import Batch, ReconcileBrief, Reconciled, VerifyBrief
from workflows.contracts.facets import Facet
from workflows.contracts.state import LedgerRef
from workflows.rules.budget import verification_allowance
from workflows.stages.activity_interfaces import VerificationActivities
from workflows.stages.execution import Execution

RECONCILING = ActivityPolicy(
    start_to_close=timedelta(minutes=10),
    schedule_to_close=timedelta(minutes=40),
    attempts=10,
    queue="coordinator",
)
VERIFYING = ActivityPolicy(
    start_to_close=timedelta(minutes=15), schedule_to_close=timedelta(minutes=60), attempts=10
)
VERIFYING_IN_BATCHES = ActivityPolicy(
    start_to_close=timedelta(hours=26), schedule_to_close=timedelta(hours=60), attempts=10
)
"""The provider's batches may take a day."""


@dataclass(frozen=True)
class VerifiedFindings:
    """The ledger of one assignment, and the rulings on it."""

    ledger: LedgerRef | None = None
    rulings: tuple[str, ...] = ()


class Verification:
    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._slots = asyncio.Semaphore(execution.state.request.parallel)

    async def check(
        self, findings: tuple[str, ...], checked: Reconciled | None, task: str, facet: Facet
    ) -> VerifiedFindings:
        """Check the findings of one assignment, and have judged what conflicts in them.

        `checked` is the ledger of findings that come from one attempt; those of several attempts
        are reconciled here.
        """
        checked = checked or await self._reconcile(facet.title, [facet], findings=findings)
        return VerifiedFindings(checked.ledger, await self._verify(checked, task))

    async def pool(self, parts: Sequence[VerifiedFindings]) -> None:
        """Join the ledgers of all assignments with the job's, and judge what conflicts across."""
        state = self._execution.state
        known = [state.ledger.key] if state.ledger else []
        facets = self._execution.plan.facets
        pooled = await self._reconcile(
            "pool all claims",
            facets,
            ledgers=(*known, *(part.ledger.key for part in parts if part.ledger)),
            rulings=tuple(key for part in parts for key in part.rulings),
        )
        rulings = await self._verify(pooled, f"pool-{len(state.passes)}")
        if rulings:
            pooled = await self._reconcile(
                "apply the rulings", facets, ledgers=(pooled.ledger.key,), rulings=rulings
            )
        state.ledger = pooled.ledger

    async def _reconcile(
        self,
        summary: str,
        facets: Sequence[Facet],
        findings: tuple[str, ...] = (),
        ledgers: tuple[str, ...] = (),
        rulings: tuple[str, ...] = (),
    ) -> Reconciled:
        brief = ReconcileBrief(
            job=self._execution.describe_job(),
            questions={facet.id: facet.question for facet in facets},
            findings=findings,
            ledgers=ledgers,
            rulings=rulings,
        )
        return await self._execution.call_mechanical(
            VerificationActivities.reconcile, brief, RECONCILING, summary
        )

    async def _verify(self, pooled: Reconciled, task: str) -> tuple[str, ...]:
        """The keys of the rulings, one per batch."""
        return tuple(
            await asyncio.gather(
                *(
                    self._verify_batch(pooled, batch, f"verify-{task}-{i}")
                    for i, batch in enumerate(pooled.batches)
                )
            )
        )

    async def _verify_batch(self, pooled: Reconciled, batch: Batch, task: str) -> str:
        state = self._execution.state
        async with self._slots:
            state.counters.spawned += 1
            allowance = verification_allowance(state)
            verified = await self._execution.call(
                VerificationActivities.verify,
                VerifyBrief(
                    job=self._execution.describe_job(allowance.divided(len(pooled.batches))),
                    ledger=pooled.ledger,
                    batch=batch,
                    task=task,
                ),
                VERIFYING_IN_BATCHES if state.request.economy else VERIFYING,
                f"judge {len(batch.groups)} groups of claims",
            )
        state.book("verifier", verified.spend)
        return verified.rulings
