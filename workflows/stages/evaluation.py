"""Evaluation: judge the draft against the question, and decide whether another pass is worth it."""

from __future__ import annotations

from datetime import timedelta

from workflows.config.policies import ActivityPolicy
from workflows.contracts.activity_io import EvaluateBrief, Job
from workflows.contracts.state import Phase
from workflows.rules import gaps as gap_rules
from workflows.rules.budget import writing_allowance
from workflows.rules.plan import job_limits
from workflows.rules.status import facet_reports
from workflows.stages.activity_interfaces import EvaluationActivities
from workflows.stages.execution import Execution

EVALUATION = ActivityPolicy(
    start_to_close=timedelta(minutes=15), schedule_to_close=timedelta(minutes=60), attempts=10
)


async def evaluate(execution: Execution, n: int = 0) -> None:
    """Judge the draft of pass `n`; what it lacks becomes gaps."""
    state = execution.state
    if state.draft is None or state.judged >= n:
        return
    allowance = writing_allowance(state)
    if not (allowance.is_nothing or state.finishing):
        state.phase = Phase.EVALUATING
        brief = EvaluateBrief(
            job=Job.of(state, allowance),
            plan=execution.plan,
            ledger=execution.ledger,
            draft=state.draft,
            reports=facet_reports(state),
            gaps=state.gaps,
            rubric=state.request.rubric,
            n=n,
            task=f"evaluate-{n}",
        )
        with execution.measure("evaluate"):
            evaluated = await execution.call(
                EvaluationActivities.evaluate, brief, EVALUATION, "judge the draft"
            )
        state.plan, found = gap_rules.widen(
            execution.plan, evaluated.gaps, job_limits(state).facets
        )
        state.gaps = gap_rules.merge(state.gaps, found)
        state.answer = evaluated.answer
        state.gaps = gap_rules.close_met_points(state.gaps, evaluated.rubric, n)
        state.rubric = evaluated.rubric
        state.book("evaluator", evaluated.spend)
        state.judged = n
