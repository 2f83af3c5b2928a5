"""Parts of briefs that several roles share: who asks, facets, contradictions."""

from __future__ import annotations

from collections.abc import Iterable

from activities.agent.messages import JsonObject
from activities.evidence.ledger import Ledger
from activities.evidence.text.terms import detect_language
from workflows.contracts.activity_io import FacetReport, Job
from workflows.contracts.facets import Plan


def describe_asker(job: Job) -> JsonObject:
    """What every brief says of the question: its words, language, date, audience, pinned facts."""
    return {
        "question": job.question,
        "language": detect_language(job.question),
        "today": job.today,
        "audience": job.audience or "not said",
        "pinned": job.pinned,
    }


def describe_facets(plan: Plan, reports: Iterable[FacetReport]) -> list[JsonObject]:
    ended = {report.facet_id: report for report in reports}
    nothing = FacetReport(facet_id="", status="waiting")
    return [
        facet.model_dump(include={"id", "title", "question"})
        | ended.get(facet.id, nothing).model_dump(
            include={"status", "reason", "missing", "next_step", "leads", "problems"}
        )
        for facet in plan.facets
    ]


def describe_contradictions(ledger: Ledger) -> list[JsonObject]:
    claims = {claim.id: claim for claim in ledger.claims}
    return [
        contradiction.model_dump(include={"id", "about", "cause", "explanation"})
        | {
            "facet_ids": sorted({claims[cid].facet_id for cid in contradiction.claim_ids}),
            "sides": [
                {"text": side.text, "cite": ledger.cites(side.source_ids)}
                | side.context.model_dump()
                for side in contradiction.sides
            ],
        }
        for contradiction in ledger.contradictions
    ]
