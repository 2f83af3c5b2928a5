"""Charts and tables show what the sources put side by side, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from activities.evidence.charts import find_charts
from workflows.contracts.evidence import (
    Claim,
    Contradiction,
    Quote,
    Side,
    SideContext,
    Source,
    Verdict,
)
from workflows.contracts.result import Chart, Comparison

SOURCES = {
    name: Source(id=name, uri=f"{name}.md", title=f"Document {name}", sha256="0" * 64)
    for name in ("a", "b", "c")
}


def claim(n: int, text: str, source: str = "a", quotes: Sequence[str] = ()) -> Claim:
    return Claim(
        id=f"c{n}",
        facet_id="f",
        text=text,
        quotes=tuple(Quote(source_id=source, text=quote) for quote in quotes or (text,)),
        verdict=Verdict.SUPPORTED,
    )


def charts(*texts: str, verdict: Verdict = Verdict.SUPPORTED) -> list[Chart]:
    claims = [claim(n, text, "abc"[n % 3]) for n, text in enumerate(texts)]
    return find_charts(
        [c.model_copy(update={"verdict": verdict}) for c in claims], [], SOURCES, {}
    )[0]


def tables(*quotes: str) -> tuple[list[Chart], list[Comparison]]:
    return find_charts([claim(1, "The table says it.", quotes=quotes)], [], SOURCES, {})


COURSE = (
    "The Lindrey route carried 410,000 passengers in 2022.",
    "In 2024, the Lindrey route carried 455,000 passengers.",
    "The Lindrey route carried 430,000 passengers in 2023.",
)


def test_one_figure_at_several_times_is_drawn_in_their_order() -> None:
    (chart,) = charts(*COURSE)
    assert chart.kind == "over_time"
    assert [(p.label, p.text, p.value) for p in chart.points] == [
        ("2022", "410,000", 410_000),
        ("2023", "430,000", 430_000),
        ("2024", "455,000", 455_000),
    ]
    assert [p.claim_ids for p in chart.points] == [("c0",), ("c2",), ("c1",)]
    assert [p.day for p in chart.points] == sorted(p.day for p in chart.points)
    assert chart.title == "The Lindrey route carried … passengers in …"


def test_several_things_at_one_time_stand_side_by_side() -> None:
    (chart,) = charts(
        "Eider carried 34 cars in 2025.",
        "Tern carried 84 cars in 2025.",
        "Eider is battery-driven.",
    )
    assert (chart.kind, chart.title) == ("side_by_side", "… carried … cars in 2025")
    assert [(p.label, p.value) for p in chart.points] == [("Eider", 34), ("Tern", 84)]


def test_what_is_not_the_same_measure_of_a_known_subject_is_not_drawn() -> None:
    for other in (
        "The Lindrey route carried 430,000 vehicles in 2023.",
        "The Lindrey route carried up to 430,000 passengers in 2023.",
        "The Lindrey route never carried 430,000 passengers in 2023.",
        "It carried 430,000 passengers in 2023.",
        "The Lindrey route carried 430,000 passengers and 2,000 cars in 2023.",
        "The Lindrey route carried fewer passengers in 2023.",
        "The Lindrey route may have carried 430,000 tourist passengers in 2023.",
        "The Lindrey route carried 430,000 passengers per month in 2023.",
        "The Lindrey route carried 440,000 passengers in 2022.",  # two values for one year
        "The Lindrey route carried 40,000 passengers in May 2022.",  # a part of another period
    ):
        assert charts(COURSE[0], COURSE[1], other) == [], other


def test_a_claim_that_is_not_verified_is_not_drawn() -> None:
    assert charts(*COURSE)
    for verdict in set(Verdict) - {Verdict.SUPPORTED}:
        assert charts(*COURSE, verdict=verdict) == []


def test_rows_of_one_table_become_a_chart_and_a_comparison() -> None:
    drawn, (table,) = tables(
        "Vessel: Eider; Yard: Orrevik; Length: 41 m; No: 1.",
        "Vessel: Tern; Yard: Brekkan; Length: 88 m; No: 2.",
        "Vessel: Total; Length: 129 m.",
    )
    (chart,) = drawn
    assert chart.title == "Document a: Length, by vessel"
    assert [(p.label, p.text, p.value) for p in chart.points] == [
        ("Eider", "41 m", 41),
        ("Tern", "88 m", 88),
    ]
    assert (table.subject, table.attributes) == ("Vessel", ("Yard", "Length", "No"))
    assert [(row.subject, row.cells) for row in table.rows] == [
        ("Eider", ("Orrevik", "41 m", "1")),
        ("Tern", ("Brekkan", "88 m", "2")),
        ("Total", ("", "129 m", "")),
    ]


def test_rows_that_share_no_table_are_not_put_together() -> None:
    mixed = ("Vessel: Eider; Length: 41 m.", "Vessel: Tern; Length: 2 hours.")
    assert tables(*mixed)[0] == [], "two units"
    twice = ("Site: North; Cost: EUR 4.", "Site: North; Cost: EUR 5.", "Site: South; Cost: EUR 6.")
    assert tables(*twice) == ([], []), "the first column does not name the row"
    one = claim(1, "x.", "a", ["Site: North; Cost: EUR 4; Staff: 3."])
    other = claim(2, "y.", "b", ["Site: South; Cost: EUR 6; Staff: 4."])
    assert find_charts([one, other], [], SOURCES, {}) == ([], []), "two documents"


def test_a_number_that_is_of_more_than_its_row_names_is_not_drawn() -> None:
    by_item = ("Site: North; Item: Grid; Cost: EUR 4.", "Site: South; Item: Quay; Cost: EUR 6.")
    drawn, (table,) = tables(*by_item)
    assert drawn == [], "the grid here and the quay there"
    assert table.attributes == ("Item", "Cost"), "a table says what each number is of"
    quarters = ("Region: North; Quarter: Q1; Sales: 4.", "Region: South; Quarter: Q2; Sales: 6.")
    assert tables(*quarters)[0] == []

    rows = ("Site: North; Cost: EUR 4.", "Site: South; Cost: EUR 6.")
    one = claim(1, "x.", quotes=rows)
    assert find_charts([one], [], SOURCES, {})[0]
    beside = {one.quotes[0]: ("", "\nSite: North; Cost: EUR 9.\n")}
    assert find_charts([one], [], SOURCES, beside)[0] == [], "North has another row"


def test_a_table_is_titled_by_the_heading_above_it() -> None:
    quotes = tuple(
        Quote(source_id="a", text=text, section="Study › 3.1 Results by site")
        for text in ("Site: North; Cost: EUR 4; Staff: 2.", "Site: South; Cost: EUR 6; Staff: 3.")
    )
    one = claim(1, "x.").model_copy(update={"quotes": quotes})
    drawn, (table,) = find_charts([one], [], SOURCES, {})
    assert table.title == "Results by site"
    assert drawn[0].title == "Results by site: Cost, by site"


def test_rows_by_time_are_a_course_of_one_thing() -> None:
    def rows(*regions: str) -> list[str]:
        times = ("2025-07-01", "2025-01-01", "2025-04-01")
        return [
            f"date: {time}; region: {region}; seen: {n}; number of clerks: {120 + n}."
            for n, (time, region) in enumerate(zip(times, regions, strict=True))
        ]

    (chart,), (table,) = tables(*rows("North", "North", "North"))
    assert chart.kind == "over_time"
    assert [(p.label, p.value) for p in chart.points] == [
        ("2025-01-01", 121),
        ("2025-04-01", 122),
        ("2025-07-01", 120),
    ]
    assert [row.subject for row in table.rows] == ["2025-01-01", "2025-04-01", "2025-07-01"]
    assert tables(*rows("North", "South", "North"))[0] == []


def test_sentences_of_two_forms_about_the_same_things_become_a_table() -> None:
    claims = [
        claim(n, text)
        for n, text in enumerate(
            (
                "Eider carried 34 cars daily.",
                "Tern carried 84 cars daily.",
                "Eider needs 5 crew members aboard.",
                "Tern needs 7 crew members aboard.",
            )
        )
    ]
    (table,) = find_charts(claims, [], SOURCES, {})[1]
    assert table.attributes == ("… carried … cars daily", "… needs … crew members aboard")
    assert [(row.subject, row.cells) for row in table.rows] == [
        ("Eider", ("34", "5")),
        ("Tern", ("84", "7")),
    ]


def contradiction(*values: str) -> Contradiction:
    sides = tuple(
        Side(
            text=value,
            claim_ids=(f"c{n}",),
            source_ids=("abc"[n],),
            context=SideContext(value=value),
        )
        for n, value in enumerate(values)
    )
    return Contradiction(id="x1", about="the cost", sides=sides, explanation="")


def test_the_sides_of_a_contradiction_are_drawn_if_each_gives_an_amount_of_one_unit() -> None:
    def drawn(*values: str) -> list[Chart]:
        claims = [claim(n, f"It costs {value}.", "abc"[n]) for n, value in enumerate(values)]
        return find_charts(claims, [contradiction(*values)], SOURCES, {})[0]

    (chart,) = drawn("EUR 128 million", "EUR 214.6 million")
    assert (chart.kind, chart.contradiction_id, chart.title) == ("contested", "x1", "the cost")
    assert [(p.label, p.value) for p in chart.points] == [
        ("Document a", 128_000_000),
        ("Document b", 214_600_000),
    ]
    (ranged,) = drawn("EUR 100 to 120 million", "EUR 214 million")
    assert (ranged.points[0].value, ranged.points[0].high) == (1e8, 1.2e8)
    assert drawn("EUR 128 million", "USD 128 million") == []
    assert drawn("12 March 2024", "14 March 2024") == []
    assert drawn("Orrevik Works", "Brekkan Yard") == []


def test_a_value_that_stands_in_no_quote_is_not_drawn() -> None:
    claims = [claim(0, "It costs EUR 1 million."), claim(1, "It costs EUR 2 million.", "b")]
    item = contradiction("EUR 1 million", "EUR 3 million")
    assert find_charts(claims, [item], SOURCES, {})[0] == []
