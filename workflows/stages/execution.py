"""Calls activities for a job, stores its checkpoints, and parks it when retries are exhausted.

A parked job does not fail. It says what it waits for and what would repair it; after `resume` it
makes the same call again. A paused job waits in the same way. A store that fails and a provider
that is overloaded are waited for before the job is parked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    FailureError,
    is_cancelled_exception,
)

from workflows.config.policies import (
    DAMAGED,
    OVERLOAD,
    PAUSED,
    STORAGE,
    SUBAGENT_QUEUE,
    ActivityPolicy,
)
from workflows.config.store_keys import checkpoint_key
from workflows.contracts.activity_io import KeepCheckpoint, PostControlMessages
from workflows.contracts.evidence import Record
from workflows.contracts.facets import Plan
from workflows.contracts.messages import ControlMessages
from workflows.contracts.state import Blocked, Checkpoint, LedgerRef, ResearchState, StepTiming
from workflows.rules.status import render_details
from workflows.stages.activity_interfaces import RecordActivities
from workflows.stages.notifications import notify_callers

Brief = TypeVar("Brief", bound=Record)
Result = TypeVar("Result")
ActivityMethod = Callable[[Any, Brief], Awaitable[Result]]
StateChanged = Callable[[], Awaitable[None]]

SHORT_WRITE = ActivityPolicy(
    start_to_close=timedelta(seconds=20), schedule_to_close=timedelta(minutes=2), attempts=3
)
"""Checkpoints and control messages, written by the worker that runs the workflow."""

MAX_LOCAL_CLAIMS = 400
"""With more claims than this, a mechanical step is too long for a local activity."""

REMEDIES = {
    "authentication": "set a valid ANTHROPIC_API_KEY for the workers, then resume",
    "bad_request": "the provider refuses this request; check the model's name, then resume",
    "spend_limit": "raise the provider's spend limit, then resume",
    "bad_input": "correct the input, then resume or start again",
    "wrong_store": "set RESEARCH_STORE of all workers to the store of the job, then resume",
    STORAGE: "make room in the store or repair its access, then resume",
    "rate_limited": "raise the provider's limits or wait, then resume",
    "overloaded_error": "wait until the provider can answer, then resume",
    "refused": "start again with the question worded differently, or with another --model",
    "no_plan": "resume to try once more, or start again with another --model",
    DAMAGED: "restore the named object from a backup of the store, then resume",
}
DEFAULT_REMEDY = "look at the worker's log, repair the cause, then resume"
_PAUSE_DELAY = timedelta(seconds=2)
_SHORTEST_DELAY, _LONGEST_STORAGE_DELAY, _LONGEST_OVERLOAD_DELAY = 2.0, 30.0, 600.0
_LOCAL_ATTEMPTS = 3
"""Few: retries of a local activity keep a workflow task open. Longer waits are timers."""


class Execution:
    """The state of a job, and how its activities are called."""

    def __init__(self, state: ResearchState, on_change: StateChanged | None = None) -> None:
        self.state = state
        self._on_change = on_change
        self._resumes = 0
        self._subagents = 0
        self._parked: list[Blocked] = []
        self._waiting: list[str] = []

    @property
    def plan(self) -> Plan:
        if self.state.plan is None:
            raise ApplicationError("there is no plan yet", non_retryable=True)
        return self.state.plan

    @property
    def ledger(self) -> LedgerRef:
        if self.state.ledger is None:
            raise ApplicationError("there is no ledger yet", non_retryable=True)
        return self.state.ledger

    @property
    def has_claims(self) -> bool:
        return self.state.ledger is not None and self.state.ledger.claims > 0

    @property
    def max_claims(self) -> int:
        """How many claims the job has at most: what its subagents returned, before joining."""
        return sum(o.findings.claims for o in self.state.outcomes.values() if o.findings)

    # --- calling activities ---------------------------------------------------------------------

    async def call(
        self,
        method: ActivityMethod[Brief, Result],
        brief: Brief,
        policy: ActivityPolicy,
        summary: str,
        park_on: Callable[[ActivityError], bool] | None = None,
    ) -> Result:
        """Run an activity on a worker of the policy's queue.

        Raises ActivityError where `park_on` says that a failure does not concern the whole job.
        """

        async def run() -> Result:
            await workflow.wait_condition(lambda: not self.state.paused)
            workflow.set_current_details(render_details(self.state))
            with self._count_subagent(policy):
                return await workflow.execute_activity_method(
                    method,
                    brief,
                    task_queue=self._task_queue(policy),
                    priority=self._priority(),
                    start_to_close_timeout=policy.start_to_close,
                    schedule_to_close_timeout=policy.schedule_to_close,
                    heartbeat_timeout=timedelta(seconds=self.state.timing.heartbeat_seconds),
                    retry_policy=policy.retry_policy,
                    summary=summary[:200],
                )

        return await self._repeat_until_done(method.__name__, run, park_on)

    @contextmanager
    def _count_subagent(self, policy: ActivityPolicy) -> Iterator[None]:
        """Count the subagents that run at once, of all roles."""
        self._subagents += policy.queue == "subagents"
        counters = self.state.counters
        counters.parallel_max = max(counters.parallel_max, self._subagents)
        try:
            yield
        finally:
            self._subagents -= policy.queue == "subagents"

    async def call_local(
        self,
        method: ActivityMethod[Brief, Result],
        brief: Brief,
        policy: ActivityPolicy,
        summary: str,
    ) -> Result:
        """Run a short activity in the worker that runs this workflow, as part of its task."""

        async def run() -> Result:
            return await workflow.execute_local_activity_method(
                method,
                brief,
                start_to_close_timeout=policy.start_to_close,
                schedule_to_close_timeout=policy.schedule_to_close,
                retry_policy=replace(policy, attempts=_LOCAL_ATTEMPTS).retry_policy,
                summary=summary[:200],
            )

        return await self._repeat_until_done(method.__name__, run)

    async def _repeat_until_done(
        self,
        step: str,
        run: Callable[[], Awaitable[Result]],
        park_on: Callable[[ActivityError], bool] | None = None,
    ) -> Result:
        """Make a call until it succeeds; nothing that fails in it fails the job.

        A remote activity raises ActivityError when its retries are exhausted, a local one the bare
        ApplicationError or TimeoutError: all are FailureErrors.
        """
        failing_since: datetime | None = None
        while True:
            try:
                return await run()
            except FailureError as error:
                if is_cancelled_exception(error):
                    raise
                if park_on and isinstance(error, ActivityError) and not park_on(error):
                    raise
                failing_since = failing_since or workflow.now()
                if await self._handle_failure(step, error, workflow.now() - failing_since):
                    failing_since = None

    async def call_mechanical(
        self,
        method: ActivityMethod[Brief, Result],
        brief: Brief,
        policy: ActivityPolicy,
        summary: str,
    ) -> Result:
        """Run an activity that needs no model: locally, unless the job has very many claims."""
        if self.max_claims > MAX_LOCAL_CLAIMS:
            return await self.call(method, brief, policy, summary)
        await workflow.wait_condition(lambda: not self.state.paused)
        return await self.call_local(method, brief, policy, summary)

    async def post_control_messages(self, *, paused: bool | None = None) -> None:
        """Store what running subagents look up before each model call."""
        messages = ControlMessages(
            notes=self.state.notes,
            paused=self.state.paused if paused is None else paused,
            finishing=self.state.finishing,
        )
        posted = await self.call_local(
            RecordActivities.post_control_messages,
            PostControlMessages(job_id=self.state.id, messages=messages),
            SHORT_WRITE,
            "tell running subagents",
        )
        self.state.subagent_queue = posted.subagent_queue
        self.state.timing = posted.timing

    def _task_queue(self, policy: ActivityPolicy) -> str:
        if policy.queue == "coordinator":
            return workflow.info().task_queue
        return self.state.subagent_queue or SUBAGENT_QUEUE

    def _priority(self) -> Priority:
        request = self.state.request
        return Priority(
            priority_key=request.priority,
            fairness_key=request.tenant or None,
            fairness_weight=request.weight if request.tenant else None,
        )

    async def _handle_failure(self, step: str, error: FailureError, failing: timedelta) -> bool:
        """Return when the same call is to be made again; True where a person said so."""
        cause = (error.cause if isinstance(error, ActivityError) else None) or error
        kind = (cause.type or "") if isinstance(cause, ApplicationError) else ""
        reason = str(getattr(cause, "message", "") or cause)
        if kind == PAUSED:
            if not self.state.paused:
                # The subagent read the control messages before this workflow changed its own
                # state, or read the ones of a pause that is over.
                await workflow.sleep(_PAUSE_DELAY, summary="wait until the pause is known here")
        elif kind == STORAGE and failing.total_seconds() < self.state.timing.storage_wait_seconds:
            await self._wait(reason, failing, _LONGEST_STORAGE_DELAY)
        elif kind in OVERLOAD and failing.total_seconds() < self.state.timing.overload_wait_seconds:
            asked = cause.next_retry_delay if isinstance(cause, ApplicationError) else None
            await self._wait(reason, failing, _LONGEST_OVERLOAD_DELAY, asked or timedelta())
        else:
            await self.park(step, reason, REMEDIES.get(kind, DEFAULT_REMEDY))
            return True
        return False

    async def _wait(
        self, reason: str, failing: timedelta, longest: float, asked: timedelta = timedelta()
    ) -> None:
        """Most trouble ends without anybody's help; the status says what is waited for.

        The pause is as long again as the trouble has lasted (2, 2, 4, 8, … seconds up to the
        longest), and at least what the provider asked for. `resume` and `finish` end it.
        """
        waiting = reason[:2000]
        self._waiting.append(waiting)
        self.state.waiting_for = self._waiting[0]
        await self.notify()
        delay = max(_SHORTEST_DELAY, min(longest, failing.total_seconds()), asked.total_seconds())
        resumes, finishing = self._resumes, self.state.finishing
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self._resumes > resumes or self.state.finishing > finishing,
                timeout=delay,
                timeout_summary="wait for the store or the provider",
            )
        self._waiting.remove(waiting)
        self.state.waiting_for = self._waiting[0] if self._waiting else ""

    async def save_checkpoint(self, name: str) -> None:
        """Store the state under a name that `restart` and `fork` can start from."""
        state = self.state
        key = checkpoint_key(state.id, workflow.info().run_id, len(state.checkpoints), name)
        point = Checkpoint(
            name=name,
            phase=state.phase,
            at=workflow.now().isoformat(),
            turns=state.spend.turns,
            usd=state.spend.usd,
            key=key,
        )
        state.checkpoints += (point,)
        kept_at = await self.call_local(
            RecordActivities.keep_checkpoint,
            KeepCheckpoint(key=key, state=state),
            SHORT_WRITE,
            f"save the checkpoint {name}",
        )
        # A run that was reset replays this: the checkpoint is under the run that stored it.
        state.checkpoints = tuple(
            known.model_copy(update={"key": kept_at}) if known.key == key else known
            for known in state.checkpoints
        )
        await notify_callers(state, name)

    # --- parking --------------------------------------------------------------------------------

    async def park(self, step: str, reason: str, remedy: str) -> None:
        """Wait for `resume`."""
        blocked = Blocked(
            step=step, reason=reason[:2000], remedy=remedy, since=workflow.now().isoformat()
        )
        resumes = self._resumes
        self._parked.append(blocked)
        self.state.blocked = self._parked[0]
        await self.notify()
        try:
            await workflow.wait_condition(lambda: self._resumes > resumes)
        finally:
            # Other calls may be parked as well: the job is blocked until the last one goes on.
            self._parked.remove(blocked)
            self.state.blocked = self._parked[0] if self._parked else None
        await self.notify()

    def resume(self) -> None:
        self._resumes += 1
        self.state.blocked = None
        self.state.paused = False

    async def notify(self) -> None:
        """Tell the workflow that the state changed."""
        if self._on_change:
            await self._on_change()

    @contextmanager
    def measure(self, step: str, facet_id: str = "") -> Iterator[None]:
        """Enter how long the body took into the timeline, if it ends without an error."""
        began, n = self._elapsed(), len(self.state.passes)
        yield
        # Not in a `finally`: a run that is evicted from the cache in the body has no clock.
        self.state.timeline += (
            StepTiming(step=step, facet_id=facet_id, n=n, began=began, ended=self._elapsed()),
        )

    def _elapsed(self) -> float:
        started = datetime.fromisoformat(self.state.started_at)
        return round((workflow.now() - started).total_seconds(), 3)


def group_events(kind: str, which: str | int, label: str) -> AbstractContextManager[None]:
    """Show what the body calls as one group in the Temporal UI.

    The label is encrypted where there are keys; the id is not, so a word in it becomes a digest.
    """
    if isinstance(which, str):
        which = hashlib.sha256(which.encode()).hexdigest()[:8]
    return workflow.create_event_group(f"{kind}-{which}", label=label[:200]).scope()
