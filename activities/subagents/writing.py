"""The writer: writes the report from verified claims; the gate checks it.

What the gate finds goes back to the model with the exact list; what is still wrong after that is
repaired mechanically, and marked.
"""

from __future__ import annotations

from typing import Any

from temporalio import activity

from activities.agent.conversation import Answered
from activities.agent.schemas import DraftAnswer
from activities.context import ActivityContext
from activities.evidence.ledger import Ledger, origin_count, origins
from activities.evidence.report_gate import (
    Draft,
    Entry,
    Evidence,
    Section,
    faults,
    marks,
    repair,
    sections_by_facet,
)
from activities.fleet.heartbeat import send_heartbeats
from activities.subagents.prompt_parts import describe_contradictions, describe_facets
from workflows.config.roles import WRITER
from workflows.contracts.activity_io import WriteBrief, Written
from workflows.contracts.state import DraftRef
from workflows.stages.activity_interfaces import WritingActivities

JsonObject = dict[str, Any]


class Writing(WritingActivities):
    def __init__(self, context: ActivityContext) -> None:
        self._context = context

    @activity.defn
    async def write(self, brief: WriteBrief) -> Written:
        store = self._context.store
        async with send_heartbeats():
            subagent = await self._context.create_subagent(WRITER, brief.job, brief.task)
            ledger = await store.load(brief.ledger.key, Ledger)
            previous = await store.load(brief.previous.key, Draft) if brief.previous else None
            evidence = Evidence(ledger, brief.gaps)

            async def gate(answer: DraftAnswer) -> list[str]:
                draft = build_draft(brief, answer, previous)
                return [str(fault) for fault in faults(draft, evidence)]

            reply = await subagent.converse(
                DraftAnswer,
                build_brief(brief, ledger, previous),
                await self._context.create_toolbox(WRITER, brief.job, pages=ledger.sources),
                gate,
            )
            if isinstance(reply, Answered):
                draft = build_draft(brief, reply.answer, previous)
            else:
                draft = list_claims(brief, ledger, previous, reply.detail)
            draft = repair(draft, evidence)
            key = await store.save("drafts", draft)
        words = sum(len(section.markdown.split()) for section in draft.sections)
        return Written(
            draft=DraftRef(key=key, words=words, mended=draft.mended), spend=subagent.spend
        )


def build_draft(brief: WriteBrief, answer: DraftAnswer, previous: Draft | None) -> Draft:
    """The answer as a draft: a section for every facet of the plan, unchanged ones from before."""
    new = {section.facet_id: section.markdown for section in answer.sections}
    old = sections_by_facet(previous) if previous else {}
    rewritten = set(brief.revise) if previous else {facet.id for facet in brief.plan.facets}
    sections = tuple(
        Section(
            facet_id=facet.id,
            markdown=(new if facet.id in rewritten else old).get(facet.id, "").strip()
            or old.get(facet.id, "")
            or "_Nothing that could be cited was found for this facet._",
        )
        for facet in brief.plan.facets
    )
    return Draft(
        title=answer.title,
        summary=answer.summary,
        sections=sections,
        contradictions=tuple(
            Entry(contradiction_id=entry.contradiction_id, markdown=entry.markdown)
            for entry in answer.contradictions
        ),
        gaps=answer.gaps,
    )


def list_claims(brief: WriteBrief, ledger: Ledger, previous: Draft | None, why: str) -> Draft:
    """A report without a writer: the claims as they are, by facet."""
    if previous is not None:
        note = f"summary: the revision could not be written ({why})"
        return previous.model_copy(update={"mended": (*previous.mended, note)})
    return Draft(
        title=brief.job.question[:200],
        summary=f"_No summary could be written: {why}. The checked claims follow by facet._",
        sections=tuple(
            Section(
                facet_id=facet.id,
                markdown="\n".join(
                    f"- {' '.join(claim.text.split())} {marks(ledger.cites(claim.source_ids))}"
                    for claim in ledger.citable()
                    if claim.bears_on(facet.id)
                )
                or "_Nothing that could be cited was found for this facet._",
            )
            for facet in brief.plan.facets
        ),
        mended=(f"summary: the writer gave no report ({why})",),
    )


def build_brief(brief: WriteBrief, ledger: Ledger, previous: Draft | None) -> JsonObject:
    """The brief of the writer: verified claims with the numbers they are cited by."""
    origin = origins(ledger)
    return {
        "question": brief.job.question,
        "today": brief.job.today,
        "kind": brief.plan.kind,
        "facets": describe_facets(brief.plan, brief.reports),
        "claims": [
            claim.model_dump(exclude={"quotes"})
            | {
                "cite": ledger.cites(claim.source_ids),
                "origins": origin_count(claim, origin),
                "quotes": [quote.text for quote in claim.quotes],
                "sections": [quote.section for quote in claim.quotes],
                "start": claim.quotes[0].start,
            }
            for claim in ledger.citable()
        ],
        "sources": [
            {"n": n, "marks": ledger.sources[sid].marks}
            | ledger.sources[sid].model_dump(include={"title", "date", "kind", "uri"})
            for sid, n in ledger.numbers.items()
        ],
        "contradictions": describe_contradictions(ledger),
        "gaps": [
            gap.model_dump(include={"id", "facet_id", "kind", "text", "status", "reason"})
            for gap in brief.gaps
            if gap.status != "closed"
        ],
        "unreadable": [file.model_dump() for file in brief.unreadable],
        "revise": brief.revise if previous else (),
        "previous": previous.model_dump(include={"title", "summary", "sections"})
        if previous
        else None,
    }
