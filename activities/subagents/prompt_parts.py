"""Parts of briefs that several roles share: who asks, the limits, facets, contradictions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from activities.evidence.ledger import Ledger
from activities.evidence.text.terms import detect_language
from workflows.contracts.activity_io import FacetReport, Job, ResearchBrief
from workflows.contracts.facets import Plan

JsonObject = dict[str, Any]


def describe_asker(job: Job) -> JsonObject:
    """What every brief says of the question: its words, language, date, audience, pinned facts."""
    return {
        "question": job.question,
        "language": detect_language(job.question),
        "today": job.today,
        "audience": job.audience or "not said",
        "pinned": job.pinned,
    }


def describe_limits(job: Job, cycles: int, max_claims: int) -> JsonObject:
    """The limits of a researcher, of the tools that it has."""
    limits: JsonObject = {}
    if job.corpus is not None:
        limits["cycles"] = cycles
    if job.web is not None:
        limits |= {"web_searches": job.web.max_searches, "web_fetches": job.web.max_fetches}
    return {"limits": limits, "max_claims": max_claims}


def describe_retry(brief: ResearchBrief) -> JsonObject:
    """Why there is another attempt, and what it is to try; nothing for the first."""
    if brief.alternative is None:
        return {}
    return {
        "attempt": brief.attempt,
        "previous": brief.previous,
        "try_now": brief.alternative.model_dump(include={"kind", "text", "query"}),
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
