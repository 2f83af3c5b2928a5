"""Pooling what subagents brought: one ledger, its conflicts verified in parallel batches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from temporalio.exceptions import ApplicationError

from workflows.config.policies import BATCHED, THINKING
from workflows.contracts.activity_io import (
    Batch,
    Job,
    ReconcileBrief,
    Reconciled,
    Verified,
    VerifyBrief,
)
from workflows.contracts.facets import Facet, Plan
from workflows.contracts.spend import Allowance
from workflows.contracts.state import LedgerRef, ResearchState
from workflows.rules.budget import verification_allowance
from workflows.stages.execution import Calls, Changed


@dataclass(frozen=True)
class Part:
    """What one assignment brought: a ledger of its own, with the rulings on it."""

    ledger: LedgerRef | None = None
    rulings: tuple[str, ...] = ()


class Pooling(Calls):
    def __init__(self, state: ResearchState, changed: Changed | None = None) -> None:
        super().__init__(state, changed)
        self._verifiers = asyncio.Semaphore(state.request.parallel)

    async def _check(
        self, findings: tuple[str, ...], checked: Reconciled | None, task: str, facet: Facet
    ) -> Part:
        """Hold an assignment's findings against their sources, and judge what conflicts.

        One subagent's come checked; those of several tries are put together here.
        """
        checked = checked or await self._reconcile(facet.title, [facet], findings=findings)
        return Part(checked.ledger, await self._verify(checked, task))

    async def _pool(self, parts: Sequence[Part]) -> None:
        known = [self.state.ledger.key] if self.state.ledger else []
        facets = self._plan().facets
        pooled = await self._reconcile(
            "pool all claims",
            facets,
            ledgers=(*known, *(part.ledger.key for part in parts if part.ledger)),
            rulings=tuple(key for part in parts for key in part.rulings),
        )
        rulings = await self._verify(pooled, f"pool-{len(self.state.passes)}")
        if rulings:
            pooled = await self._reconcile(
                "settle what was judged", facets, ledgers=(pooled.ledger.key,), rulings=rulings
            )
        self.state.ledger = pooled.ledger

    async def _reconcile(
        self,
        summary: str,
        facets: Sequence[Facet],
        findings: tuple[str, ...] = (),
        ledgers: tuple[str, ...] = (),
        rulings: tuple[str, ...] = (),
    ) -> Reconciled:
        brief = ReconcileBrief(
            job=self._job(),
            questions={facet.id: facet.question for facet in facets},
            findings=findings,
            ledgers=ledgers,
            rulings=rulings,
        )
        return await self._mechanical("reconcile", brief, Reconciled, self._claims(), summary)

    def _claims(self) -> int:
        """How many claims the job has, at most."""
        return sum(o.findings.claims for o in self.state.outcomes.values() if o.findings)

    async def _verify(self, pooled: Reconciled, task: str) -> tuple[str, ...]:
        among = max(1, len(pooled.batches))

        async def judge(batch: Batch, name: str) -> str:
            async with self._verifiers:
                self.state.counters.spawned += 1
                allowance = verification_allowance(self.state.request.budget, self.state.spend)
                brief = VerifyBrief(
                    job=self._job(allowance.divided(among)),
                    ledger=pooled.ledger,
                    batch=batch,
                    task=name,
                )
                policy = BATCHED if self.state.request.economy else THINKING
                ruled = await self._call(
                    "verify", brief, Verified, policy, f"weigh {len(batch.groups)} groups of claims"
                )
            self.state.book("verifier", ruled.spend)
            return ruled.rulings

        return tuple(
            await asyncio.gather(
                *(judge(b, f"verify-{task}-{i}") for i, b in enumerate(pooled.batches))
            )
        )

    def _job(self, allowance: Allowance | None = None) -> Job:
        request = self.state.request
        return Job(
            id=self.state.id,
            journal=self.state.journal,
            model=request.model,
            question=request.question,
            pinned=request.pinned,
            today=self.state.started_at[:10],
            corpus=request.corpus,
            models=request.models,
            efforts=request.efforts,
            web=request.web,
            code=request.code,
            economy=request.economy,
            allowance=allowance or Allowance(),
        )

    def _plan(self) -> Plan:
        if self.state.plan is None:
            raise ApplicationError("there is no plan yet", non_retryable=True)
        return self.state.plan

    def _ledger(self) -> LedgerRef:
        if self.state.ledger is None:
            raise ApplicationError("there is no ledger yet", non_retryable=True)
        return self.state.ledger
