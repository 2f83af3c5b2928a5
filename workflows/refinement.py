"""One refinement pass: targeted follow-ups for the open gaps, and only the sections they touch.

A pass starts from the state the coordinator hands over and gives back the state it leaves behind.
Nothing finished is bought again: known findings travel in, and only what is new is verified.
"""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from workflows.contracts.evidence import Record
    from workflows.contracts.messages import Finish, Pause, Resume, Steer
    from workflows.contracts.state import LATE, Blocked, Pass, ResearchState
    from workflows.rules.gaps import commissionable
    from workflows.stages.execution import group
    from workflows.stages.steps import Steps


class PassRequest(Record):
    n: int
    state: ResearchState


@workflow.defn(name="RefinementWorkflow")
class RefinementWorkflow:
    @workflow.init
    def __init__(self, request: PassRequest) -> None:
        self._steps = Steps(request.state.model_copy(deep=True), self._tell_coordinator)
        self._told: Blocked | None = None

    @workflow.run
    async def run(self, request: PassRequest) -> ResearchState:
        steps, state, n = self._steps, self._steps.state, request.n
        began, before = workflow.now(), state.spend
        wanted = commissionable(state.gaps)

        # Facets that came late were taken in before; they are written up here.
        caught_up = [gap for gap in state.gaps if gap.kind == LATE and gap.closed_in == n]
        with group("pass", n, f"pass {n}"):
            closed = len(caught_up) + await steps.research_gaps(n)
            touched = {g.facet_id for g in state.gaps if g.closed_in == n}
            await steps.write(revise=sorted(touched), n=n)
            await steps.evaluate(n)

        state.passes += (
            Pass(
                n=n,
                gaps_in=len(wanted) + len(caught_up),
                gaps_closed=closed,
                spend=state.spend - before,
                seconds=(workflow.now() - began).total_seconds(),
            ),
        )
        await workflow.wait_condition(workflow.all_handlers_finished)
        return state

    @workflow.query
    def state(self) -> ResearchState:
        return self._steps.state

    # All talk goes through the coordinator: these are its words.

    @workflow.signal
    async def resume(self, request: Resume) -> None:
        self._steps.resume()

    @workflow.signal
    async def steer(self, order: Steer) -> None:
        self._steps.steer(order.changes)

    @workflow.signal
    async def pause(self, order: Pause) -> None:
        self._steps.state.paused = True

    @workflow.signal
    async def finish(self, order: Finish) -> None:
        self._steps.state.finishing = True

    async def _tell_coordinator(self) -> None:
        """It shows an operator what this pass waits for."""
        parent, blocked = workflow.info().parent, self._steps.state.blocked
        if parent is not None and blocked != self._told:
            self._told = blocked
            coordinator = workflow.get_external_workflow_handle(parent.workflow_id)
            await coordinator.signal("pass_blocked", blocked)
