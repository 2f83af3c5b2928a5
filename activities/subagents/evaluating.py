"""The evaluator: judges the draft against the question, and names what it lacks.

The model proposes gaps; rules decide which are accepted: a gap belongs to a facet of the plan and
is new, and their number is limited to what a pass can research.
"""

from __future__ import annotations

from typing import Any

from temporalio import activity

from activities.agent.conversation import Unanswered
from activities.agent.schemas import EvaluationAnswer
from activities.context import ActivityContext
from activities.evidence.draft import Draft
from activities.evidence.ledger import Ledger
from activities.fleet.heartbeat import send_heartbeats
from activities.subagents.prompt_parts import describe_contradictions, describe_facets
from activities.subagents.rubric import Rubric
from workflows.config.roles import EVALUATOR
from workflows.contracts.activity_io import EvaluateBrief, Evaluated
from workflows.contracts.state import Gap
from workflows.rules.gaps import late_gaps
from workflows.stages.activity_interfaces import EvaluationActivities

JsonObject = dict[str, Any]
MAX_GAPS = 8


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
            gaps=(*_gaps(brief, reply.answer), *rubric.gaps(reply.answer.rubric)),
            rubric=rubric.verdicts(reply.answer.rubric),
            spend=subagent.spend,
        )


def _gaps(brief: EvaluateBrief, answer: EvaluationAnswer) -> tuple[Gap, ...]:
    facets = {facet.id for facet in brief.plan.facets}
    over = {gap.facet_id for gap in brief.gaps if gap.status in ("absent", "failed")
            and gap.kind in ("missing", "failed")}  # fmt: skip
    # A facet that is still being researched has no gaps yet.
    over |= {gap.facet_id for gap in late_gaps(brief.gaps)}
    proposed = [gap for gap in answer.gaps if gap.facet_id in facets - over]
    return tuple(
        Gap(
            id=f"gap-{brief.n}-{i + 1}",
            kind=gap.kind,
            facet_id=gap.facet_id,
            text=gap.text,
            question=gap.question,
            opened_in=brief.n,
        )
        for i, gap in enumerate(proposed[:MAX_GAPS])
    )


def build_brief(brief: EvaluateBrief, ledger: Ledger, draft: Draft) -> JsonObject:
    return {
        "question": brief.job.question,
        "kind": brief.plan.kind,
        "facets": describe_facets(brief.plan, brief.reports),
        "claims": [
            claim.model_dump(include={"id", "facet_id", "text", "verdict", "relevance"})
            | {"cite": ledger.cites(claim.source_ids)}
            for claim in ledger.citable()
        ],
        "contradictions": describe_contradictions(ledger),
        "report": "\n\n".join(
            [
                draft.summary,
                *(section.markdown for section in draft.sections),
                draft.conclusion,
                draft.gaps,
            ]
        ),
        "gaps": [
            gap.model_dump(include={"facet_id", "kind", "question", "status"}) for gap in brief.gaps
        ],
        "rubric": [{"point": n, "text": text} for n, text in enumerate(brief.rubric, 1)],
        "pass": brief.n,
    }
