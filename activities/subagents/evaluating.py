"""The evaluator: judges the draft against the question, and names what it lacks.

The model judges and proposes gaps; rules decide what becomes of it. A facet judged thin or absent
is a gap, also where the model names none. A gap outside all facets asks for a facet to be added.
A question that was searched in vain is not asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from temporalio import activity

from activities.agent.conversation import Unanswered
from activities.agent.messages import JsonObject
from activities.agent.schemas import EvaluationAnswer, GapAnswer, RubricAnswer
from activities.context import ActivityContext
from activities.evidence.draft import Draft
from activities.evidence.ledger import Ledger, origin_count, origins
from activities.evidence.publish import assemble_body
from activities.evidence.text.terms import terms
from activities.fleet.heartbeat import send_heartbeats
from activities.subagents.prompt_parts import describe_contradictions, describe_facets
from workflows.config.roles import EVALUATOR
from workflows.contracts.activity_io import EvaluateBrief, Evaluated
from workflows.contracts.state import AnswerJudgement, Gap, RubricVerdict
from workflows.rules.gaps import PARTIAL, late_gaps, rubric_gap_id
from workflows.stages.activity_interfaces import EvaluationActivities

_SAME_QUESTION = 0.8
"""The share of terms that two wordings of one question have in common."""
_MAX_RUBRIC_GAPS = 8
"""Points of the asker that one pass takes up; the next takes the others."""


class Evaluating(EvaluationActivities):
    def __init__(self, context: ActivityContext) -> None:
        self._context = context

    @activity.defn
    async def evaluate(self, brief: EvaluateBrief) -> Evaluated:
        store = self._context.store
        async with send_heartbeats():
            subagent = await self._context.create_subagent(EVALUATOR, brief.job, brief.task)
            ledger = await store.load(brief.ledger.key, Ledger)
            draft = await store.load(brief.draft.key, Draft)
            numbers = set(ledger.numbers.values())

            async def complain(answer: EvaluationAnswer) -> list[str]:
                return _rubric_faults(brief, answer.rubric, numbers)

            reply = await subagent.converse(
                EvaluationAnswer, build_brief(brief, ledger, draft), gate=complain
            )
        if isinstance(reply, Unanswered):
            # The draft is kept; that it was not judged is a gap that the report names.
            gap = Gap(
                id=f"unjudged-{brief.n}",
                kind="failed",
                facet_id=brief.plan.facets[0].id,
                text=f"The draft could not be judged against the question: {reply.detail}"[:600],
                question=brief.job.question[:600],
                status="failed",
                opened_in=brief.n,
                reason=reply.detail,
            )
            unjudged = _judge_points(brief, (), numbers)
            return Evaluated(gaps=(gap,), rubric=unjudged, spend=subagent.spend)
        return Evaluated(
            gaps=(*find_gaps(brief, reply.answer), *_find_unmet_points(brief, reply.answer)),
            answer=judge_answer(reply.answer),
            rubric=_judge_points(brief, reply.answer.rubric, numbers),
            spend=subagent.spend,
        )


def judge_answer(answer: EvaluationAnswer) -> AnswerJudgement | None:
    """Whether the question is answered: the evaluator's word, else what its judgements add up to.

    None where it judged nothing.
    """
    if answer.answered:
        return AnswerJudgement(status=answer.answered, reason=answer.answered_reason)
    depths = {judgement.depth for judgement in answer.judgements}
    if not depths:
        return None
    if "adequate" in depths:
        return AnswerJudgement(status="answered")
    if depths == {"absent"}:
        return AnswerJudgement(status="unanswered", reason="Nothing that was found bears on it.")
    return AnswerJudgement(
        status="partly", reason="What was found is related and does not answer it directly."
    )


def find_gaps(brief: EvaluateBrief, answer: EvaluationAnswer) -> tuple[Gap, ...]:
    """The gaps of a draft: those the evaluator names, and those its judgements amount to."""
    late = {gap.facet_id for gap in late_gaps(brief.gaps)}
    known = {facet.id for facet in brief.plan.facets}
    # What was searched in vain bars its own question, in these words or others.
    barred = [gap.question for gap in brief.gaps if gap.status in ("absent", "failed", "partly")]
    wanted = [
        gap.model_copy(update={"facet_id": gap.facet_id if gap.facet_id in known else ""})
        for gap in answer.gaps
        if gap.facet_id not in late and not any(_ask_the_same(gap.question, q) for q in barred)
    ]
    named = {gap.facet_id for gap in wanted}
    named |= {gap.facet_id for gap in brief.gaps if gap.status != "closed"}
    wanted += _unnamed(brief, answer, named | late)
    return tuple(
        Gap(
            id=f"gap-{brief.n}-{i + 1}",
            kind=gap.kind,
            facet_id=gap.facet_id,
            title=gap.title,
            text=gap.text,
            question=gap.question,
            opened_in=brief.n,
        )
        for i, gap in enumerate(wanted)
    )


def _unnamed(
    brief: EvaluateBrief, answer: EvaluationAnswer, named: set[str]
) -> Iterator[GapAnswer]:
    """A gap for every facet judged thin or absent that has none."""
    facets = {facet.id: facet for facet in brief.plan.facets}
    for judgement in answer.judgements:
        facet = facets.get(judgement.facet_id)
        if facet and judgement.depth != "adequate" and facet.id not in named:
            state = "thin" if judgement.depth == "thin" else "not covered"
            yield GapAnswer(
                facet_id=facet.id,
                kind="thin" if judgement.depth == "thin" else "missing",
                text=f"“{facet.title}” is {state}: {judgement.reason}"[:600],
                question=facet.question[:600],
            )


def _ask_the_same(one: str, other: str) -> bool:
    a, b = set(terms(one)), set(terms(other))
    return a == b or len(a & b) >= _SAME_QUESTION * len(a | b)


def _rubric_faults(
    brief: EvaluateBrief, answers: Iterable[RubricAnswer], numbers: set[int]
) -> list[str]:
    """What is wrong with the evaluator's judgement of the asker's own points."""
    missing = set(range(1, len(brief.rubric) + 1)) - {answer.point for answer in answers}
    return [
        *(f"point {n} of the rubric is not judged" for n in sorted(missing)),
        *(
            f"[{n}] at point {answer.point} of the rubric names no source"
            for answer in answers
            for n in answer.cite
            if n not in numbers
        ),
    ]


def _judge_points(
    brief: EvaluateBrief, answers: Iterable[RubricAnswer], numbers: set[int]
) -> tuple[RubricVerdict, ...]:
    """A verdict on every point of the asker; what the evaluator passed over is unjudged."""
    given = {answer.point: answer for answer in answers}
    return tuple(
        RubricVerdict(
            point=point,
            status=answer.status,
            reason=answer.reason,
            cite=tuple(n for n in answer.cite if n in numbers),
        )
        if (answer := given.get(number))
        else RubricVerdict(point=point, reason="the evaluator gave no judgement")
        for number, point in enumerate(brief.rubric, 1)
    )


def _find_unmet_points(brief: EvaluateBrief, answer: EvaluationAnswer) -> list[Gap]:
    """The points that are not met, and were not found out before."""
    known = {gap.id for gap in brief.gaps}
    facets = [facet.id for facet in brief.plan.facets]
    points = dict(enumerate(brief.rubric, 1))
    return [
        Gap(
            id=rubric_gap_id(judged.point),
            kind="missing" if judged.status == "not_met" else "thin",
            facet_id=judged.facet_id if judged.facet_id in facets else facets[0],
            text=f"“{points[judged.point]}” is not met: {judged.reason}"[:600],
            question=points[judged.point],
            opened_in=brief.n,
        )
        for judged in answer.rubric
        if judged.status != "met"
        and judged.point in points
        and rubric_gap_id(judged.point) not in known
    ][:_MAX_RUBRIC_GAPS]


def build_brief(brief: EvaluateBrief, ledger: Ledger, draft: Draft) -> JsonObject:
    origin = origins(ledger)
    return {
        "question": brief.job.question,
        "today": brief.job.today,
        "kind": brief.plan.kind,
        "facets": describe_facets(brief.plan, brief.reports),
        "claims": [
            claim.model_dump(include={"id", "facet_id", "text", "verdict", "relevance"})
            | {"cite": ledger.cites(claim.source_ids), "origins": origin_count(claim, origin)}
            for claim in ledger.citable()
        ],
        "contradictions": describe_contradictions(ledger),
        "report": assemble_body(draft, brief.plan.facets),
        "gaps": [
            gap.model_dump(include={"facet_id", "kind", "question", "status", "reason"})
            for gap in brief.gaps
            if not gap.id.startswith(PARTIAL)
        ],
        "rubric": [{"point": n, "text": text} for n, text in enumerate(brief.rubric, 1)],
        "pass": brief.n,
    }
