"""Approval: the plan waits for a person's answer, until a deadline."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows.contracts.messages import Approve
from workflows.contracts.state import Phase
from workflows.stages import planning
from workflows.stages.execution import Execution


class PlanApproval:
    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._answer: Approve | None = None
        self.deadline: str | None = None
        """Until when the plan waits; None while it does not."""

    def take_answer(self, answer: Approve) -> None:
        if not self._execution.state.approved:
            self._answer = answer

    async def request(self) -> None:
        """Wait for an answer to the plan, if the request asks for one, and apply it."""
        state = self._execution.state
        approval = state.request.approval
        if approval is None:
            state.approved = True
            return
        state.phase, self._answer = Phase.APPROVING, None
        timeout = timedelta(seconds=approval.seconds)
        self.deadline = (workflow.now() + timeout).isoformat()
        await self._execution.notify()
        try:
            await workflow.wait_condition(
                lambda: self._answer is not None,
                timeout=timeout,
                timeout_summary="how long the plan waits for an answer",
            )
        except TimeoutError:
            self._answer = Approve(decision=approval.default)
        finally:
            self.deadline = None
        answer = self._answer or Approve()
        if answer.decision == "reject" and not answer.note:
            raise ApplicationError(
                "the plan was rejected; restart the job from `planned` to accept it after all",
                type="rejected",
                non_retryable=True,
            )
        await planning.settle(self._execution, answer)
