"""Why two sources may differ: the cause is named, both sides are quoted, nobody is called right."""

from __future__ import annotations

import pytest

from activities.evidence.conflicts.value_relations import explain


def test_explain_quotes_the_cues_of_each_side() -> None:
    found = explain(
        "The programme costs 1.84 billion kroner including shore works.",
        "The programme costs 1.52 billion kroner.",
        "number", "1.84 billion kroner", "1.52 billion kroner",
    )  # fmt: skip
    assert found.cause == "definition"
    assert "including shore works" in found.text


@pytest.mark.parametrize(
    ("a", "b", "cause"),
    [
        ("82 % in the modelled scenario", "71 % as measured on board", "method"),
        ("412,000 per year", "1,300 per day", "period"),
        ("82 % of commuters", "71 % of tourists", "population"),
        ("the revised figure is 82", "the original figure was 71", "superseded"),
        ("82 in 2021", "71 in 2023", "period"),
        ("it is 82", "it is 71", "unexplained"),
    ],
)
def test_explain_names_the_cause(a: str, b: str, cause: str) -> None:
    assert explain(a, b, "number", "82", "71").cause == cause


def test_explain_says_when_there_is_no_reason() -> None:
    found = explain("it is 82", "it is 71", "number", "82", "71", "2024-01-01", "2024-02-01")
    assert found.cause == "unexplained"
    assert "no reason" in found.text


def test_explain_mentions_a_later_source_without_preferring_it() -> None:
    found = explain("it is 82", "it is 71", "number", "82", "71", "2021-01-01", "2024-02-01")
    assert found.cause == "superseded"
    assert "2024-02-01" in found.text
    assert "may" in found.text


@pytest.mark.parametrize(
    ("a", "b", "cause", "quotes"),
    [
        (
            "The depot will cost EUR 9 million. The sum covers the halls, the yard and the wash.",
            "The depot will cost EUR 6 million. This is the price of the halls.",
            "definition",
            ("The sum covers the halls", "This is the price of the halls"),
        ),
        (
            "The clinic saw EUR 9 million in fees. The figure is for the calendar year.",
            "The clinic saw EUR 6 million in fees. As always, it means the financial year.",
            "period",
            ("The figure is for the calendar year", "financial year"),
        ),
        (
            "A charge takes EUR 9 million of power. This is a simulated value.",
            "A charge takes EUR 6 million of power. Measured over 300 calls by the station.",
            "method",
            ("This is a simulated value", "Measured over 300 calls"),
        ),
        (
            "Fares rose by EUR 9 million among all travellers aged 15 and over.",
            "Fares rose by EUR 6 million. We put the question to season-ticket holders.",
            "population",
            ("aged 15 and over", "season-ticket holders"),
        ),
        (
            "The line can carry EUR 9 million.",
            "The line can carry EUR 6 million. The note of May gave more; it is out of date.",
            "superseded",
            ("it is out of date",),
        ),
        (
            "# Without a doubt\n\nThe depot will cost EUR 9 million.",
            "The depot will cost EUR 6 million.",
            "unexplained",
            (),
        ),
    ],
)
def test_the_sentence_that_says_what_a_figure_is_is_quoted(
    a: str, b: str, cause: str, quotes: tuple[str, ...]
) -> None:
    found = explain(a, b, "number", "EUR 9 million", "EUR 6 million")
    assert found.cause == cause
    assert all(quote in found.text for quote in quotes)


def test_words_far_from_the_value_weigh_less_than_those_beside_it() -> None:
    found = explain(
        "Adults pay more. Rain fell. Dogs barked. It cost 82. The figure is calculated.",
        "Tourists came. Rain fell. Dogs barked. It cost 71. The figure was measured.",
        "number", "82", "71",
    )  # fmt: skip
    assert found.cause == "method"


def test_hearsay_is_told_from_a_finding() -> None:
    found = explain(
        "The inquiry found that the leak did not begin in the hall.",
        "Everyone in town knows that the leak began in the hall.",
        "polarity", "did not begin", "began",
    )  # fmt: skip
    assert found.cause == "method"
    assert "The inquiry found" in found.text
    assert "Everyone in town knows" in found.text


def test_a_weak_word_on_one_side_explains_nothing() -> None:
    found = explain("It is 82, all told in all.", "It is 71.", "number", "82", "71")
    assert found.cause == "unexplained"
