"""Calling an activity, and waiting for an operator when its retries are spent.

A job is parked, not failed: it says what it waits for and what would mend it, and when someone says
go on it asks again exactly what failed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from workflows.contracts import Blocked, ResearchState
from workflows.evidence import Record
from workflows.policies import HEARTBEAT, Policy

Result = TypeVar("Result", bound=Record)
Changed = Callable[[], Awaitable[None]]

REMEDIES = {
    "authentication": "set a valid ANTHROPIC_API_KEY for the workers, then resume",
    "bad_request": "the provider refuses this request; check the model's name, then resume",
    "spend_limit": "raise the provider's spend limit, then resume",
    "bad_input": "mend the input, then resume or start again",
    "storage": "make room in the store or mend its access, then resume",
}


class Calls:
    """A job's state, and the one way it calls an activity."""

    def __init__(self, state: ResearchState, changed: Changed | None = None) -> None:
        self.state = state
        self._changed = changed
        self._resumes = 0

    def resume(self) -> None:
        self._resumes += 1
        self.state.blocked = None

    async def _call(
        self, name: str, brief: Record, result: type[Result], policy: Policy, summary: str
    ) -> Result:
        while True:
            try:
                answer: Result = await workflow.execute_activity(
                    name,
                    brief,
                    result_type=result,
                    start_to_close_timeout=policy.attempt,
                    schedule_to_close_timeout=policy.overall,
                    heartbeat_timeout=HEARTBEAT,
                    retry_policy=policy.retry,
                    summary=summary[:200],
                )
                return answer
            except ActivityError as error:
                if is_cancelled_exception(error):
                    raise
                await self._park(name, error)

    async def _park(self, step: str, error: ActivityError) -> None:
        cause = error.cause or error
        kind = cause.type if isinstance(cause, ApplicationError) and cause.type else ""
        seen = self._resumes
        self.state.blocked = Blocked(
            step=step,
            reason=str(getattr(cause, "message", "") or cause)[:2000],
            remedy=REMEDIES.get(kind, "look at the worker's log, mend the cause, then resume"),
            since=workflow.now().isoformat(),
        )
        await self._notify()
        await workflow.wait_condition(lambda: self._resumes > seen)
        await self._notify()

    async def _notify(self) -> None:
        if self._changed:
            await self._changed()
