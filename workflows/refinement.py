"""Refinement: whether another pass is worth its price, one pass as a workflow, and how it is run.

A pass makes follow-ups for the open gaps and revises only the sections they touch. It starts from
the state the coordinator hands over, and returns the state it leaves. Known findings travel in, so
nothing finished is paid for again; only what is new is verified.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError, ChildWorkflowError, WorkflowAlreadyStartedError
from temporalio.workflow import ChildWorkflowHandle, ParentClosePolicy

with workflow.unsafe.imports_passed_through():
    from workflows.contracts.evidence import Record
    from workflows.contracts.messages import Change, Finish, Pause, Resume, Steer
    from workflows.contracts.state import LATE, Blocked, Pass, ResearchState, StopReason
    from workflows.rules import gaps as gap_rules
    from workflows.rules import steering
    from workflows.rules.budget import is_exhausted
    from workflows.rules.plan import job_limits
    from workflows.stages import evaluation, writing
    from workflows.stages.execution import Execution, group_events
    from workflows.stages.fan_out import FanOut

_RETRY_START = timedelta(seconds=1)
_START_ATTEMPTS = 60


class PassRequest(Record):
    n: int
    state: ResearchState


def stop_reason(execution: Execution) -> StopReason | None:
    """Why no further pass is worth its price; None where one is."""
    state = execution.state
    if not execution.has_claims and not state.finishing:
        return StopReason.NO_PROGRESS
    reason = gap_rules.stop(
        state.gaps,
        state.passes,
        job_limits(state).passes,
        is_exhausted(state),
        state.finishing,
    )
    if reason is StopReason.SUFFICIENT and state.draft and state.judged < state.passes[-1].n:
        # Nothing was left to judge the draft with: whether it is sufficient is not known.
        return StopReason.BUDGET
    return reason


@workflow.defn(name="RefinementWorkflow")
class RefinementWorkflow:
    @workflow.init
    def __init__(self, request: PassRequest) -> None:
        self._execution = Execution(request.state.model_copy(deep=True), self._report_blocked)
        self._fan_out = FanOut(self._execution)
        self._reported: Blocked | None = None

    @workflow.run
    async def run(self, request: PassRequest) -> ResearchState:
        state, n = self._execution.state, request.n
        started, before = workflow.now(), state.spend
        wanted = gap_rules.commissionable_gaps(state.gaps)
        # Late facets returned before this pass, which writes them up.
        late = [gap for gap in state.gaps if gap.kind == LATE and gap.closed_in == n]

        with group_events("pass", n, f"pass {n}"):
            closed = len(late) + await self._fan_out.research_gaps(n)
            touched = {gap.facet_id for gap in state.gaps if gap.answered_in == n}
            await writing.write(self._execution, revise=sorted(touched), n=n)
            await evaluation.evaluate(self._execution, n)

        state.passes += (
            Pass(
                n=n,
                gaps_in=len(wanted) + len(late),
                gaps_closed=closed,
                spend=state.spend - before,
                seconds=(workflow.now() - started).total_seconds(),
            ),
        )
        await workflow.wait_condition(workflow.all_handlers_finished)
        return state

    @workflow.query
    def state(self) -> ResearchState:
        return self._execution.state

    # Signals come from the coordinator, which receives the operators' updates.

    @workflow.signal
    async def resume(self, request: Resume) -> None:
        self._execution.resume()

    @workflow.signal
    async def steer(self, request: Steer) -> None:
        for change in request.changes:
            steering.apply(self._execution.state, change)

    @workflow.signal
    async def pause(self, request: Pause) -> None:
        self._execution.state.paused = True

    @workflow.signal
    async def finish(self, request: Finish) -> None:
        self._execution.state.finishing = True

    async def _report_blocked(self) -> None:
        """Tell the coordinator, which shows operators what this pass waits for."""
        parent, blocked = workflow.info().parent, self._execution.state.blocked
        if parent is not None and blocked != self._reported:
            self._reported = blocked
            coordinator = workflow.get_external_workflow_handle(parent.workflow_id)
            await coordinator.signal("pass_blocked", blocked)


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
        await self._execution.save_checkpoint(f"pass-{n}")

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
        wanted = len(gap_rules.commissionable_gaps(state.gaps))
        for _ in range(_START_ATTEMPTS):
            try:
                return await workflow.start_child_workflow(
                    RefinementWorkflow.run,
                    PassRequest(n=n, state=state),
                    id=f"{state.id}/pass-{n}",
                    parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
                    task_timeout=workflow.info().task_timeout,
                    static_summary=f"pass {n}: {wanted} gaps",
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
