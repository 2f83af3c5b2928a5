"""The steps of a job, as both workflows take them: one activity call or one fan-out each.

`Steps` works on a `ResearchState` and nothing else, so the coordinator and a refinement pass are
the same steps in another order. How a step is called, and what happens when it cannot be done, is
in `calls`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows import gaps as gap_rules
from workflows import outcomes
from workflows.briefs import (
    Approach,
    Batch,
    CorpusOpened,
    EvaluateBrief,
    Evaluated,
    FacetReport,
    Job,
    Known,
    OpenCorpus,
    PlanBrief,
    Planned,
    PublishBrief,
    ReconcileBrief,
    Reconciled,
    ResearchBrief,
    Researched,
    ReviewBrief,
    Verified,
    VerifyBrief,
    WriteBrief,
    Written,
)
from workflows.calls import Calls, Changed
from workflows.contracts import (
    Checkpoint,
    LedgerRef,
    Phase,
    ResearchResult,
    ResearchState,
)
from workflows.outcomes import Failed, FindingsRef, Partial, RateLimited, SubagentOutcome
from workflows.plan import Facet, Plan, fit, mend
from workflows.policies import (
    MECHANICAL,
    THINKING,
    researching,
)


@dataclass(frozen=True)
class Assignment:
    """Work for one research subagent: a facet, or a gap of one."""

    facet: Facet
    ask: str
    task: str


@dataclass(frozen=True)
class Part:
    """What one assignment brought: a ledger of its own, with the rulings on it."""

    ledger: LedgerRef | None = None
    rulings: tuple[str, ...] = ()


class Steps(Calls):
    """A job's state, and the calls that move it on."""

    def __init__(self, state: ResearchState, changed: Changed | None = None) -> None:
        super().__init__(state, changed)
        self._researchers = asyncio.Semaphore(state.request.parallel)
        self._verifiers = asyncio.Semaphore(state.request.parallel)

    # --- the way of a question ------------------------------------------------------------------

    async def open_corpus(self) -> None:
        opened = await self._call(
            "open_corpus",
            OpenCorpus(path=self.state.request.corpus),
            CorpusOpened,
            MECHANICAL,
            "index the documents",
        )
        self.state.corpus = opened.corpus

    async def plan(self) -> None:
        self.state.phase = Phase.PLANNING
        brief = PlanBrief(
            job=self._job(),
            effort=self.state.request.effort,
            max_facets=self.state.limits.facets,
        )
        planned = await self._call("plan", brief, Planned, THINKING, "split the question")
        self.state.plan = mend(planned.plan)
        self.state.book("planner", planned.spend)

    async def review(self) -> None:
        """The split is reviewed, then cut to size, before the first researcher starts."""
        self.state.phase = Phase.REVIEWING
        brief = ReviewBrief(job=self._job(), plan=self._plan(), max_facets=self.state.limits.facets)
        reviewed = await self._call("review_plan", brief, Planned, THINKING, "review the plan")
        request = self.state.request
        self.state.plan = fit(mend(reviewed.plan), request.effort, request.max_facets)
        self.state.book("reviewer", reviewed.spend)
        self.checkpoint("planned")

    async def research_facets(self) -> None:
        self.state.phase = Phase.RESEARCHING
        facets = self._plan().facets
        await self._investigate([Assignment(f, f.question, f.id) for f in facets])
        found = gap_rules.from_research(self._plan(), self.state.outcomes)
        self.state.gaps = gap_rules.merge(self.state.gaps, found)
        self.checkpoint("researched")

    async def research_gaps(self, n: int) -> int:
        """Follow-ups for the open gaps; returns how many they closed."""
        self.state.phase = Phase.REFINING
        gaps = gap_rules.commissionable(self.state.gaps)
        parts = await self._investigate([self._follow_up(gap) for gap in gaps])
        after = {
            gap.id: gap_rules.after_follow_up(
                gap, self.state.outcomes[gap.id], part.ledger.claims if part.ledger else 0, n
            )
            for gap, part in zip(gaps, parts, strict=True)
        }
        self.state.gaps = tuple(after.get(gap.id, gap) for gap in self.state.gaps)
        return sum(gap.status == "closed" for gap in after.values())

    async def write(self, revise: Sequence[str] = (), n: int = 0) -> None:
        if self.nothing_found:
            return
        self.state.phase = Phase.WRITING
        brief = WriteBrief(
            job=self._job(),
            plan=self._plan(),
            ledger=self._ledger(),
            reports=self._reports(),
            gaps=self.state.gaps,
            unreadable=self.state.corpus.unreadable,
            previous=self.state.draft,
            revise=tuple(revise),
            task=f"write-{n}",
        )
        summary = "write the report" if n == 0 else f"revise {len(revise)} sections"
        written = await self._call("write", brief, Written, THINKING, summary)
        self.state.draft = written.draft
        self.state.book("writer", written.spend)
        self.checkpoint("drafted" if n == 0 else f"revised-{n}")

    async def evaluate(self, n: int = 0) -> None:
        """Judge the draft against the question; what it lacks becomes gaps."""
        if self.state.draft is None:
            return
        self.state.phase = Phase.EVALUATING
        brief = EvaluateBrief(
            job=self._job(),
            plan=self._plan(),
            ledger=self._ledger(),
            draft=self.state.draft,
            reports=self._reports(),
            gaps=self.state.gaps,
            n=n,
            task=f"evaluate-{n}",
        )
        judged = await self._call("evaluate", brief, Evaluated, THINKING, "judge the draft")
        self.state.gaps = gap_rules.merge(self.state.gaps, judged.gaps)
        self.state.book("evaluator", judged.spend)
        self.checkpoint(f"evaluated-{n}")

    async def publish(self, seconds: float) -> ResearchResult:
        self.state.phase = Phase.FINISHED
        brief = PublishBrief(state=self.state, seconds=seconds)
        return await self._call(
            "publish", brief, ResearchResult, MECHANICAL, "put the report together"
        )

    @property
    def nothing_found(self) -> bool:
        return self.state.ledger is None or self.state.ledger.claims == 0

    def checkpoint(self, name: str) -> None:
        self.state.checkpoints += (
            Checkpoint(
                name=name,
                phase=self.state.phase,
                at=workflow.now().isoformat(),
                turns=self.state.spend.turns,
                usd=self.state.spend.usd,
            ),
        )

    # --- fan-out --------------------------------------------------------------------------------

    async def _investigate(self, assignments: Sequence[Assignment]) -> list[Part]:
        """Research and verify each assignment, side by side, then pool what they brought."""
        parts = await asyncio.gather(*(self._pursue(a) for a in assignments))
        brought = [part for part in parts if part.ledger is not None]
        if brought:
            await self._pool(brought)
        return parts

    async def _pursue(self, assignment: Assignment) -> Part:
        """Verification of an assignment starts when it returns, not when the slowest does."""
        needs = set(assignment.facet.depends_on) if assignment.task == assignment.facet.id else ()
        await workflow.wait_condition(lambda: all(d in self.state.outcomes for d in needs))
        findings = await self._research(assignment)
        if not findings:
            return Part()
        checked = await self._reconcile(findings=findings, summary=assignment.facet.title)
        return Part(checked.ledger, await self._verify(checked, assignment.task))

    async def _research(self, assignment: Assignment) -> tuple[str, ...]:
        """One subagent, asked again narrower or broader where its outcome calls for it."""
        keys: list[FindingsRef] = []
        approach: outcomes.Retry | None = None
        previous = ""
        retries = 0
        while True:
            outcome = await self._ask(assignment, retries, approach or "first", previous)
            if found := outcome.findings:
                keys.append(found)
            approach = outcomes.retry(outcome, retries)
            if approach is None or self._broke():
                break
            if isinstance(outcome, RateLimited):
                await workflow.sleep(timedelta(seconds=outcome.retry_after_seconds))
            previous = getattr(outcome, "reason", "")
            retries += 1
            self.state.counters.retries += 1
        if outcome.findings is None and keys:
            # An earlier try found a part before it failed; that part is kept.
            outcome = Partial(findings=keys[-1], missing=(getattr(outcome, "reason", "the rest"),))
        self.state.counters.partial += outcome.status != "found" and outcome.findings is not None
        self.state.outcomes[assignment.task] = outcome
        await self._notify()
        return tuple(dict.fromkeys(ref.key for ref in keys))

    async def _ask(
        self, assignment: Assignment, attempt: int, approach: Approach, previous: str
    ) -> SubagentOutcome:
        if self._broke():
            return Failed(
                asked=assignment.ask,
                reason="the budget was reached before this was researched",
                try_instead="raise the budget and run again",
            )
        async with self._researchers:
            counters = self.state.counters
            counters.spawned += 1
            self.state.running += (assignment.task,)
            counters.parallel_max = max(counters.parallel_max, len(self.state.running))
            await self._notify()
            seconds = self.state.request.subagent_seconds
            brief = ResearchBrief(
                job=self._job(),
                facet=assignment.facet,
                ask=assignment.ask,
                task=assignment.task,
                known=self._known(assignment),
                known_findings=self._known_findings(assignment),
                attempt=attempt,
                approach=approach,
                previous=previous,
                cycles=self.state.limits.cycles,
                max_claims=self.state.limits.claims,
                allowance=self.state.request.budget.for_research(self.state.spend),
                seconds=seconds,
            )
            try:
                answer = await self._call(
                    "research", brief, Researched, researching(seconds), assignment.facet.title
                )
            finally:
                self.state.running = tuple(
                    task for task in self.state.running if task != assignment.task
                )
        self.state.book("researcher", answer.spend, assignment.facet.id)
        return answer.outcome

    async def _pool(self, parts: Sequence[Part]) -> None:
        known = [self.state.ledger.key] if self.state.ledger else []
        pooled = await self._reconcile(
            ledgers=(*known, *(part.ledger.key for part in parts if part.ledger)),
            rulings=tuple(key for part in parts for key in part.rulings),
            summary="pool all claims",
        )
        rulings = await self._verify(pooled, f"pool-{len(self.state.passes)}")
        if rulings:
            pooled = await self._reconcile(
                ledgers=(pooled.ledger.key,), rulings=rulings, summary="settle what was judged"
            )
        self.state.ledger = pooled.ledger

    async def _reconcile(
        self,
        summary: str,
        findings: tuple[str, ...] = (),
        ledgers: tuple[str, ...] = (),
        rulings: tuple[str, ...] = (),
    ) -> Reconciled:
        brief = ReconcileBrief(
            job=self._job(),
            plan=self._plan(),
            findings=findings,
            ledgers=ledgers,
            rulings=rulings,
        )
        return await self._call("reconcile", brief, Reconciled, MECHANICAL, summary)

    async def _verify(self, pooled: Reconciled, task: str) -> tuple[str, ...]:
        async def judge(batch: Batch, name: str) -> str:
            async with self._verifiers:
                self.state.counters.spawned += 1
                brief = VerifyBrief(job=self._job(), ledger=pooled.ledger, batch=batch, task=name)
                ruled = await self._call(
                    "verify", brief, Verified, THINKING, f"{len(batch.groups)} conflicts"
                )
            self.state.book("verifier", ruled.spend)
            return ruled.rulings

        return tuple(
            await asyncio.gather(
                *(judge(b, f"verify-{task}-{i}") for i, b in enumerate(pooled.batches))
            )
        )

    # --- what briefs are made of ----------------------------------------------------------------

    def _job(self) -> Job:
        return Job(
            id=self.state.id,
            journal=self.state.journal,
            model=self.state.request.model,
            question=self.state.request.question,
            pinned=self.state.request.pinned,
            today=self.state.started_at[:10],
            corpus=self.state.request.corpus,
        )

    def _plan(self) -> Plan:
        if self.state.plan is None:
            raise ApplicationError("there is no plan yet", non_retryable=True)
        return self.state.plan

    def _ledger(self) -> LedgerRef:
        if self.state.ledger is None:
            raise ApplicationError("there is no ledger yet", non_retryable=True)
        return self.state.ledger

    def _follow_up(self, gap: gap_rules.Gap) -> Assignment:
        return Assignment(self._plan().facet(gap.facet_id), gap.question, gap.id)

    def _known(self, assignment: Assignment) -> tuple[Known, ...]:
        """What the coordinator puts into the prompt: findings it depends on, or found before."""
        facet = assignment.facet
        wanted = facet.depends_on if assignment.task == facet.id else (facet.id,)
        return tuple(
            Known(facet=self._plan().facet(fid).title, summary=found.summary)
            for fid in wanted
            if (outcome := self.state.outcomes.get(fid)) and (found := outcome.findings)
        )

    def _known_findings(self, assignment: Assignment) -> tuple[str, ...]:
        if assignment.task == assignment.facet.id:
            return ()
        return tuple(o.findings.key for o in self.state.outcomes.values() if o.findings)

    def _reports(self) -> tuple[FacetReport, ...]:
        return tuple(
            FacetReport(
                facet_id=facet.id,
                status=outcome.status,
                reason=getattr(outcome, "reason", ""),
                missing=getattr(outcome, "missing", ()),
            )
            for facet in self._plan().facets
            if (outcome := self.state.outcomes.get(facet.id))
        )

    def _broke(self) -> bool:
        return self.state.request.budget.exhausted(self.state.spend)
