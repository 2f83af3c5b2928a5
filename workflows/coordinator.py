"""The coordinator: one research job, from the question to the cited report.

    plan → review → research ∥ (each facet verified as it returns) → write → evaluate
         → [a refinement pass in a child workflow]* → publish

Plan, gap list and all else stand in one `ResearchState`, readable by query at any moment.
"""

from __future__ import annotations

from datetime import datetime

from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.workflow import ChildWorkflowHandle, ParentClosePolicy

with workflow.unsafe.imports_passed_through():
    from workflows import gaps as gap_rules
    from workflows.contracts import (
        Blocked,
        ResearchRequest,
        ResearchResult,
        ResearchState,
        Resume,
        Status,
    )
    from workflows.gaps import Gap, Pass, StopReason
    from workflows.plan import Plan
    from workflows.refinement import PassRequest, RefinementWorkflow
    from workflows.steps import Steps
    from workflows.views import details, status

PHASE = SearchAttributeKey.for_keyword("ResearchPhase")
STATUS = SearchAttributeKey.for_keyword("ResearchStatus")
MODEL = SearchAttributeKey.for_keyword("ResearchModel")


@workflow.defn(name="ResearchWorkflow")
class ResearchWorkflow:
    @workflow.init
    def __init__(self, request: ResearchRequest) -> None:
        job = workflow.info().workflow_id
        state = ResearchState(
            id=job, journal=job, request=request, started_at=workflow.now().isoformat()
        )
        self._steps = Steps(state, self._show)
        self._pass: ChildWorkflowHandle[RefinementWorkflow, ResearchState] | None = None

    @workflow.run
    async def run(self, request: ResearchRequest) -> ResearchResult:
        steps = self._steps
        await self._show()
        await steps.open_corpus()
        await steps.plan()
        await steps.review()
        await steps.research_facets()
        await steps.write()
        await steps.evaluate()
        self._close_first_draft()
        while (reason := self._stop_reason()) is None:
            await self._refine()
        self._record_stop(reason)
        result = await steps.publish(self._elapsed())
        await self._show()
        return result

    async def _refine(self) -> None:
        state = self._steps.state
        n = len(state.passes)
        self._pass = await workflow.start_child_workflow(
            RefinementWorkflow.run,
            PassRequest(n=n, state=state),
            id=f"{state.id}/pass-{n}",
            parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
            static_summary=f"pass {n}: {len(gap_rules.commissionable(state.gaps))} gaps",
        )
        try:
            self._steps.state = await self._pass
        finally:
            self._pass = None

    def _stop_reason(self) -> StopReason | None:
        state = self._steps.state
        if self._steps.nothing_found:
            return StopReason.NO_PROGRESS
        exhausted = state.request.budget.exhausted(state.spend)
        return gap_rules.stop(state.gaps, state.passes, state.limits.passes, exhausted)

    def _close_first_draft(self) -> None:
        state = self._steps.state
        state.passes += (Pass(n=0, spend=state.spend, seconds=self._elapsed()),)

    def _record_stop(self, reason: StopReason) -> None:
        state = self._steps.state
        state.stop_reason = reason
        last = state.passes[-1].model_copy(update={"stop_reason": reason})
        state.passes = (*state.passes[:-1], last)

    def _elapsed(self) -> float:
        began = datetime.fromisoformat(self._steps.state.started_at)
        return (workflow.now() - began).total_seconds()

    async def _show(self) -> None:
        """What the Temporal UI and the list of jobs show. Nothing confidential goes in here."""
        state = self._steps.state
        workflow.set_current_details(details(state))
        workflow.upsert_search_attributes(
            [
                PHASE.value_set(state.phase),
                STATUS.value_set("blocked" if state.blocked else "running"),
                MODEL.value_set(state.request.model),
            ]
        )

    # --- messages -------------------------------------------------------------------------------

    @workflow.query
    def status(self) -> Status:
        return status(self._steps.state)

    @workflow.query
    def plan(self) -> Plan | None:
        return self._steps.state.plan

    @workflow.query
    def gaps(self) -> tuple[Gap, ...]:
        return self._steps.state.gaps

    @workflow.query
    def state(self) -> ResearchState:
        return self._steps.state

    @workflow.signal
    async def pass_blocked(self, blocked: Blocked | None) -> None:
        self._steps.state.blocked = blocked
        await self._show()

    @workflow.update
    async def resume(self, request: Resume) -> str:
        """Ask again exactly what failed, here or in the running pass."""
        if self._pass is not None:
            await self._pass.signal(RefinementWorkflow.resume, request)
        self._steps.resume()
        return "resumed"

    @resume.validator
    def _must_be_blocked(self, request: Resume) -> None:
        if self._steps.state.blocked is None:
            raise ValueError("this job is not blocked; there is nothing to resume")
