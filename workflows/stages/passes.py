"""Refinement passes: each one is a child workflow that takes the state and returns it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError, ChildWorkflowError, WorkflowAlreadyStartedError
from temporalio.workflow import ChildWorkflowHandle, ParentClosePolicy

from workflows.contracts.messages import Change, Finish, Pause, Resume, Steer
from workflows.contracts.state import ResearchState
from workflows.refinement import PassRequest, RefinementWorkflow
from workflows.rules import steering
from workflows.rules.gaps import commissionable_gaps
from workflows.stages.checkpoints import save_checkpoint
from workflows.stages.execution import Execution, group_events

_RETRY_START = timedelta(seconds=1)
_START_ATTEMPTS = 60


class RefinementPasses:
    """Runs refinement passes, and forwards operators' messages to the one that runs."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._child: ChildWorkflowHandle[RefinementWorkflow, ResearchState] | None = None
        self._changes: list[Change] = []

    async def run_next(self) -> None:
        """Run one pass and take over the state it returns."""
        n = len(self._execution.state.passes)
        self._changes = []
        refined = await self._run(n)
        current = self._execution.state
        # Messages that arrived during the pass reached it as well, or came too late for it.
        self._execution.state = refined.model_copy(
            update={
                "notes": current.notes,
                "acts": current.acts,
                "paused": current.paused,
                "finishing": current.finishing,
                "listeners": current.listeners,
                "blocked": None,
            }
        )
        for change in self._changes:
            steering.apply(self._execution.state, change)
        await save_checkpoint(self._execution, f"pass-{n}")

    def record_changes(self, changes: Sequence[Change]) -> None:
        """Changes to apply to the state that the running pass returns."""
        self._changes += changes

    async def forward(self, signal: str, message: Resume | Steer | Pause | Finish) -> None:
        """Signal the running pass, if there is one."""
        if self._child is not None:
            try:
                await self._child.signal(signal, message)
            except ApplicationError:
                # It has just closed; the change is applied to the state it returns.
                workflow.logger.info("the pass had closed before it received %s", signal)

    async def _run(self, n: int) -> ResearchState:
        """The state a pass returns. A pass that is ended from outside is started again."""
        while True:
            try:
                with group_events("pass", n, f"pass {n}"):
                    self._child = await self._start(n)
                    await self._repeat_controls()
                return await self._child
            except ChildWorkflowError as error:
                if (task := asyncio.current_task()) and task.cancelling():
                    raise
                reason = f"the pass ended early: {error.cause or error}"
                await self._execution.park(
                    f"pass-{n}", reason, "see why in the pass's history, then resume"
                )
            finally:
                self._child = None

    async def _start(self, n: int) -> ChildWorkflowHandle[RefinementWorkflow, ResearchState]:
        state = self._execution.state
        for _ in range(_START_ATTEMPTS):
            try:
                return await workflow.start_child_workflow(
                    RefinementWorkflow.run,
                    PassRequest(n=n, state=state),
                    id=f"{state.id}/pass-{n}",
                    parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
                    task_timeout=workflow.info().task_timeout,
                    static_summary=f"pass {n}: {len(commissionable_gaps(state.gaps))} gaps",
                )
            except WorkflowAlreadyStartedError:
                await workflow.sleep(_RETRY_START, summary="an earlier run's pass is still closing")
        await self._execution.park(
            f"pass-{n}",
            "a pass of an earlier run is still open",
            f"terminate the workflow {state.id}/pass-{n}, then resume",
        )
        return await self._start(n)

    async def _repeat_controls(self) -> None:
        """Repeat what arrived while the pass was being started."""
        if self._execution.state.paused:
            await self.forward("pause", Pause())
        if self._execution.state.finishing:
            await self.forward("finish", Finish())
