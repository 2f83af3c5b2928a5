"""Numbers and dates: what is read, what counts as the same, what a claim has of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.evidence.quantities.amounts import (
    Quantity,
    numbers_missing,
    quantities,
    same_number,
)
from activities.evidence.quantities.dates import apart, moments, same_moment


def only(text: str) -> Quantity:
    (found,) = quantities(text)
    return found


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("It costs 1.84 billion kroner.", 1.84e9, "kr"),
        ("It costs €2.3m.", 2.3e6, "EUR"),
        ("USD 4,5 million was spent", 4.5e6, "USD"),
        ("NOK 1 840 million was spent", 1.84e9, "NOK"),
        ("MNOK 1,840 was spent", 1.84e9, "NOK"),
        ("412,000 passengers travelled", 412_000, "passeng"),
        ("2.3m passengers travelled", 2.3e6, "passeng"),
        ("a share of 12.5 %", 12.5, "%"),
        ("a share of 12.5 percent", 12.5, "%"),
        ("a share of 12.5 per cent", 12.5, "%"),
        ("two-thirds of commuters agreed", 200 / 3, "%"),
        ("nine routes are planned", 9, "rout"),
        ("twenty-five ferries", 25, "ferri"),
        ("one hundred and twenty jobs", 120, "job"),
        ("a battery of 4.2 MWh", 4200, "kWh"),
        ("it is 120 m long", 120, "m"),
        ("it takes 3 hours", 10_800, "s"),
        ("it takes 1.5 years", 18, "month"),
        ("NOK 40 per trip", 40, "NOK/trip"),
        ("4,000 MWh per year", 4e6, "kWh/year"),
        ("leaves at 14:30", 870, "clock"),
        ("a change of -5 %", -5, "%"),
    ],
)
def test_amounts_are_read_with_unit_and_scale(text: str, value: float, unit: str) -> None:
    found = only(text)
    assert found.value == pytest.approx(value)
    assert found.unit == unit
    assert text[found.start : found.end] == found.text


def test_ranges_and_approximations() -> None:
    ranged = only("Charging takes 8–10 minutes.")
    assert (ranged.value, ranged.high, ranged.unit) == (480, 600, "s")
    assert only("about 40 people").approximate
    assert not only("40 people").approximate
    assert [q.value for q in quantities("it rose from 8 to 10 minutes")] == [8, 600]


def test_a_part_is_not_a_count_of_the_whole() -> None:
    part, whole = quantities("3 of 9 routes")
    assert (part.value, part.unit, whole.value, whole.unit) == (3, "of rout", 9, "rout")


@pytest.mark.parametrize(
    "text",
    [
        "as shown [12] and [3, 4]",
        "1. First point\n2) second point",
        "## 3 Costs",
        "### 2.1. Costs",
        "the 5th meeting",
        "CO2 from MF-204",
        "see https://example.org/2/34",
        "version 1.2.3",
        "on 12 March 2024",
    ],
)
def test_what_only_looks_like_an_amount_is_none(text: str) -> None:
    assert not [q for q in quantities(text) if not q.label]


def test_a_number_in_a_name_is_a_label() -> None:
    route, passengers = quantities("Route 12 carried 412,000 passengers")
    assert route.label
    assert not passengers.label


@pytest.mark.parametrize(
    ("text", "iso", "precision"),
    [
        ("2024-03-12", "2024-03-12", "day"),
        ("12 March 2024", "2024-03-12", "day"),
        ("March 12, 2024", "2024-03-12", "day"),
        ("March 2024", "2024-03", "month"),
        ("Q3 2025", "2025-07-01/2025-09-30", "quarter"),
        ("the second half of 2024", "2024-07-01/2024-12-31", "half"),
        ("spring 2025", "2025-03-01/2025-05-31", "season"),
        ("in 1998", "1998", "year"),
        ("1990s", "1990-01-01/1999-12-31", "decade"),
        ("2023/24", "2023-01-01/2024-12-31", "span"),
    ],
)
def test_dates_are_read_with_their_precision(text: str, iso: str, precision: str) -> None:
    (found,) = moments(text)
    assert (found.iso, found.precision) == (iso, precision)


def test_a_four_digit_amount_is_no_year() -> None:
    assert not moments("about 2000 passengers")
    assert not moments("2000 passengers boarded")
    assert [m.iso for m in moments("in 2000 passengers boarded")] == ["2000"]


def test_a_rounder_date_does_not_contradict() -> None:
    day, month, other = (moments(t)[0] for t in ("12 March 2024", "March 2024", "3 May 2024"))
    assert same_moment(day, month)
    assert not same_moment(day, other)
    assert apart(month, other)


def test_rounding_is_forgiven_and_difference_is_not() -> None:
    assert same_number(only("1.84 bn kroner"), only("about 1.8 billion NOK"))
    assert same_number(only("4,200 kWh"), only("4.2 MWh"))
    assert same_number(only("9 minutes"), only("8–10 minutes"))
    assert not same_number(only("412,000 passengers"), only("367,500 passengers"))
    assert not same_number(only("40 %"), only("40 kroner"))
    assert not same_number(only("13 %"), only("12 %"))


def test_numbers_missing_compares_meaning_not_spelling() -> None:
    quotes = ["The 9 routes come to 1.84 billion NOK, 40% more than said on 12 March 2024."]
    said = "Nine routes cost about 1.8bn kroner in March 2024, 40 per cent more [3]."
    assert numbers_missing(said, quotes) == []


def test_numbers_missing_names_what_the_quotes_do_not_say() -> None:
    quotes = ["The 9 routes come to about 1.8 billion NOK, 40% more than said in March 2024."]
    said = "Ten routes cost 1.84bn kroner on 12 March 2024, 41 per cent more."
    assert numbers_missing(said, quotes) == ["Ten", "1.84bn kroner", "12 March 2024", "41 per cent"]


def test_numbers_missing_ignores_markers() -> None:
    assert numbers_missing("## 2. Costs\n1. The 5th point [12]", ["nothing"]) == []


amounts = st.builds(
    lambda n, unit, about: f"{'about ' if about else ''}{n:,} {unit}",
    st.integers(1, 10**9),
    st.sampled_from(["kroner", "passengers", "%", "km", "kWh"]),
    st.booleans(),
)


@given(amounts, amounts)
def test_same_number_is_symmetric_and_reflexive(a: str, b: str) -> None:
    x, y = only(a), only(b)
    assert same_number(x, x)
    assert same_number(x, y) == same_number(y, x)


@given(st.integers(1_000, 10**9), st.integers(2, 4))
def test_a_number_rounded_to_its_digits_stays_the_same(n: int, digits: int) -> None:
    rounded = int(float(f"{n:.{digits - 1}e}"))
    assert same_number(only(f"{n:,} passengers"), only(f"about {rounded:,} passengers"))


@given(st.text(max_size=200))
def test_any_text_is_read_and_places_are_true(text: str) -> None:
    for q in quantities(text):
        assert 0 <= q.start < q.end <= len(text)
        assert q.value <= q.high
    for m in moments(text):
        assert text[m.start : m.end] == m.text
        assert m.first <= m.last


@given(amounts)
def test_a_claim_misses_nothing_of_its_own_quote(text: str) -> None:
    assert numbers_missing(text, [text]) == []
