"""The coordinator: one research job, from the question to the cited report.

    plan → review → (approve) → research ∥ (each facet verified as it returns) → write → evaluate
         → [a refinement pass in a child workflow]* → publish

Plan, gap list and all else stand in one `ResearchState`, readable by query at any moment. A run
that is given a state goes on from it: that is restart, fork and continue-as-new.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import ApplicationError, ChildWorkflowError, WorkflowAlreadyStartedError
from temporalio.workflow import ChildWorkflowHandle, ParentClosePolicy

with workflow.unsafe.imports_passed_through():
    from pydantic import ValidationError

    from workflows.config.policies import WORKFLOW_TASK
    from workflows.contracts.facets import Plan
    from workflows.contracts.messages import (
        MAX_LISTENERS,
        Approve,
        Change,
        Finish,
        Join,
        Joined,
        Pause,
        Resume,
        Steer,
    )
    from workflows.contracts.request import ResearchRequest
    from workflows.contracts.result import ResearchResult, Status
    from workflows.contracts.state import Blocked, Gap, Pass, Phase, ResearchState, StopReason
    from workflows.refinement import PassRequest, RefinementWorkflow
    from workflows.rules.gaps import commissionable
    from workflows.rules.status import details, standing, status
    from workflows.rules.steering import apply, plan_refusal, refusal
    from workflows.stages.execution import group
    from workflows.stages.steps import Steps

PHASE = SearchAttributeKey.for_keyword("ResearchPhase")
STATUS = SearchAttributeKey.for_keyword("ResearchStatus")
MODEL = SearchAttributeKey.for_keyword("ResearchModel")
BLOCKED = "blocked"
"""The memo that says why a job waits, for lists: no worker has to be there to answer."""

_CLOSING = timedelta(seconds=1)
_CLOSINGS = 60


@workflow.defn(name="ResearchWorkflow")
class ResearchWorkflow:
    @workflow.init
    def __init__(self, request: ResearchRequest, state: ResearchState | None = None) -> None:
        state, self._wrong = (state, "") if state else _opened(request)
        self._steps = Steps(state, self._show)
        self._began = workflow.now()
        self._earlier = state.seconds
        self._pass: ChildWorkflowHandle[RefinementWorkflow, ResearchState] | None = None
        self._said: list[Change] = []
        self._answer: Approve | None = None
        self._approve_by: str | None = None
        self._shown: tuple[Any, ...] = ()
        self._callers = 0

    @workflow.run
    async def run(
        self, request: ResearchRequest, state: ResearchState | None = None
    ) -> ResearchResult:
        if self._wrong:
            raise ApplicationError(self._wrong, type="bad_input", non_retryable=True)
        steps = self._steps
        await self._show()
        # An earlier run of this id may have left orders that no longer hold.
        steps.state.ways = await steps.post_orders()
        await steps.look_back()
        await steps.open_corpus()
        while not steps.state.approved:
            await steps.plan()
            await steps.review()
            await self._approve()
        await steps.research_facets()
        await steps.write()
        await steps.evaluate()
        await self._close_first_draft()
        await steps.catch_up()
        while (reason := steps.stop_reason()) is None:
            await self._turn_the_page()
            await self._refine()
        self._record_stop(reason)
        result = await steps.publish(self._elapsed())
        await self._show()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return result

    async def _approve(self) -> None:
        """Wait for a person's word on the plan, where one was asked for, until the deadline."""
        state, approval = self._steps.state, self._steps.state.request.approval
        if approval is None:
            state.approved = True
            return
        state.phase, self._answer = Phase.APPROVING, None
        deadline = timedelta(seconds=approval.seconds)
        self._approve_by = (workflow.now() + deadline).isoformat()
        await self._show()
        try:
            await workflow.wait_condition(
                lambda: self._answer is not None,
                timeout=deadline,
                timeout_summary="how long the plan waits for a person's word",
            )
        except TimeoutError:
            self._answer = Approve(decision=approval.default)
        finally:
            self._approve_by = None
        answer = self._answer or Approve()
        if answer.decision == "reject" and not answer.note:
            raise ApplicationError(
                "the plan was rejected; restart the job from `planned` to take it after all",
                type="rejected",
                non_retryable=True,
            )
        await self._steps.settle_plan(answer)

    async def _refine(self) -> None:
        """One pass, in a child workflow. One that ends behind our back is started again."""
        steps, n = self._steps, len(self._steps.state.passes)
        self._said = []
        while True:
            try:
                with group("pass", n, f"pass {n}"):
                    self._pass = await self._start_pass(n)
                    await self._repeat_orders()
                passed = await self._pass
                break
            except ChildWorkflowError as error:
                if (task := asyncio.current_task()) and task.cancelling():
                    raise
                reason = f"the pass ended before its time: {error.cause or error}"
                await steps.park(f"pass-{n}", reason, "see why in the pass's history, then resume")
            finally:
                self._pass = None
        before = steps.state
        # What was said meanwhile reached the pass as well, or came too late for it.
        steps.state = passed.model_copy(
            update={
                "notes": before.notes,
                "paused": before.paused,
                "finishing": before.finishing,
                "listeners": before.listeners,
                "blocked": None,
            }
        )
        steps.steer(self._said)
        await steps.checkpoint(f"pass-{n}")

    async def _start_pass(self, n: int) -> ChildWorkflowHandle[RefinementWorkflow, ResearchState]:
        state = self._steps.state
        for _ in range(_CLOSINGS):
            try:
                return await workflow.start_child_workflow(
                    RefinementWorkflow.run,
                    PassRequest(n=n, state=state),
                    id=f"{state.id}/pass-{n}",
                    parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
                    task_timeout=WORKFLOW_TASK,
                    static_summary=f"pass {n}: {len(commissionable(state.gaps))} gaps",
                )
            except WorkflowAlreadyStartedError:
                # A pass of an earlier run of this job is still closing.
                await workflow.sleep(_CLOSING, summary="an earlier run's pass is still closing")
        await self._steps.park(
            f"pass-{n}",
            "a pass of an earlier run is still open",
            f"terminate the workflow {state.id}/pass-{n}, then resume",
        )
        return await self._start_pass(n)

    async def _repeat_orders(self) -> None:
        """What was said while the pass was being started has not reached it."""
        if self._steps.state.paused:
            await self._tell_pass("pause", Pause())
        if self._steps.state.finishing:
            await self._tell_pass("finish", Finish())

    async def _turn_the_page(self) -> None:
        """A long job goes on in a new run before its history grows large."""
        if workflow.info().is_continue_as_new_suggested():
            await workflow.wait_condition(workflow.all_handlers_finished)
            state = self._steps.state.model_copy(update={"seconds": self._elapsed()})
            workflow.continue_as_new(args=[state.request, state])

    async def _close_first_draft(self) -> None:
        state = self._steps.state
        if not state.passes:
            state.passes += (Pass(n=0, spend=state.spend, seconds=self._elapsed()),)
            state.seconds = self._elapsed()
            await self._steps.checkpoint("evaluated")

    def _record_stop(self, reason: StopReason) -> None:
        state = self._steps.state
        state.stop_reason = reason
        last = state.passes[-1].model_copy(update={"stop_reason": reason})
        state.passes = (*state.passes[:-1], last)

    def _elapsed(self) -> float:
        return self._earlier + (workflow.now() - self._began).total_seconds()

    async def _show(self) -> None:
        """What the Temporal UI and the list of jobs show. Nothing confidential goes in here."""
        state = self._steps.state
        workflow.set_current_details(details(state))
        shown = (state.phase, standing(state), state.request.model, state.blocked)
        if shown == self._shown:
            return
        if state.blocked or (self._shown and self._shown[-1]):
            told = state.blocked.model_dump(mode="json") if state.blocked else None
            workflow.upsert_memo({BLOCKED: told})
        self._shown = shown
        workflow.upsert_search_attributes(
            [
                PHASE.value_set(state.phase),
                STATUS.value_set(standing(state)),
                MODEL.value_set(state.request.model),
            ]
        )

    # --- questions ------------------------------------------------------------------------------

    @workflow.query
    def status(self) -> Status:
        return status(self._steps.state, self._approve_by)

    @workflow.query
    def plan(self) -> Plan | None:
        return self._steps.state.plan

    @workflow.query
    def gaps(self) -> tuple[Gap, ...]:
        return self._steps.state.gaps

    @workflow.query
    def state(self) -> ResearchState:
        return self._steps.state

    # --- words ----------------------------------------------------------------------------------

    @workflow.signal
    async def pass_blocked(self, blocked: Blocked | None) -> None:
        self._steps.state.blocked = blocked
        await self._show()

    @workflow.update
    async def join(self, request: Join) -> Joined:
        """For update-with-start: who asks the same joins the job, and may hear of it as well."""
        state, self._callers = self._steps.state, self._callers + 1
        if request.notify and request.notify not in (state.request.notify, *state.listeners):
            state.listeners += (request.notify,)
        return Joined(
            id=state.id,
            run_id=workflow.info().run_id,
            started_at=state.started_at,
            phase=state.phase,
            callers=self._callers,
        )

    @join.validator
    def _must_have_room(self, request: Join) -> None:
        if request.notify and len(self._steps.state.listeners) >= MAX_LISTENERS:
            raise ValueError(f"{MAX_LISTENERS} callers are told already: join without `notify`")

    @workflow.update
    async def resume(self, request: Resume) -> str:
        """Ask again exactly what failed, here or in the running pass; lift a pause."""
        if self._steps.state.paused:
            # First the orders: a subagent that is sent on must not find the old ones.
            await self._steps.post_orders(paused=False)
        self._steps.resume()
        await self._tell_pass("resume", request)
        await self._show()
        return "resumed"

    @resume.validator
    def _must_wait(self, request: Resume) -> None:
        state = self._steps.state
        if state.blocked is None and not state.paused:
            raise ValueError("this job is neither blocked nor paused; there is nothing to resume")

    @workflow.update
    async def approve(self, answer: Approve) -> str:
        if not self._steps.state.approved:
            self._answer = answer
        return "approved" if answer.decision == "approve" else "rejected"

    @approve.validator
    def _must_fit(self, answer: Approve) -> None:
        if why := plan_refusal(self._steps.state, answer):
            raise ValueError(why)

    @workflow.update
    async def steer(self, order: Steer) -> str:
        self._steps.steer(order.changes)
        self._said += order.changes
        await self._steps.post_orders()
        await self._tell_pass("steer", order)
        await self._show()
        return f"{len(order.changes)} changes taken"

    @steer.validator
    def _must_be_possible(self, order: Steer) -> None:
        # On a copy: a change may rest on the one before it.
        state = self._steps.state.model_copy()
        for change in order.changes:
            if why := refusal(state, change):
                raise ValueError(why)
            apply(state, change)

    @workflow.update
    async def pause(self, order: Pause) -> str:
        """Nothing is bought from now on; turns in flight are kept."""
        self._steps.state.paused = True
        await self._steps.post_orders()
        await self._tell_pass("pause", order)
        await self._show()
        return "paused"

    @workflow.update
    async def finish(self, order: Finish) -> str:
        """Running subagents hand over what they have; the report is written from it."""
        self._steps.state.finishing = True
        await self._steps.post_orders()
        await self._tell_pass("finish", order)
        await self._show()
        return "finishing"

    @pause.validator
    def _must_run(self, order: Pause) -> None:
        self._not_over()

    @finish.validator
    def _must_have_begun(self, order: Finish) -> None:
        self._not_over()
        if self._steps.state.phase is Phase.APPROVING:
            raise ValueError("the plan waits for approval: approve or reject it, or cancel the job")

    def _not_over(self) -> None:
        if self._steps.state.phase is Phase.FINISHED:
            raise ValueError("the report is being put together already")

    async def _tell_pass(self, name: str, word: Resume | Steer | Pause | Finish) -> None:
        if self._pass is not None:
            try:
                await self._pass.signal(name, word)
            except ApplicationError:
                # It closed in this moment; what was said is applied to what it hands back.
                workflow.logger.info("the pass had closed before it heard %s", name)


def _opened(request: ResearchRequest) -> tuple[ResearchState, str]:
    """The state a job begins with, and what is wrong with the request where it cannot be used.

    The request may still be plain JSON here: the state reads it. An error would leave the job open,
    and its caller waiting, until somebody read a worker's log; so the run ends with what it says.
    """
    info, wrong = workflow.info(), ""
    job, now = info.workflow_id, workflow.now().isoformat()
    try:
        state = ResearchState(id=job, journal=job, request=request, started_at=now)
    except ValidationError as error:
        faults = [(".".join(map(str, f["loc"][1:])), f["msg"]) for f in error.errors()[:5]]
        wrong = "the request cannot be used, correct it and start again: " + "; ".join(
            f"{field}: {why}" for field, why in faults
        )
        empty = ResearchRequest.model_construct(question="")
        state = ResearchState(id=job, journal=job, request=empty, started_at=now)
    if state.request.report_changes:
        # What a schedule asks again is bought again: old answers would hide what changed.
        state.journal = f"{job}/{info.first_execution_run_id}"
    return state, wrong
