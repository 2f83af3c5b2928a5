"""Calling an activity, and waiting for an operator when its retries are spent.

A job is parked, not failed: it says what it waits for and what would mend it, and when someone says
go on it asks again exactly what failed. A paused job waits the same way, with nothing to mend.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from workflows.config.policies import HEARTBEAT, KEEPING, MECHANICAL, PAUSED, Policy
from workflows.contracts.evidence import Record
from workflows.contracts.request import TASK_QUEUE
from workflows.contracts.state import Blocked, ResearchState, Span
from workflows.rules.status import details

Result = TypeVar("Result", bound=Record)
T = TypeVar("T")
Changed = Callable[[], Awaitable[None]]

REMEDIES = {
    "authentication": "set a valid ANTHROPIC_API_KEY for the workers, then resume",
    "bad_request": "the provider refuses this request; check the model's name, then resume",
    "spend_limit": "raise the provider's spend limit, then resume",
    "bad_input": "mend the input, then resume or start again",
    "storage": "make room in the store or mend its access, then resume",
}
_HEARSAY = timedelta(seconds=2)
ON_THE_SPOT = "mechanical steps on the spot"
"""A way of working that jobs of 0.3.0 and before did not know."""
AT_HOME = "subagents on the job's own queue"
"""A way of working where every worker takes both: the server hands over a subagent with the word
that one is wanted, and nobody has to ask for it."""
FEW_CLAIMS = 400
"""Up to so many a ledger is pooled in a fraction of a second."""
_NOTED = {
    "keep_checkpoint": "keep a checkpoint",
    "keep_previous": "keep the last run's result",
}
LOOK = "look at the worker's log, mend the cause, then resume"


def group(kind: str, which: str | int, label: str) -> AbstractContextManager[None]:
    """What is called inside stands together in the Temporal UI.

    The label is sealed where there are keys; the id never is, so a word in it is a digest.
    """
    if isinstance(which, str):
        which = hashlib.sha256(which.encode()).hexdigest()[:8]
    return workflow.create_event_group(f"{kind}-{which}", label=label[:200]).scope()


class Calls:
    """A job's state, and the ways it calls an activity."""

    def __init__(self, state: ResearchState, changed: Changed | None = None) -> None:
        self.state = state
        self._changed = changed
        self._resumes = 0
        self._parked: list[Blocked] = []

    def resume(self) -> None:
        self._resumes += 1
        self.state.blocked = None
        self.state.paused = False

    async def park(self, step: str, reason: str, remedy: str) -> None:
        """Wait until somebody says go on."""
        blocked = Blocked(
            step=step, reason=reason[:2000], remedy=remedy, since=workflow.now().isoformat()
        )
        seen = self._resumes
        self._parked.append(blocked)
        self.state.blocked = self._parked[0]
        await self._notify()
        try:
            await workflow.wait_condition(lambda: self._resumes > seen)
        finally:
            # Others may be parked as well; the job is free when the last of them is.
            self._parked.remove(blocked)
            self.state.blocked = self._parked[0] if self._parked else None
        await self._notify()

    async def _call(
        self, name: str, brief: Record, result: type[Result], policy: Policy, summary: str
    ) -> Result:
        while True:
            await workflow.wait_condition(lambda: not self.state.paused)
            workflow.set_current_details(details(self.state))
            try:
                answer: Result = await workflow.execute_activity(
                    name,
                    brief,
                    task_queue=TASK_QUEUE if AT_HOME in self.state.ways else policy.queue,
                    priority=self._priority(),
                    result_type=result,
                    start_to_close_timeout=policy.attempt,
                    schedule_to_close_timeout=policy.overall,
                    heartbeat_timeout=HEARTBEAT,
                    retry_policy=policy.retry,
                    summary=summary[:200],
                )
                return answer
            except ActivityError as error:
                await self._failed(name, error)

    async def _mechanical(
        self, name: str, brief: Record, result: type[Result], claims: int, summary: str
    ) -> Result:
        """What needs no model: done on the spot, unless there is so much of it that others wait."""
        if ON_THE_SPOT not in self.state.ways or claims > FEW_CLAIMS:
            return await self._call(name, brief, result, MECHANICAL, summary)
        await workflow.wait_condition(lambda: not self.state.paused)
        return await self._here(name, brief, result, MECHANICAL, summary)

    async def _note_down(self, name: str, note: Record) -> None:
        """A short write by the worker that runs the job: a checkpoint, orders for subagents."""
        await self._here(name, note, object, KEEPING, _NOTED[name])

    async def _here(
        self, name: str, brief: Record, result: type[T], policy: Policy, summary: str
    ) -> T:
        """By the worker that runs the job, as a part of running it: no other has to be found."""
        while True:
            try:
                answer: T = await workflow.execute_local_activity(
                    name,
                    brief,
                    result_type=result,
                    start_to_close_timeout=policy.attempt,
                    schedule_to_close_timeout=policy.overall,
                    retry_policy=policy.retry,
                    summary=summary[:200],
                )
                return answer
            except ActivityError as error:
                await self._failed(name, error)

    async def _failed(self, step: str, error: ActivityError) -> None:
        """Returns when the same call is to be made again."""
        if is_cancelled_exception(error):
            raise error
        cause = error.cause or error
        kind = (cause.type or "") if isinstance(cause, ApplicationError) else ""
        if kind != PAUSED:
            reason = str(getattr(cause, "message", "") or cause)
            await self.park(step, reason, REMEDIES.get(kind, LOOK))
        elif not self.state.paused:
            # The subagent knew of the pause before this workflow did, or still knows of an old one.
            await workflow.sleep(_HEARSAY, summary="wait for word of the pause")

    def _priority(self) -> Priority:
        request = self.state.request
        if not request.tenant:
            return Priority(priority_key=request.priority)
        return Priority(
            priority_key=request.priority,
            fairness_key=request.tenant,
            fairness_weight=request.weight,
        )

    async def _notify(self) -> None:
        if self._changed:
            await self._changed()


@contextmanager
def timed(state: ResearchState, step: str, facet_id: str = "") -> Iterator[None]:
    """Enter what is done inside into the timeline, once it is done."""
    began, n = _elapsed(state), len(state.passes)
    yield
    # Not in a `finally`: a run that is put out of memory in the middle has no clock any more.
    span = Span(step=step, facet_id=facet_id, n=n, began=began, ended=_elapsed(state))
    state.timeline += (span,)


def _elapsed(state: ResearchState) -> float:
    try:
        start = datetime.fromisoformat(state.started_at)
    except ValueError:
        return 0.0
    start = start if start.tzinfo else start.replace(tzinfo=UTC)
    return round((workflow.now() - start).total_seconds(), 3)
