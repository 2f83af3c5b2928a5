"""The coordinator: one research job, from the question to the cited report.

    plan → review → (approve) → research ∥ (each facet verified as it returns) → write → evaluate
         → [a refinement pass in a child workflow]* → publish

The whole job is one `ResearchState`, readable by query at any moment. A run that is given a state
continues from it: that is restart, fork and continue-as-new.
"""

from __future__ import annotations

import asyncio

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from pydantic import ValidationError

    from workflows.contracts.facets import Plan
    from workflows.contracts.messages import (
        CANCELLED,
        FAILED,
        MAX_LISTENERS,
        Approve,
        Finish,
        Join,
        Joined,
        OperatorMessage,
        Pause,
        Resume,
        Steer,
    )
    from workflows.contracts.request import ResearchRequest
    from workflows.contracts.result import ReportPage, ResearchResult, ResearchSummary, Status
    from workflows.contracts.state import Blocked, Gap, Pass, Phase, ResearchState, StopReason
    from workflows.refinement import RefinementPasses, stop_reason
    from workflows.rules import steering
    from workflows.rules.gaps import explain_open
    from workflows.rules.report_paging import report_page
    from workflows.rules.status import describe_status
    from workflows.stages import evaluation, planning, publishing, writing
    from workflows.stages.execution import Execution
    from workflows.stages.fan_out import FanOut
    from workflows.stages.notifications import Visibility, send_webhook


@workflow.defn(name="ResearchWorkflow")
class ResearchWorkflow:
    @workflow.init
    def __init__(
        self, request: ResearchRequest | None = None, state: ResearchState | None = None
    ) -> None:
        state, self._invalid = (state, "") if state else _initial_state(request)
        self._started, self._earlier_seconds = workflow.now(), state.seconds
        self._visibility = Visibility()
        self._execution = Execution(state, self._show)
        self._approval = planning.PlanApproval(self._execution)
        self._fan_out = FanOut(self._execution)
        self._passes = RefinementPasses(self._execution)
        self._callers = 0
        self._report: ResearchResult | None = None

    @workflow.run
    async def run(
        self, request: ResearchRequest | None = None, state: ResearchState | None = None
    ) -> ResearchSummary:
        try:
            with self._visibility.record_end():
                if self._invalid:
                    raise ApplicationError(self._invalid, type="bad_input", non_retryable=True)
                return await self._research(self._execution)
        except (asyncio.CancelledError, FailureError) as error:
            is_cancelled = is_cancelled_exception(error)
            await send_webhook(self._execution.state, CANCELLED if is_cancelled else FAILED)
            raise

    async def _research(self, job: Execution) -> ResearchSummary:
        await self._show()
        # Replaces the control messages that an earlier run of this id may have left.
        await job.post_control_messages()
        publishing.find_previous_report(job)
        await planning.open_corpus(job)
        while not job.state.approved:
            await planning.plan(job)
            await planning.review(job)
            await self._approval.request()
        await self._fan_out.research_facets()
        await writing.write(job)
        await evaluation.evaluate(job)
        await self._close_first_draft()
        await self._fan_out.await_late_facets()
        while (reason := stop_reason(job)) is None:
            await self._continue_as_new_if_suggested()
            await self._passes.run_next()
        self._record_stop(reason)
        self._report, summary = await publishing.publish(job, self._elapsed())
        await self._show()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return summary

    async def _continue_as_new_if_suggested(self) -> None:
        if workflow.info().is_continue_as_new_suggested():
            await workflow.wait_condition(workflow.all_handlers_finished)
            state = self._execution.state.model_copy(update={"seconds": self._elapsed()})
            workflow.continue_as_new(args=[state.request, state])

    async def _close_first_draft(self) -> None:
        state = self._execution.state
        if not state.passes:
            state.passes += (Pass(n=0, spend=state.spend, seconds=self._elapsed()),)
            state.seconds = self._elapsed()
            await self._execution.save_checkpoint("evaluated")

    def _record_stop(self, reason: StopReason) -> None:
        state = self._execution.state
        state.stop_reason = reason
        state.gaps = explain_open(state.gaps, reason)
        last = state.passes[-1].model_copy(update={"stop_reason": reason})
        state.passes = (*state.passes[:-1], last)

    def _elapsed(self) -> float:
        return self._earlier_seconds + (workflow.now() - self._started).total_seconds()

    async def _show(self) -> None:
        self._visibility.update(self._execution.state)

    # --- queries --------------------------------------------------------------------------------

    @workflow.query
    def status(self) -> Status:
        return describe_status(self._execution.state, self._approval.deadline)

    @workflow.query
    def plan(self) -> Plan | None:
        return self._execution.state.plan

    @workflow.query
    def gaps(self) -> tuple[Gap, ...]:
        return self._execution.state.gaps

    @workflow.query
    def state(self) -> ResearchState:
        return self._execution.state

    @workflow.query
    def report_page(self, page: int = 0) -> ReportPage:
        """A part of the full report's JSON, for callers that cannot read the store."""
        if self._report is None:
            raise ApplicationError("there is no report yet: ask when the job has completed")
        return report_page(self._report, page)

    # --- signals and updates --------------------------------------------------------------------

    @workflow.signal
    async def pass_blocked(self, blocked: Blocked | None) -> None:
        self._execution.state.blocked = blocked
        await self._show()

    @workflow.update
    async def join(self, request: Join) -> Joined:
        """For update-with-start: a caller who asks the same joins the job."""
        state, self._callers = self._execution.state, self._callers + 1
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
    def _validate_join(self, request: Join) -> None:
        if request.notify and len(self._execution.state.listeners) >= MAX_LISTENERS:
            raise ValueError(f"{MAX_LISTENERS} callers are told already: join without `notify`")

    @workflow.update
    async def resume(self, request: Resume) -> str:
        """Repeat the call that failed, here or in the running pass; lift a pause."""
        self._record("resume", request)
        if self._execution.state.paused:
            # Before anything is called: a subagent must not read the messages of the pause.
            await self._execution.post_control_messages(paused=False)
        self._execution.resume()
        await self._passes.forward("resume", request)
        await self._show()
        return "resumed"

    @resume.validator
    def _validate_resume(self, request: Resume) -> None:
        state = self._execution.state
        if not (state.blocked or state.paused or state.waiting_for):
            raise ValueError("this job is neither blocked nor paused; there is nothing to resume")

    @workflow.update
    async def approve(self, request: Approve) -> str:
        self._record(request.decision, request)
        self._approval.take_answer(request)
        return "approved" if request.decision == "approve" else "rejected"

    @approve.validator
    def _validate_approve(self, request: Approve) -> None:
        if why := steering.check_approval(self._execution.state, request):
            raise ValueError(why)

    @workflow.update
    async def steer(self, request: Steer) -> str:
        self._record("steer", request)
        for change in request.changes:
            steering.apply(self._execution.state, change)
        self._passes.record_changes(request.changes)
        await self._apply_control("steer", request)
        return f"{len(request.changes)} changes taken"

    @steer.validator
    def _validate_steer(self, request: Steer) -> None:
        # On a copy: a change may depend on the one before it.
        state = self._execution.state.model_copy()
        for change in request.changes:
            if why := steering.check_change(state, change):
                raise ValueError(why)
            steering.apply(state, change)

    @workflow.update
    async def pause(self, request: Pause) -> str:
        """Make no more model calls; turns in flight are kept."""
        self._record("pause", request)
        self._execution.state.paused = True
        await self._apply_control("pause", request)
        return "paused"

    @pause.validator
    def _validate_pause(self, request: Pause) -> None:
        self._refuse_if_finished()

    @workflow.update
    async def finish(self, request: Finish) -> str:
        """Running subagents answer with what they have; the report is written from it."""
        self._record("finish", request)
        self._execution.state.finishing = True
        await self._apply_control("finish", request)
        return "finishing"

    @finish.validator
    def _validate_finish(self, request: Finish) -> None:
        self._refuse_if_finished()
        if self._execution.state.phase is Phase.APPROVING:
            raise ValueError("the plan waits for approval: approve or reject it, or cancel the job")

    def _record(self, act: str, message: OperatorMessage) -> None:
        self._execution.state.record_act(act, message.by, workflow.now().isoformat())

    def _refuse_if_finished(self) -> None:
        if self._execution.state.phase is Phase.FINISHED:
            raise ValueError("the report is being put together already")

    async def _apply_control(self, name: str, message: Steer | Pause | Finish) -> None:
        """Pass a message on: to running subagents, to the running pass, to the UI."""
        await self._execution.post_control_messages()
        await self._passes.forward(name, message)
        await self._show()


def _initial_state(request: object) -> tuple[ResearchState, str]:
    """The state a job begins with, and what is wrong with a request that cannot be used.

    The request may be anything here: the SDK leaves plain JSON as it is where fewer arguments are
    sent than declared. An exception would fail the workflow task and leave the caller waiting, so
    the run ends with the message instead.
    """
    info = workflow.info()
    job, now = info.workflow_id, workflow.now().isoformat()
    try:
        known, invalid = ResearchRequest.model_validate(request), ""
    except ValidationError as error:
        known = ResearchRequest.model_construct(question="")
        faults = [(".".join(map(str, f["loc"])), f["msg"]) for f in error.errors()[:5]]
        if not isinstance(request, dict):
            faults = [("request", "it is an object that has a `question`")]
        invalid = "the request cannot be used, correct it and start again: " + "; ".join(
            f"{field}: {why}" for field, why in faults
        )
    # A scheduled job asks anew each time: journaled answers would hide what changed.
    journal = f"{job}/{info.first_execution_run_id}" if known.report_changes else job
    state = ResearchState(id=job, journal=journal, request=known, started_at=now)
    state.record_act("start", known.by, now)
    return state, invalid
