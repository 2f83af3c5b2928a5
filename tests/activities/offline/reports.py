"""Claims as a ledger holds them, the brief made of them, and the gate their draft must pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from activities.agent.schemas import DraftAnswer
from activities.evidence.draft import (
    Draft,
    Entry,
    Section,
    demote_headings,
    normalize_citations,
)
from activities.evidence.ledger import Ledger
from activities.evidence.report_gate import Evidence, faults
from activities.offline.request import Conversation, JsonObject
from activities.offline.writer import write
from activities.subagents.prompt_parts import describe_contradictions
from workflows.contracts.evidence import Claim, Contradiction, Quote, Source, Verdict
from workflows.contracts.state import Gap

TITLES = {"s1": "Tower guide", "s2": "Fees", "s3": "Minutes_2024"}


def claim(
    number: int,
    *parts: str,
    facet: str = "tower",
    source: str = "s1",
    relevance: float = 0.8,
    section: str = "",
) -> Claim:
    quotes = tuple(Quote(source_id=source, text=part, section=section) for part in parts)
    text = "\n".join(parts) if "\n" in parts[-1] else " ".join(parts)
    return Claim(
        id=f"c{number}",
        facet_id=facet,
        text=text,
        quotes=quotes,
        verdict=Verdict.SUPPORTED,
        confidence=0.8,
        relevance=relevance,
    )


def ledger(claims: Sequence[Claim], contradictions: Sequence[Contradiction] = ()) -> Ledger:
    return Ledger(
        sources={
            sid: Source(id=sid, uri=f"{sid}.md", title=title, kind="page", sha256="0")
            for sid, title in TITLES.items()
        },
        claims=tuple(claims),
        contradictions=tuple(contradictions),
        numbers={sid: n for n, sid in enumerate(TITLES, 1)},
    )


def facet(name: str, question: str, status: str = "answered", **more: Any) -> JsonObject:
    title = question.rstrip("?")
    return {"id": name, "title": title, "question": question, "status": status, "reason": "",
            "missing": [], **more}  # fmt: skip


def brief(held: Ledger, facets: Sequence[JsonObject], **more: Any) -> JsonObject:
    return {
        "question": " ".join(facet["question"] for facet in facets),
        "facets": list(facets),
        "claims": [
            {
                "id": own.id,
                "facet_id": own.facet_id,
                "text": own.text,
                "cite": held.cites(own.source_ids),
                "verdict": own.verdict,
                "relevance": own.relevance,
                "quotes": [quote.text for quote in own.quotes],
                "sections": [quote.section for quote in own.quotes],
            }
            for own in held.claims
        ],
        "sources": [{"n": n, "title": TITLES[sid]} for sid, n in held.numbers.items()],
        "contradictions": describe_contradictions(held),
        "gaps": [],
        "unreadable": [],
        "revise": [],
        **more,
    }


def written(given: JsonObject, *complaints: str) -> DraftAnswer:
    conversation = Conversation("DraftAnswer", given, frozenset(), complaints=complaints)
    return DraftAnswer.model_validate(write(conversation).answer)


def gate(answer: DraftAnswer, held: Ledger, gaps: Sequence[Gap] = ()) -> list[str]:
    """What the gate holds against a draft, read as the writer's activity reads it."""
    draft = Draft(
        title=answer.title,
        summary=_tidy(answer.summary),
        sections=tuple(
            Section(facet_id=section.facet_id, markdown=_tidy(section.markdown))
            for section in answer.sections
        ),
        contradictions=tuple(
            Entry(contradiction_id=entry.contradiction_id, markdown=_tidy(entry.markdown))
            for entry in answer.contradictions
        ),
        gaps=_tidy(answer.gaps),
    )
    return [str(fault) for fault in faults(draft, Evidence(held, tuple(gaps)))]


def _tidy(markdown: str) -> str:
    return normalize_citations(demote_headings(markdown)).strip()
