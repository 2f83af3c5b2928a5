"""Research: one subagent per assignment, called again where its outcome asks for it.

A failed attempt is retried with the first alternative that was not tried. What was found is judged
at once; where the judge sees a critical hole, the same subagent gets a precise follow-up. A facet
whose activity fails for a cause of its own has a failed outcome; the job goes on.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError, TimeoutType

from workflows.config.policies import OVERLOAD, ActivityPolicy
from workflows.contracts.activity_io import (
    Job,
    Known,
    Reconciled,
    ResearchBrief,
    Researched,
)
from workflows.contracts.facets import Facet
from workflows.contracts.outcomes import (
    Alternative,
    Failed,
    FindingsRef,
    Partial,
    RateLimited,
    SubagentOutcome,
)
from workflows.contracts.spend import Allowance, Spend
from workflows.contracts.state import FindingsJudgement, FollowUp, LedgerRef, ResearchState
from workflows.rules import acceptance
from workflows.rules.budget import is_exhausted, research_allowance
from workflows.rules.plan import job_limits
from workflows.stages.activity_interfaces import ResearchActivities
from workflows.stages.execution import Execution
from workflows.stages.verification import Verification


def research_policy(seconds: float) -> ActivityPolicy:
    """A subagent ends by itself at its deadline; the minute above it is for handing over."""
    attempt = timedelta(seconds=seconds + 60)
    return ActivityPolicy(start_to_close=attempt, schedule_to_close=8 * attempt, attempts=10)


@dataclass(frozen=True)
class Assignment:
    """Work for one research subagent: a facet, or a gap of one."""

    facet: Facet
    ask: str
    task: str

    @property
    def is_follow_up(self) -> bool:
        return self.task != self.facet.id


@dataclass
class Attempts:
    """What the attempts at one assignment have come to so far."""

    tried: tuple[Alternative, ...] = ()
    """What each retry tried."""
    previous: SubagentOutcome | None = None
    """How the last attempt ended, where there is another one."""
    follow_ups: tuple[FollowUp, ...] = ()
    problems: tuple[str, ...] = ()
    found: dict[int, FindingsRef] = field(default_factory=dict)
    """The newest findings of each attempt."""
    checked: Reconciled | None = None
    """The ledger of the newest findings, before the judge."""
    ledger: LedgerRef | None = None
    """All that was found, judged."""
    judged: FindingsJudgement | None = None
    checks: int = 0

    @property
    def number(self) -> int:
        return len(self.tried)

    def record(self, answer: Researched) -> None:
        self.problems = tuple(dict.fromkeys((*self.problems, *answer.outcome.problems)))
        found = answer.outcome.findings
        if found is None:
            return
        known = self.found.get(self.number)
        if self.follow_ups and known:
            last = self.follow_ups[-1].model_copy(
                update={"claims_added": found.claims - known.claims}
            )
            self.follow_ups = (*self.follow_ups[:-1], last)
        self.found[self.number] = found
        self.checked = answer.checked

    def retry(self, alternative: Alternative, outcome: SubagentOutcome) -> None:
        self.previous = outcome
        self.tried += (alternative,)
        self.follow_ups = ()

    def conclude(self, outcome: SubagentOutcome) -> SubagentOutcome:
        """The outcome with what all attempts found, met and left untried."""
        updates: dict[str, object] = {"problems": self.problems}
        if outcome.findings is None and self.found:
            # An earlier attempt found a part before it failed; that part is kept.
            newest = list(self.found.values())[-1]
            outcome = Partial(findings=newest, missing=(outcome.reason,), searched=outcome.searched)
        elif left := acceptance.untried(outcome, self.tried):
            updates["alternatives"] = left
        return acceptance.with_holes(outcome.model_copy(update=updates), self.judged)


class Research:
    def __init__(self, execution: Execution, verification: Verification) -> None:
        self._execution = execution
        self._verification = verification
        self._slots = asyncio.Semaphore(execution.state.request.parallel)
        self._promised: dict[str, Allowance] = {}
        self.waiting: set[str] = set()
        """Tasks that have not started yet: they share what is left of the budget."""
        self.unaccepted: set[str] = set()
        """Tasks whose outcome is judged or followed up."""
        self.started_at: dict[str, datetime] = {}

    @property
    def _state(self) -> ResearchState:
        return self._execution.state

    async def run(self, assignment: Assignment) -> LedgerRef | None:
        """Research one assignment to its final outcome; return the judged ledger of its findings.

        An outcome is in the state while it is judged and followed up, so that a person's question
        to its facet becomes a gap; facets that depend on it wait until it is accepted.
        """
        state, task, attempts = self._state, assignment.task, Attempts()
        while True:
            answer = await self._ask(assignment, attempts)
            attempts.record(answer)
            if not self._must_stop() and self._retry(attempts, answer.outcome):
                continue
            self.unaccepted.add(task)
            state.outcomes[task] = attempts.conclude(answer.outcome)
            await self._verify(assignment, attempts)
            if self._must_stop() or not self._follow_up(assignment, attempts, answer):
                break
        self.unaccepted.discard(task)
        state.outcomes[task] = outcome = attempts.conclude(answer.outcome)
        state.counters.partial += acceptance.is_partial(outcome)
        await self._execution.notify()
        return attempts.ledger

    def _retry(self, attempts: Attempts, outcome: SubagentOutcome) -> bool:
        """Prepare the next attempt; False where there is none."""
        alternative = acceptance.choose_retry(outcome, attempts.tried)
        if alternative is None:
            return False
        attempts.retry(alternative, outcome)
        retries = self._state.counters.retries
        retries[outcome.status] = retries.get(outcome.status, 0) + 1
        return True

    async def _verify(self, assignment: Assignment, attempts: Attempts) -> None:
        """Have judged what is new since the last check."""
        if attempts.checked is None:
            return
        facet, found = assignment.facet, list(attempts.found.values())
        with self._execution.measure("verify", facet.id):
            checked = attempts.checked
            if attempts.ledger or len(found) > 1:
                keys = tuple(ref.key for ref in found)
                checked = await self._verification.reconcile(facet, keys, attempts.ledger)
            attempts.ledger, judged = await self._verification.check(
                facet,
                assignment.ask,
                found[-1],
                checked,
                f"{assignment.task}-{attempts.checks}",
            )
        attempts.checks += 1
        attempts.checked = None
        # Without new claims the judge is not asked, and its last word stands.
        attempts.judged = judged or attempts.judged

    def _follow_up(self, assignment: Assignment, attempts: Attempts, answer: Researched) -> bool:
        """Prepare a follow-up; False where the outcome is accepted."""
        state = self._state
        taken = acceptance.judge(
            answer.outcome, attempts.judged, attempts.follow_ups, answer.transcript
        )
        state.acceptances[assignment.task] = taken
        question = acceptance.choose_follow_up(
            assignment.ask, answer.outcome, taken, state.request.effort
        )
        if question is None:
            return False
        attempts.follow_ups = (*attempts.follow_ups, FollowUp(question=question))
        state.counters.follow_ups += 1
        return True

    async def _ask(self, assignment: Assignment, attempts: Attempts) -> Researched:
        """Call the subagent once, within its share of the budget."""
        state = self._state
        async with self._slots:
            allowance = self._share(assignment.task)
            if self._must_stop() or allowance.is_nothing:
                return Researched(outcome=self._not_started(assignment), spend=Spend())
            self.started_at.setdefault(assignment.task, workflow.now())
            self.waiting.discard(assignment.task)
            self._promised[assignment.task] = allowance
            state.running += (assignment.task,)
            is_new = not (attempts.follow_ups or attempts.number)
            state.counters.spawned += is_new
            state.counters.researchers += is_new
            await self._execution.notify()
            seconds = state.request.subagent_seconds
            try:
                with self._execution.measure("research", assignment.facet.id):
                    answer = await self._execution.call(
                        ResearchActivities.research,
                        self._brief(assignment, attempts, allowance, seconds),
                        research_policy(seconds),
                        assignment.facet.title,
                        park_on=self._waits_for,
                    )
            except ActivityError as error:
                return Researched(outcome=_failed(assignment, error), spend=Spend())
            finally:
                del self._promised[assignment.task]
                state.running = tuple(task for task in state.running if task != assignment.task)
        state.book("researcher", answer.spend, assignment.facet.id)
        return answer

    def _brief(
        self, assignment: Assignment, attempts: Attempts, allowance: Allowance, seconds: float
    ) -> ResearchBrief:
        limits, last = job_limits(self._state), attempts.previous
        return ResearchBrief(
            job=Job.of(self._state),
            facet=assignment.facet,
            ask=assignment.ask,
            task=assignment.task,
            known=self._known(assignment),
            known_findings=self._known_findings(assignment),
            attempt=attempts.number,
            alternative=attempts.tried[-1] if attempts.tried else None,
            previous=last.reason if last else "",
            retried_after=last.status if last else "",
            follow_ups=tuple(follow_up.question for follow_up in attempts.follow_ups),
            cycles=limits.cycles,
            max_claims=limits.claims,
            allowance=allowance,
            seconds=seconds,
        )

    def _known(self, assignment: Assignment) -> tuple[Known, ...]:
        """For the prompt: what the facets it depends on came to, or its own facet so far."""
        facet = assignment.facet
        wanted = (facet.id,) if assignment.is_follow_up else facet.depends_on
        return tuple(
            Known(
                facet=self._execution.plan.facet(fid).title,
                status=outcome.status,
                summary=outcome.findings.summary if outcome.findings else "",
                reason=outcome.reason
                or "; ".join(f"not found: {point}" for point in outcome.missing),
            )
            for fid in wanted
            if (outcome := self._state.outcomes.get(fid))
        )

    def _known_findings(self, assignment: Assignment) -> tuple[str, ...]:
        if not assignment.is_follow_up:
            return ()
        return tuple(o.findings.key for o in self._state.outcomes.values() if o.findings)

    def _share(self, task: str) -> Allowance:
        """An equal share of what is neither spent nor promised to another subagent."""
        state = self._state
        left = research_allowance(state, self._promised.values())
        return left.share(1 / len(self.waiting | {task}))

    def _waits_for(self, error: ActivityError) -> bool:
        """Whether the job waits or is parked; one told to finish waits for no rate limit."""
        return concerns_job(error) and not (self._state.finishing and _is_rate_limit(error))

    def _must_stop(self) -> bool:
        """True when research may not start another turn."""
        state = self._state
        return state.finishing or is_exhausted(state)

    def _not_started(self, assignment: Assignment) -> Failed:
        why, remedy = (
            ("the job was told to finish", "run again without finishing early")
            if self._state.finishing
            else ("the budget was reached", "raise the budget and run again")
        )
        return Failed(
            asked=assignment.ask,
            reason=f"{why} before this was researched",
            alternatives=(Alternative(kind="operator", text=remedy),),
        )


def concerns_job(error: ActivityError) -> bool:
    """Whether a failure concerns the whole job: credentials, storage, the provider, no worker.

    These have error types of our own, in lower case. An exception that has only its class for a
    type is a crash on this facet's input; a facet may also hang, or kill its workers, each time.
    """
    cause = error.cause
    if isinstance(cause, TimeoutError):
        return cause.type not in (TimeoutType.START_TO_CLOSE, TimeoutType.HEARTBEAT)
    return not isinstance(cause, ApplicationError) or (cause.type or "").islower()


def _is_rate_limit(error: ActivityError) -> bool:
    return isinstance(error.cause, ApplicationError) and error.cause.type in OVERLOAD


def _failed(assignment: Assignment, error: ActivityError) -> Failed | RateLimited:
    reason = str(getattr(error.cause, "message", "") or error.cause or error)
    if isinstance(error.cause, ApplicationError) and _is_rate_limit(error):
        wait = (error.cause.next_retry_delay or timedelta()).total_seconds()
        later = f"run again{f' after {wait:g} s' if wait else ' later'}"
        return RateLimited(
            asked=assignment.ask,
            reason=f"the provider did not answer before the job had to finish: {reason}"[:600],
            alternatives=(Alternative(kind="later", text=later, wait_seconds=wait),),
        )
    return Failed(
        asked=assignment.ask,
        reason=f"the subagent failed each time it was started: {reason}"[:600],
        alternatives=(
            Alternative(
                kind="operator",
                text=f"look at the worker's log, then restart with --facet {assignment.facet.id}",
            ),
        ),
    )
