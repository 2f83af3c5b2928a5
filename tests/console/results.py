"""Finished jobs for tests of what is shown of them: one whose every text is `text`, a large one."""

from __future__ import annotations

from workflows.contracts.evidence import Contradiction, Cycle, Side, SideContext, Verdict
from workflows.contracts.result import (
    Calculation,
    ClaimOut,
    Coverage,
    FacetOut,
    PassOut,
    PlanOut,
    QuoteOut,
    ResearchResult,
    SourceOut,
    Telemetry,
)
from workflows.contracts.spend import Spend
from workflows.contracts.state import Gap, StepTiming, StopReason, UnreadableFile


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
        plan=PlanOut(
            kind="overview",
            facets=(FacetOut(id="f", title=text, question=text),),
            changes=(text,),
        ),
        coverage=(
            Coverage(
                facet_id="f",
                title=text,
                status="contested",
                reason=text,
                claims=2,
                cycles=(Cycle(queries=(text, f"{text} searched")),),
            ),
        ),
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
                quotes=(
                    QuoteOut(
                        source_id=f"s{n}",
                        text=f"{text} quoted {n}",
                        before=f"{text} before ",
                        after=f" after {text}",
                    ),
                ),
                uncertain=text,
                not_to_overstate=text,
                notes=text,
            )
            for n in (1, 2)
        ),
        contradictions=(
            Contradiction(id="x1", about=text, sides=sides, cause=text, explanation=text),
        ),
        gaps=(Gap(id="g", kind="missing", facet_id="f", text=text, question=text, reason=text),),
        passes=(
            PassOut(n=0, gaps_in=0, gaps_closed=0, turns=9, usd=0, seconds=1),
            PassOut(
                n=1, gaps_in=2, gaps_closed=1, turns=2, usd=0, seconds=1, stop_reason=StopReason.CAP
            ),
        ),
        unreadable=(UnreadableFile(uri=text, reason=text),),
        mended=(text,),
        unjudged=text,
        calculations=(
            Calculation(result=text, expression=text, about=text, cite=(1,)),
            Calculation(result=text, expression=text, about=text, by="program"),
        ),
        started_at="2026-03-01T06:00:00+00:00",
        telemetry=Telemetry(
            turns=11,
            turns_bought_again=1,
            seconds=12.34,
            usd=0.5,
            spawned=3,
            parallel_max=2,
            by_role={text: Spend(turns=11, bought_again=1, usd=0.5)},
        ),
        timeline=(
            StepTiming(step="plan", began=0, ended=1),
            StepTiming(step="research", facet_id="f", began=1, ended=6),
            StepTiming(step="verify", facet_id="f", began=6, ended=7),
            StepTiming(step="write", n=1, began=7207, ended=7212),
        ),
        report_markdown=markdown if markdown is not None else _report(text),
    )


def _report(text: str) -> str:
    chapter = f"## {text}\n\n- {text} [1]. Another source says {text} [2]."
    return f"# {text}\n\n{text} [1][2] [9]\n\n{chapter}\n"


def ferry() -> ResearchResult:
    """Two sources that disagree on what a ferry costs, and one gap: small, and said in words."""
    sources = tuple(
        SourceOut(
            n=n,
            id=f"s{n}",
            uri=uri,
            title=title,
            date=date,
            kind=kind,
            authority=0.85,
            origin=f"s{n}",
            sha256=str(n) * 64,
        )
        for n, uri, title, date, kind in (
            (1, "council/case.pdf", "The business case", "2023-11-20", "report"),
            (2, "https://example.org/annual", "The annual report", "2025-06-17", "report"),
        )
    )
    told = (
        ("c1", "cost", "s1", "The programme will cost EUR 214.6 million.", Verdict.QUALIFIED),
        ("c2", "cost", "s2", "The programme will cost EUR 151.2 million.", Verdict.QUALIFIED),
        ("c3", "fleet", "s1", "Six new vessels are to be built.", Verdict.SUPPORTED),
        ("c4", "fleet", "s1", "The oldest vessel is kept as a reserve.", Verdict.UNVERIFIED),
    )
    claims = tuple(
        ClaimOut(
            id=name,
            facet_id=facet,
            text=text,
            verdict=verdict,
            confidence=0.6,
            quotes=(
                QuoteOut(
                    source_id=source,
                    text=text,
                    before=f"What stands before {name}. ",
                    after=f" What stands after {name}.",
                ),
            ),
            uncertain="depends on the yard" if name == "c3" else "",
        )
        for name, facet, source, text, verdict in told
    )
    sides = tuple(
        Side(
            text=claim.text,
            claim_ids=(claim.id,),
            source_ids=(claim.quotes[0].source_id,),
            context=SideContext(value=value, definition=definition),
        )
        for claim, value, definition in (
            (claims[0], "EUR 214.6 million", "vessels, quays and grid"),
            (claims[1], "EUR 151.2 million", "vessels only"),
        )
    )
    return ResearchResult(
        id="ferry",
        question="What will the ferries cost, and who insures them?",
        status="complete_with_gaps",
        model="offline",
        plan=PlanOut(
            kind="overview",
            facets=tuple(
                FacetOut(id=key, title=title, question=f"What of {title.lower()}?")
                for key, title in (("cost", "Cost"), ("fleet", "Fleet"), ("cover", "Insurance"))
            ),
        ),
        coverage=(
            Coverage(
                facet_id="cost",
                title="Cost",
                status="contested",
                reason="",
                claims=2,
                sources=2,
                origins=2,
                turns=5,
                usd=0.31,
            ),
            Coverage(
                facet_id="fleet",
                title="Fleet",
                status="answered",
                reason="",
                claims=2,
                sources=1,
                origins=1,
                turns=4,
                usd=0.2,
            ),
            Coverage(
                facet_id="cover",
                title="Insurance",
                status="absent",
                reason="the sources hold nothing on it",
                turns=2,
                usd=0.1,
                cycles=(Cycle(queries=("ferry insurance", "hull cover")),),
            ),
        ),
        sources=sources,
        claims=claims,
        contradictions=(
            Contradiction(
                id="x1",
                about="what the programme costs",
                sides=sides,
                cause="definition",
                explanation="They may not count the same thing.",
            ),
        ),
        gaps=(
            Gap(
                id="g1",
                kind="missing",
                facet_id="cover",
                text="Nothing is known of insurance.",
                question="Who insures the ferries?",
                status="absent",
                reason="nothing was found",
            ),
            Gap(
                id="g2",
                kind="thin",
                facet_id="fleet",
                text="Nothing is said of reserves.",
                question="Which vessels are kept?",
                status="closed",
                closed_in=1,
            ),
        ),
        passes=(
            PassOut(n=0, gaps_in=0, gaps_closed=0, turns=9, usd=0.5, seconds=40),
            PassOut(n=1, gaps_in=2, gaps_closed=1, turns=4, usd=0.23, seconds=20),
        ),
        started_at="2026-03-01T06:00:00+00:00",
        documents=12,
        telemetry=Telemetry(
            turns=13,
            turns_bought_again=1,
            input_tokens=120_000,
            output_tokens=9_000,
            usd=0.73,
            seconds=62.0,
            spawned=5,
            parallel_max=3,
            by_role={"researcher": Spend(turns=11, usd=0.61), "writer": Spend(turns=2, usd=0.12)},
        ),
        timeline=(
            StepTiming(step="plan", began=0, ended=4),
            StepTiming(step="research", facet_id="cost", began=4, ended=20),
            StepTiming(step="research", facet_id="fleet", began=4, ended=26),
            StepTiming(step="verify", facet_id="cost", began=20, ended=30),
            StepTiming(step="write", began=30, ended=40),
            StepTiming(step="research", facet_id="fleet", n=1, began=41, ended=55),
            StepTiming(step="write", n=1, began=55, ended=62),
        ),
        report_markdown=(
            "# What the ferries cost\n\n_Made._\n\n## Summary\n\nSix new vessels are to be built"
            " [1]. Of insurance nothing is known at all [1].\n\n## Cost\n\nThe programme will cost"
            " EUR 214.6 million [1]. It will cost EUR 151.2 million as the company counts the"
            " programme [2].\n\n## Fleet\n\nSix new vessels are to be built [1].\n\n## Insurance"
            "\n\n_Nothing was found._\n\n## Where the sources disagree\n\n- EUR 214.6 million"
            " [1]\n- EUR 151.2 million [2]\n\n## What is missing\n\n- Nothing is known of"
            " insurance.\n"
        ),
    )


def large(claims: int = 3000, per_source: int = 8) -> ResearchResult:
    """As much as a deep job brings: long quotes in long contexts, and prose that tells them all."""
    base = ferry()
    facets = 24
    said = "The crossing {n} carried {m} passengers in the year after the vessel was converted"
    more = ", counted at the gangway by the operator and checked by the county in the same winter."
    texts = [said.format(n=n, m=1000 + 7 * n) + more for n in range(claims)]
    around = "What was written about the service on the other routes in that year was mixed. " * 3
    sources = tuple(
        base.sources[0].model_copy(
            update={"id": f"s{n}", "n": n, "origin": f"s{n}", "title": f"Report {n} of the county"}
        )
        for n in range(1, claims // per_source + 2)
    )
    found = tuple(
        ClaimOut(
            id=f"c{n}",
            facet_id=f"f{n % facets}",
            text=text,
            verdict=Verdict.SUPPORTED,
            confidence=0.7,
            quotes=(
                QuoteOut(
                    source_id=f"s{n // per_source + 1}",
                    text=f"{text} So it stands in the tables of the report.",
                    before=f"… {n} {around}"[:220],
                    after=f" {n} {around}"[:220],
                ),
            ),
            uncertain="only one winter was counted" if n % 3 == 0 else "",
        )
        for n, text in enumerate(texts)
    )
    chapters = [
        f"## Facet {f}\n\n"
        + "\n\n".join(
            f"{texts[n].rstrip('.')} [{n // per_source + 1}]." for n in range(f, claims, facets)
        )
        for f in range(facets)
    ]
    return base.model_copy(
        update={
            "coverage": tuple(
                base.coverage[1].model_copy(update={"facet_id": f"f{f}", "title": f"Facet {f}"})
                for f in range(facets)
            ),
            "sources": sources,
            "claims": found,
            "contradictions": (),
            "report_markdown": "# A large report\n\n" + "\n\n".join(chapters),
        }
    )
