"""The evaluator: judges the draft against the question, and names what it lacks.

The model judges and proposes gaps; rules decide what becomes of it. A facet judged thin or absent
is a gap, also where the model names none. A gap outside all facets asks for a facet to be added.
A question that was searched in vain is not asked again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from temporalio import activity

from activities.agent.conversation import Unanswered
from activities.agent.schemas import EvaluationAnswer, GapAnswer
from activities.context import ActivityContext
from activities.evidence.draft import Draft
from activities.evidence.ledger import Ledger, origin_count, origins
from activities.evidence.publish import assemble_body
from activities.evidence.text.terms import terms
from activities.fleet.heartbeat import send_heartbeats
from activities.subagents.prompt_parts import describe_contradictions, describe_facets
from activities.subagents.rubric import Rubric
from workflows.config.roles import EVALUATOR
from workflows.contracts.activity_io import EvaluateBrief, Evaluated
from workflows.contracts.state import AnswerJudgement, Gap
from workflows.rules.gaps import PARTIAL, late_gaps
from workflows.stages.activity_interfaces import EvaluationActivities

JsonObject = dict[str, Any]
_SAME_QUESTION = 0.8
"""The share of terms that two wordings of one question have in common."""


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
            rubric = Rubric(brief, ledger)
            reply = await subagent.converse(
                EvaluationAnswer, build_brief(brief, ledger, draft), gate=rubric.complaints
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
            return Evaluated(gaps=(gap,), rubric=rubric.verdicts(()), spend=subagent.spend)
        return Evaluated(
            gaps=(*find_gaps(brief, reply.answer), *rubric.gaps(reply.answer.rubric)),
            answer=judge_answer(reply.answer),
            rubric=rubric.verdicts(reply.answer.rubric),
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
