"""Citations and figures of a report, as writers in two languages write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.evidence.draft import cited, normalize_citations
from activities.evidence.report_figures import check_calculation, evaluate, unsupported_figures
from workflows.contracts.result import Calculation

KNOWN = [
    "“The line carried 412,000 passengers in 2023 and cost EUR 1.8 billion.”",
    "“Two thirds said noise was no concern.”",
    "“It ended on 31 December 2024 after 15 years, with a share of 3.5 %.”",
]


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("Yes [1, 2].", "Yes [1][2]."),
        ("Yes [1,2; 4].", "Yes [1][2][4]."),
        ("Yes [1–3].", "Yes [1][2][3]."),
        ("Yes [1-3, 5].", "Yes [1][2][3][5]."),
        ("Yes[^1][^2].", "Yes[1][2]."),
        ("Yes [1](#s1) [2][3].", "Yes [1] [2][3]."),
        ("Yes [^1].\n\n[^1]: A source.\n", "Yes [1].\n\n"),
        ("`a[1, 2]` is code.", "`a[1, 2]` is code."),
        ("```\na[1, 2]\n```", "```\na[1, 2]\n```"),
        ("In [2019-1990] nothing.", "In [2019-1990] nothing."),
        ("A [link](https://a.example) and [a, b].", "A [link](https://a.example) and [a, b]."),
    ],
)
def test_usual_forms_of_citation_become_one(written: str, normal: str) -> None:
    assert normalize_citations(written) == normal


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6, unique=True))
def test_no_citation_is_lost_or_added_by_normalizing(numbers: list[int]) -> None:
    listed = ", ".join(map(str, numbers))
    assert list(cited(normalize_citations(f"Yes [{listed}]."))) == numbers


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("412,000 passengers", "en"),
        ("412 000 passengers", "en"),
        ("about 410,000 passengers", "en"),
        ("412.000 Fahrgäste im Jahr 2023 für 1,8 Milliarden Euro", "de"),
        ("1,8 Mrd. Euro", "de"),
        ("rund 410.000 Fahrgäste", "de"),
        ("am 31. Dezember 2024 nach 15 Jahren", "de"),
        ("3,5 Prozent, also 3,5 %", "de"),
        ("zwei Drittel oder 67 %", "de"),
        ("67 % and two-thirds", "en"),
        ("Five points matter, on two counts, 3 years later", "en"),
        ("1. First\n2. Second", "en"),
    ],
)
def test_what_stands_in_the_claims_is_found_in_every_convention(text: str, language: str) -> None:
    assert unsupported_figures(text, KNOWN, language) == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("450,000 passengers", "en"),
        ("412 passengers", "en"),
        ("41.200 Fahrgäste", "de"),
        ("1,8 Millionen Euro", "de"),
        ("am 30. Dezember 2024", "de"),
        ("in 2022", "en"),
        ("three quarters", "en"),
        ("die Hälfte", "de"),
        ("5 %", "en"),
        ("12 km", "en"),
        ("EUR 8", "en"),
    ],
)
def test_other_figures_are_named(text: str, language: str) -> None:
    assert unsupported_figures(text, KNOWN, language)


@pytest.mark.parametrize(
    ("result", "expression", "language"),
    [
        ("44,500", "412,000 − 367,500", "en"),
        ("44.500", "412000 - 367500", "de"),
        ("12 %", "(412000 - 367500) / 367500", "en"),
        ("12,1 %", "(412000-367500)/367500*100", "de"),
        ("779,500", "412000 + 367500", "en"),
        ("five years", "2024 - 2019", "en"),
        ("2.3 %", "((412000 / 367500) ** (1/5) - 1) * 100", "en"),
    ],
)
def test_a_right_calculation_is_accepted(result: str, expression: str, language: str) -> None:
    known = ["412,000 in 2024 and 367,500 in 2019"]
    declared = Calculation(result=result, expression=expression)
    assert check_calculation(declared, known, language) is None


@pytest.mark.parametrize(
    ("result", "expression", "why"),
    [
        ("44,600", "412000 - 367500", "comes to 44500"),
        ("44,500", "412000 - 367400", "stands in no claim"),
        ("1", "9**9**9", "too large"),
        ("1", "1/0", "cannot be calculated"),
        ("1", "__import__('os').getpid()", "only numbers"),
        ("1", "(lambda: 1)()", "cannot be calculated"),
        ("1", "1 +", "no arithmetic"),
        ("1", "True + 0", "only numbers"),
        ("1", "+".join(["1"] * 300), "characters"),
    ],
)
def test_a_wrong_calculation_is_refused_with_the_reason(
    result: str, expression: str, why: str
) -> None:
    declared = Calculation(result=result, expression=expression)
    wrong = check_calculation(declared, ["412,000 and 367,500"], "en")
    assert wrong is not None
    assert why in wrong


@given(st.text(max_size=40))
def test_no_expression_does_anything_but_raise_or_calculate(expression: str) -> None:
    try:
        value, _ = evaluate(expression)
    except (ValueError, ArithmeticError):
        return
    assert isinstance(value, float)
