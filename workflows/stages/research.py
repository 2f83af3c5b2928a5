"""The fan-out: one research subagent per assignment, side by side, each verified as it returns.

It follows the plan while it changes: a facet that is added starts, one that is dropped is called
back, and only these are touched. Facets that take much longer than most do not hold up the report.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from temporalio import workflow

from workflows.config.policies import researching
from workflows.contracts.activity_io import Approach, Known, Reconciled, ResearchBrief, Researched
from workflows.contracts.facets import Facet
from workflows.contracts.outcomes import Failed, FindingsRef, Partial, RateLimited
from workflows.contracts.spend import Allowance, Spend
from workflows.contracts.state import Gap, ResearchState
from workflows.rules import acceptance
from workflows.rules import gaps as gap_rules
from workflows.rules.budget import is_exhausted, research_allowance
from workflows.rules.plan import job_limits
from workflows.stages.execution import Changed, group, timed
from workflows.stages.verification import Part, Pooling

WITHOUT_THE_LATE = "the report is begun without late facets"
"""A way of working that jobs of 0.3.0 and before did not know."""
MOST = 0.6
"""The share of the facets that must be back before the rest can be late."""
LEAST = timedelta(seconds=30)
"""Nobody is late before."""


@dataclass(frozen=True)
class Assignment:
    """Work for one research subagent: a facet, or a gap of one."""

    facet: Facet
    ask: str
    task: str

    @property
    def is_follow_up(self) -> bool:
        return self.task != self.facet.id


class Investigation(Pooling):
    def __init__(self, state: ResearchState, changed: Changed | None = None) -> None:
        super().__init__(state, changed)
        self._researchers = asyncio.Semaphore(state.request.parallel)
        self._promised: dict[str, Allowance] = {}
        self._waiting: set[str] = set()
        self._began: dict[str, datetime] = {}
        self._took: dict[str, float] = {}
        self._late: dict[str, asyncio.Task[Part]] = {}

    async def _investigate(
        self, wanted: Callable[[], Sequence[Assignment]], patience: float | None = None
    ) -> dict[str, Part]:
        """Research and verify what is wanted, as long as anything is, then pool what it brought.

        With `patience`, those that take so much longer than most are left to go on as `_late`.
        """
        going: dict[str, asyncio.Task[Part]] = {}
        called_back: list[asyncio.Task[Part]] = []
        try:
            while True:
                now = {assignment.task: assignment for assignment in wanted()}
                for task in [task for task in going if task not in now]:
                    going[task].cancel()
                    called_back.append(going.pop(task))
                for task, assignment in now.items():
                    if task not in going:
                        going[task] = asyncio.create_task(self._pursue(assignment))
                open_work = [work for work in going.values() if not work.done()]
                if not open_work:
                    break
                try:
                    await workflow.wait_condition(
                        lambda open_work=open_work, tasks=set(now): (  # type: ignore[misc]
                            any(work.done() for work in open_work)
                            or {assignment.task for assignment in wanted()} != tasks
                        ),
                        timeout=self._left(going, patience),
                    )
                except TimeoutError:
                    self._late = {task: work for task, work in going.items() if not work.done()}
                    break
        except (Exception, asyncio.CancelledError):
            called_back += going.values()
            for work in going.values():
                work.cancel()
            await asyncio.gather(*called_back, return_exceptions=True)
            raise
        await asyncio.gather(*called_back, return_exceptions=True)
        parts = {task: work.result() for task, work in going.items() if task not in self._late}
        if any(part.ledger for part in parts.values()):
            with timed(self.state, "verify"):
                await self._pool([part for part in parts.values() if part.ledger])
        return parts

    def _left(
        self, going: Mapping[str, asyncio.Task[Part]], patience: float | None
    ) -> timedelta | None:
        """How long the last ones are still waited for; None is as long as it takes."""
        back = [task for task, work in going.items() if work.done()]
        out = [task for task in going if task not in back]
        if patience is None or len(back) < MOST * len(going) or set(out) - set(self._began):
            return None
        typical = median(self._took[task] for task in back)
        allowed = max(timedelta(seconds=patience * typical), LEAST)
        due = max(self._began[task] for task in out) + allowed
        return max(due - workflow.now(), timedelta())

    async def _catch_up(self, gaps: Sequence[Gap], n: int) -> None:
        """Wait for the late facets and take in what they brought, for pass `n` to write up.

        One that nobody waits for any more, after a restart, is begun anew: what it had bought by
        then is in the journal.
        """
        for facet in (self._plan().facet(gap.facet_id) for gap in gaps):
            if facet.id not in self._late:
                work = self._pursue(Assignment(facet, facet.question, facet.id))
                self._late[facet.id] = asyncio.create_task(work)
        parts = {gap.id: await self._late.pop(gap.facet_id) for gap in gaps}
        if any(part.ledger for part in parts.values()):
            await self._pool([part for part in parts.values() if part.ledger])
        after = {
            gap.id: gap_rules.after_follow_up(
                gap,
                self.state.outcomes[gap.facet_id],
                ledger.claims if (ledger := parts[gap.id].ledger) else 0,
                n,
            )
            for gap in gaps
        }
        self.state.gaps = tuple(after.get(gap.id, gap) for gap in self.state.gaps)

    async def _pursue(self, assignment: Assignment) -> Part:
        """Verification of an assignment starts when it returns, not when the slowest does."""
        part = await self._pursued(assignment)
        began = self._began.get(assignment.task, workflow.now())
        self._took[assignment.task] = (workflow.now() - began).total_seconds()
        return part

    async def _pursued(self, assignment: Assignment) -> Part:
        facet = assignment.facet
        with group("facet", facet.id, facet.title):
            self._waiting.add(assignment.task)
            try:
                await workflow.wait_condition(lambda: self._ready(assignment))
                findings, checked = await self._research(assignment)
            finally:
                self._waiting.discard(assignment.task)
            if not findings:
                return Part()
            with timed(self.state, "verify", facet.id):
                return await self._check(findings, checked, assignment.task, facet)

    def _ready(self, assignment: Assignment) -> bool:
        """A facet waits for those it depends on, as long as they are in the plan."""
        needs = () if assignment.is_follow_up else assignment.facet.depends_on
        planned = {facet.id for facet in self._plan().facets}
        return all(need in self.state.outcomes or need not in planned for need in needs)

    async def _research(self, assignment: Assignment) -> tuple[tuple[str, ...], Reconciled | None]:
        """One subagent, asked again where its outcome calls for it, asked on where it is thin.

        Returns the keys of what it found, and the ledger of it where there is one of all.
        """
        found: dict[int, FindingsRef] = {}
        checked: Reconciled | None = None
        approach: Approach = "first"
        previous = ""
        retries = 0
        follow_ups: tuple[str, ...] = ()
        while True:
            answer = await self._ask(assignment, retries, approach, previous, follow_ups)
            outcome = answer.outcome
            if outcome.findings:
                found[retries], checked = outcome.findings, answer.checked
            if self._over():
                break
            again = acceptance.retry(outcome, retries)
            if again is not None:
                if isinstance(outcome, RateLimited):
                    await workflow.sleep(
                        timedelta(seconds=outcome.retry_after_seconds),
                        summary="the provider's rate limit, then ask again",
                    )
                approach, previous = again, getattr(outcome, "reason", "")
                retries += 1
                follow_ups = ()
                self.state.counters.retries += 1
                continue
            taken = acceptance.judge(outcome, follow_ups)
            self.state.acceptances[assignment.task] = taken
            question = acceptance.follow_up(assignment.ask, outcome, taken)
            if question is None:
                break
            follow_ups = (*follow_ups, question)
            self.state.counters.follow_ups += 1
        if outcome.findings is None and found:
            # An earlier try found a part before it failed; that part is kept.
            kept = list(found.values())[-1]
            outcome = Partial(findings=kept, missing=(getattr(outcome, "reason", "the rest"),))
        self.state.counters.partial += outcome.status != "found" and outcome.findings is not None
        self.state.outcomes[assignment.task] = outcome
        await self._notify()
        keys = tuple(dict.fromkeys(ref.key for ref in found.values()))
        return keys, checked if len(keys) == 1 else None

    async def _ask(
        self,
        assignment: Assignment,
        attempt: int,
        approach: Approach,
        previous: str,
        follow_ups: tuple[str, ...],
    ) -> Researched:
        async with self._researchers:
            allowance = self._share(assignment.task)
            if self._over() or allowance.is_nothing:
                return Researched(outcome=self._not_researched(assignment), spend=Spend())
            self._began.setdefault(assignment.task, workflow.now())
            counters = self.state.counters
            counters.spawned += not follow_ups
            self._waiting.discard(assignment.task)
            self._promised[assignment.task] = allowance
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
                follow_ups=follow_ups,
                cycles=job_limits(self.state).cycles,
                max_claims=job_limits(self.state).claims,
                allowance=allowance,
                seconds=seconds,
            )
            try:
                with timed(self.state, "research", assignment.facet.id):
                    answer = await self._call(
                        "research", brief, Researched, researching(seconds), assignment.facet.title
                    )
            finally:
                del self._promised[assignment.task]
                self.state.running = tuple(
                    task for task in self.state.running if task != assignment.task
                )
        self.state.book("researcher", answer.spend, assignment.facet.id)
        return answer

    def _share(self, task: str) -> Allowance:
        """What one subagent may spend: an equal share of what is not spent and not promised."""
        left = research_allowance(
            self.state.request.budget, self.state.spend, self._promised.values()
        )
        return left.divided(len(self._waiting | {task}))

    def _not_researched(self, assignment: Assignment) -> Failed:
        why, mend = (
            ("the job was told to finish", "run again without finishing early")
            if self.state.finishing
            else ("the budget was reached", "raise the budget and run again")
        )
        return Failed(
            asked=assignment.ask, reason=f"{why} before this was researched", try_instead=mend
        )

    def _over(self) -> bool:
        """True when research may not start another turn."""
        broke = is_exhausted(self.state.request.budget, self.state.spend)
        return broke or self.state.finishing

    # --- what briefs are made of ----------------------------------------------------------------

    def _known(self, assignment: Assignment) -> tuple[Known, ...]:
        """What the coordinator puts into the prompt: findings it depends on, or found before."""
        facet = assignment.facet
        wanted = (facet.id,) if assignment.is_follow_up else facet.depends_on
        return tuple(
            Known(facet=self._plan().facet(fid).title, summary=found.summary)
            for fid in wanted
            if (outcome := self.state.outcomes.get(fid)) and (found := outcome.findings)
        )

    def _known_findings(self, assignment: Assignment) -> tuple[str, ...]:
        if not assignment.is_follow_up:
            return ()
        return tuple(o.findings.key for o in self.state.outcomes.values() if o.findings)
