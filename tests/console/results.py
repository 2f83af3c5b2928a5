"""A finished job whose every text is `text`, for tests of what is shown of it."""

from __future__ import annotations

from workflows.contracts import (
    ClaimOut,
    Coverage,
    FacetOut,
    PassOut,
    PlanOut,
    ResearchResult,
    SourceOut,
    Telemetry,
    UnreadableFile,
)
from workflows.evidence import Contradiction, Quote, Side, SideContext, Verdict
from workflows.gaps import Gap, StopReason


def finished(text: str, markdown: str | None = None) -> ResearchResult:
    sides = tuple(
        Side(
            text=f"{text} {n}",
            claim_ids=(f"c{n}",),
            source_ids=(f"s{n}",),
            context=SideContext(value=text, date=text, definition=text, population=text),
        )
        for n in (1, 2)
    )
    return ResearchResult(
        id="job",
        question=text,
        status="complete_with_gaps",
        model="offline",
        plan=PlanOut(kind="overview", facets=(FacetOut(id="f", title=text, question=text),)),
        coverage=(Coverage(facet_id="f", title=text, status="contested", reason=text, claims=2),),
        sources=tuple(
            SourceOut(
                n=n if n < 3 else None,
                id=f"s{n}",
                uri=f"https://example.org/{n}?{text}" if n == 1 else text,
                title=text,
                date=text,
                kind=text,
                authority=0.5,
                origin=text,
                sha256="0" * 64,
            )
            for n in (1, 2, 3)
        ),
        claims=tuple(
            ClaimOut(
                id=f"c{n}",
                facet_id="f",
                text=text,
                verdict=Verdict.CONTRADICTED,
                confidence=0.5,
                quotes=(Quote(source_id=f"s{n}", text=f"{text} quoted {n}"),),
            )
            for n in (1, 2)
        ),
        contradictions=(Contradiction(id="x1", about=text, sides=sides, explanation=text),),
        gaps=(Gap(id="g", kind="missing", facet_id="f", text=text, question=text, reason=text),),
        passes=(
            PassOut(n=0, gaps_in=0, gaps_closed=0, turns=9, usd=0, seconds=1),
            PassOut(
                n=1, gaps_in=2, gaps_closed=1, turns=2, usd=0, seconds=1, stop_reason=StopReason.CAP
            ),
        ),
        unreadable=(UnreadableFile(uri=text, reason=text),),
        telemetry=Telemetry(turns=11, seconds=12.34, usd=0.5, spawned=3, parallel_max=2),
        report_markdown=markdown if markdown is not None else f"# {text}\n\n{text} [1][2] [9]\n",
    )
