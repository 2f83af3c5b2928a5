"""The published result keeps differences apart from contradictions."""

from __future__ import annotations

from activities.evidence.draft import Draft, Entry
from activities.evidence.ledger import Ledger
from activities.evidence.publish import publish
from workflows.contracts.evidence import (
    Claim,
    Contradiction,
    Difference,
    Quote,
    Side,
    SideContext,
    Source,
)
from workflows.contracts.facets import Facet, Plan, QuestionKind
from workflows.contracts.outcomes import FindingsRef, Found
from workflows.contracts.request import ResearchRequest
from workflows.contracts.state import ResearchState


def side(n: int, value: str) -> Side:
    return Side(
        text=f"Orla exported {value}.",
        claim_ids=(f"c{n}",),
        source_ids=(f"s{n}",),
        context=SideContext(value=value),
    )


def test_a_difference_is_told_as_what_it_is_and_never_as_contested() -> None:
    series = Difference(
        id="x1",
        about="Orla exports",
        sides=(side(1, "41 tonnes"), side(2, "58 tonnes")),
        explanation="years",
        relation="other_period",
    )
    ledger = Ledger(
        sources={f"s{n}": Source(id=f"s{n}", uri=f"{n}.md", title=f"Paper {n}", sha256="0" * 64)
                 for n in (1, 2)},
        claims=tuple(Claim(id=f"c{n}", facet_id="f", text="Orla exports.",
                           quotes=(Quote(source_id=f"s{n}", text="Orla"),)) for n in (1, 2)),
        differences=(series,),
        numbers={"s1": 1, "s2": 2},
    )  # fmt: skip
    state = ResearchState(
        id="job", journal="j", started_at="2026-01-05T00:00:00Z",
        request=ResearchRequest(question="What does Orla export?"),
    )  # fmt: skip
    result = publish(state, ledger, None, {}, 1.0)
    assert result.contradictions == ()
    assert [d.relation for d in result.differences] == ["other_period"]
    line = "- Orla exports (for different periods): 41 tonnes [1]; 58 tonnes [2]"
    assert line in result.report_markdown.partition("## How this was researched")[2]
    assert "contested" not in result.report_markdown
    assert {source.n for source in result.sources} == {1, 2}


def test_contradictions_stand_in_one_order_and_addresses_are_links() -> None:
    items = tuple(
        Contradiction(
            id=f"x{n}",
            about=f"point {n}",
            sides=(side(1, "41 tonnes"), side(2, "58 tonnes")),
            explanation="unknown",
        )
        for n in (1, 2, 3)
    )
    uris = {"s1": "https://example.org/a b", "s2": "https://example.org/2"}
    ledger = Ledger(
        sources={
            name: Source(id=name, uri=uri, title=f"Paper {name}", sha256="0" * 64)
            for name, uri in uris.items()
        },
        claims=tuple(
            Claim(
                id=f"c{n}",
                facet_id="f",
                text="Orla exports.",
                quotes=(Quote(source_id=f"s{n}", text="Orla"),),
            )
            for n in (1, 2)
        ),
        contradictions=items,
        numbers={"s1": 1, "s2": 2},
    )
    state = ResearchState(
        id="job",
        journal="j",
        started_at="2026-01-05T00:00:00Z",
        request=ResearchRequest(question="What does Orla export?"),
    )
    told = [
        Entry(contradiction_id=f"x{n}", markdown=f"Told of point {n} [1][2].") for n in (3, 1, 2)
    ]
    draft = Draft(title="Orla", summary="Orla exports [1].", contradictions=tuple(told))
    result = publish(state, ledger, draft, {}, 1.0)
    assert [item.id for item in result.contradictions] == ["x1", "x2", "x3"]
    places = [result.report_markdown.index(f"Told of point {n}") for n in (1, 2, 3)]
    assert places == sorted(places)
    sources = result.report_markdown.partition("## Sources")[2]
    assert "<https://example.org/2>" in sources
    assert "`https://example.org/a b`" in sources, "what is no address stays as it is"


def test_a_facet_whose_claims_were_all_dropped_is_told_with_its_outcome() -> None:
    facet = Facet(
        id="f", title="Exports", question="What does Orla export?", boundary="Orla.",
        prefer="reports", reason="It is the question.",
    )  # fmt: skip
    state = ResearchState(
        id="job", journal="j", started_at="2026-01-05T00:00:00Z",
        request=ResearchRequest(question="What does Orla export?"),
        plan=Plan(kind=QuestionKind.FACT, facets=(facet,)),
        outcomes={"f": Found(findings=FindingsRef(key="k", claims=1, sources=1))},
    )  # fmt: skip
    assert "- **Exports**: found" in publish(state, Ledger(), None, {}, 1.0).report_markdown
