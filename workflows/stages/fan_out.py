"""The fan-out: assignments researched in parallel, each one verified as soon as it returns.

The fan-out follows the plan while it changes: a facet that is added starts, one that is dropped is
cancelled, the others are not touched. Facets that take much longer than most do not hold up the
report: they go on while it is written, and a refinement pass adds them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from statistics import median

from temporalio import workflow

from workflows.contracts.activity_io import GapFollowUp
from workflows.contracts.state import Gap, LedgerRef, Phase
from workflows.rules import gaps as gap_rules
from workflows.rules.budget import affordable_gaps
from workflows.stages.execution import Execution, group_events
from workflows.stages.research import Assignment, Research
from workflows.stages.verification import Verification

MOST = 0.6
"""The share of the facets that must have returned before the rest can be late."""
MINIMUM_WAIT = timedelta(seconds=30)
"""No facet is late before this."""

Tasks = dict[str, asyncio.Task[LedgerRef | None]]
"""Each ends with the verified ledger of what it found; None where it found nothing."""


class FanOut:
    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._verification = Verification(execution)
        self._research = Research(execution, self._verification)
        self._took: dict[str, float] = {}
        self._late: Tasks = {}

    async def research_facets(self) -> None:
        """Research every facet of the plan, unless that is done."""
        state = self._execution.state
        if state.researched:
            return
        state.phase = Phase.RESEARCHING
        await self._run(
            lambda: [Assignment(f, f.question, f.id) for f in self._execution.plan.facets],
            state.request.patience,
        )
        plan = self._execution.plan
        found = gap_rules.from_research(plan, state.outcomes)
        found += gap_rules.from_lost_claims(plan, state.ledger)
        found += gap_rules.from_late_facets(f for f in plan.facets if f.id in self._late)
        state.gaps = gap_rules.merge(state.gaps, found)
        state.researched = True
        await self._execution.save_checkpoint("researched")

    async def research_gaps(self, n: int) -> int:
        """Follow up the open gaps; return how many were closed."""
        state = self._execution.state
        state.phase = Phase.REFINING
        known = state.ledger
        # What the pass cannot pay for stays open.
        gaps = gap_rules.next_gaps(state.gaps, affordable_gaps(state, len(state.gaps)))
        assignments = [
            Assignment(self._execution.plan.facet(gap.facet_id), gap.question, gap.id)
            for gap in gaps
        ]
        parts = await self._run(lambda: assignments)
        for gap in gaps:
            # A facet that was added after the research has no outcome but its gap's.
            state.outcomes.setdefault(gap.facet_id, state.outcomes[gap.id])
        return await self._close_gaps(gaps, parts, known, n)

    async def await_late_facets(self) -> None:
        """Wait for the late facets, whose findings the next pass writes up.

        After a restart nothing runs any more: such a facet starts again, and finds its completed
        turns in the journal.
        """
        late = gap_rules.late_gaps(self._execution.state.gaps)
        if not late:
            return
        for facet in (self._execution.plan.facet(gap.facet_id) for gap in late):
            if facet.id not in self._late:
                assignment = Assignment(facet, facet.question, facet.id)
                self._late[facet.id] = asyncio.create_task(self._pursue(assignment))
        parts = {gap.facet_id: await self._late.pop(gap.facet_id) for gap in late}
        await self._pool(parts.values())
        state, n = self._execution.state, len(self._execution.state.passes)
        after = [
            gap_rules.after_late_facet(gap, state.outcomes[gap.facet_id], parts[gap.facet_id], n)
            for gap in late
        ]
        state.gaps = gap_rules.update(state.gaps, after)
        lost = gap_rules.from_lost_claims(self._execution.plan, state.ledger)
        state.gaps = gap_rules.merge(state.gaps, lost)

    async def _close_gaps(
        self,
        gaps: Sequence[Gap],
        parts: Mapping[str, LedgerRef | None],
        known: LedgerRef | None,
        n: int,
    ) -> int:
        """Have judged what the follow-ups brought; return how many gaps were closed."""
        state = self._execution.state
        follow_ups = [
            GapFollowUp(
                gap=gap,
                ledger=ledger,
                said=found.summary,
                missing=outcome.missing or found.missing,
            )
            for gap in gaps
            if (ledger := parts[gap.id])
            and ledger.claims
            and (found := (outcome := state.outcomes[gap.id]).findings)
        ]
        with self._execution.measure("verify"):
            rulings = await self._verification.judge_gaps(known, follow_ups, n)
        after = [
            gap_rules.after_follow_up(gap, state.outcomes[gap.id], rulings.get(gap.id), n)
            for gap in gaps
        ]
        state.gaps = gap_rules.update(state.gaps, after)
        return sum(gap.status == "closed" for gap in after)

    # --- running assignments side by side -------------------------------------------------------

    async def _run(
        self, wanted: Callable[[], Sequence[Assignment]], patience: float | None = None
    ) -> dict[str, LedgerRef | None]:
        """Research and verify what is wanted, then pool the ledgers.

        `wanted` is asked again whenever a task ends or the plan changes. With `patience`, tasks
        that take so many times longer than most are left running in `_late`.
        """
        running: Tasks = {}
        cancelled: list[asyncio.Task[LedgerRef | None]] = []
        try:
            while True:
                cancelled += self._follow_plan(running, wanted())
                if all(work.done() for work in running.values()):
                    break
                try:
                    await self._wait_for_change(running, wanted, self._time_left(running, patience))
                except TimeoutError:
                    self._late = {task: work for task, work in running.items() if not work.done()}
                    break
        except (Exception, asyncio.CancelledError):
            for work in running.values():
                work.cancel()
            await asyncio.gather(*cancelled, *running.values(), return_exceptions=True)
            raise
        await asyncio.gather(*cancelled, return_exceptions=True)
        parts = {task: work.result() for task, work in running.items() if task not in self._late}
        await self._pool(parts.values())
        return parts

    def _follow_plan(
        self, running: Tasks, assignments: Sequence[Assignment]
    ) -> list[asyncio.Task[LedgerRef | None]]:
        """Start tasks that are new; cancel and return those that are no longer wanted."""
        wanted = {assignment.task for assignment in assignments}
        dropped = [running.pop(task) for task in list(running) if task not in wanted]
        for work in dropped:
            work.cancel()
        for assignment in assignments:
            if assignment.task not in running:
                running[assignment.task] = asyncio.create_task(self._pursue(assignment))
        return dropped

    async def _wait_for_change(
        self,
        running: Tasks,
        wanted: Callable[[], Sequence[Assignment]],
        at_most: timedelta | None,
    ) -> None:
        """Return when a task ended or other assignments are wanted; raise TimeoutError."""
        unfinished = [work for work in running.values() if not work.done()]
        tasks = set(running)
        await workflow.wait_condition(
            lambda: (
                any(work.done() for work in unfinished)
                or {assignment.task for assignment in wanted()} != tasks
            ),
            timeout=at_most,
            timeout_summary="how long the last facets are waited for",
        )

    def _time_left(self, running: Tasks, patience: float | None) -> timedelta | None:
        """How long the unfinished tasks are still waited for; None is as long as it takes."""
        done = [task for task, work in running.items() if work.done()]
        unfinished = set(running) - set(done)
        started = self._research.started_at
        if patience is None or len(done) < MOST * len(running) or unfinished - set(started):
            return None
        typical = median(self._took[task] for task in done)
        allowed = max(timedelta(seconds=patience * typical), MINIMUM_WAIT)
        due = max(started[task] for task in unfinished) + allowed
        return max(due - workflow.now(), timedelta())

    async def _pursue(self, assignment: Assignment) -> LedgerRef | None:
        """Research one assignment and verify it when it returns, not when the slowest does."""
        facet, task = assignment.facet, assignment.task
        with group_events("facet", facet.id, facet.title):
            self._research.waiting.add(task)
            try:
                await workflow.wait_condition(lambda: self._is_ready(assignment))
                ledger = await self._research.run(assignment)
            finally:
                self._research.waiting.discard(task)
        started = self._research.started_at.get(task, workflow.now())
        self._took[task] = (workflow.now() - started).total_seconds()
        return ledger

    def _is_ready(self, assignment: Assignment) -> bool:
        """A facet waits for those it depends on, as long as they are in the plan."""
        needs = () if assignment.is_follow_up else assignment.facet.depends_on
        planned = {facet.id for facet in self._execution.plan.facets}
        accepted = self._execution.state.outcomes.keys() - self._research.unaccepted
        return all(need in accepted or need not in planned for need in needs)

    async def _pool(self, parts: Iterable[LedgerRef | None]) -> None:
        ledgers = [ledger for ledger in parts if ledger]
        if ledgers:
            with self._execution.measure("verify"):
                await self._verification.pool(ledgers)
