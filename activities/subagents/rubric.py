"""The asker's own points: whether a draft meets each of them, and the gaps that are left."""

from __future__ import annotations

from collections.abc import Iterable

from activities.agent.schemas import EvaluationAnswer, RubricAnswer
from activities.evidence.ledger import Ledger
from workflows.contracts.activity_io import EvaluateBrief
from workflows.contracts.state import Gap, RubricVerdict
from workflows.rules.gaps import rubric_gap_id

MAX_GAPS = 8
"""Points that one pass takes up; the next takes the others."""


class Rubric:
    """The points of one request, held against the evaluator's answer."""

    def __init__(self, brief: EvaluateBrief, ledger: Ledger) -> None:
        self._brief = brief
        self._numbers = set(ledger.numbers.values())

    async def complaints(self, answer: EvaluationAnswer) -> list[str]:
        """What is wrong with the evaluator's judgement of the points."""
        missing = set(range(1, len(self._brief.rubric) + 1)) - {a.point for a in answer.rubric}
        wrong = [f"point {n} of the rubric is not judged" for n in sorted(missing)]
        wrong += [
            f"[{n}] at point {a.point} of the rubric names no source"
            for a in answer.rubric
            for n in a.cite
            if n not in self._numbers
        ]
        return wrong

    def verdicts(self, answers: Iterable[RubricAnswer]) -> tuple[RubricVerdict, ...]:
        """One for every point; what the evaluator passed over is unjudged."""
        given = {answer.point: answer for answer in answers}
        return tuple(
            RubricVerdict(
                point=point,
                status=answer.status,
                reason=answer.reason,
                cite=tuple(n for n in answer.cite if n in self._numbers),
            )
            if (answer := given.get(number))
            else RubricVerdict(point=point, reason="the evaluator gave no judgement")
            for number, point in enumerate(self._brief.rubric, 1)
        )

    def gaps(self, answers: Iterable[RubricAnswer]) -> tuple[Gap, ...]:
        """The points that are not met, and were not found out before."""
        known = {gap.id for gap in self._brief.gaps}
        facets = [facet.id for facet in self._brief.plan.facets]
        points = dict(enumerate(self._brief.rubric, 1))
        gaps = [
            Gap(
                id=rubric_gap_id(answer.point),
                kind="missing" if answer.status == "not_met" else "thin",
                facet_id=answer.facet_id if answer.facet_id in facets else facets[0],
                text=f"“{points[answer.point]}” is not met: {answer.reason}"[:600],
                question=points[answer.point],
                opened_in=self._brief.n,
            )
            for answer in answers
            if answer.status != "met" and answer.point in points
        ]
        return tuple(gap for gap in gaps if gap.id not in known)[:MAX_GAPS]
