"""Names in running text."""

from __future__ import annotations

import pytest

from activities.evidence.text.names import names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The tower was built by Ada Holt in Orla.", ["Ada Holt", "Orla"]),
        ("She joined the Bank of England.", ["Bank of England"]),
        ("It was written by J. R. Smith and St. John.", ["J. R. Smith", "St. John"]),
        ("Ludwig van Beethoven lived in Bonn.", ["Ludwig van Beethoven", "Bonn"]),
        ("Acme's plant runs on Windows 11.", ["Acme", "Windows 11"]),
        ("However, the tram stopped on Monday.", []),
        ("In May it rained.", []),
        ("nothing here", []),
    ],
)
def test_names_are_runs_of_capitals_without_words_that_open_a_sentence(
    text: str, found: list[str]
) -> None:
    assert [name.text for name in names(text)] == found


def test_a_name_knows_where_it_begins() -> None:
    text = "The tower was built by Ada Holt."
    (name,) = names(text)
    assert text[name.start :].startswith("Ada Holt")


def test_two_spellings_of_a_name_have_one_key() -> None:
    (one,), (other,) = names("the Bank of England"), names("a BANK of ENGLAND")
    assert one.key == other.key == {"bank", "england"}
