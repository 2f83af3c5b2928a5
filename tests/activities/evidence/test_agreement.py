"""Agreement: claims that say the same are joined, and nothing that differs is."""

from __future__ import annotations

from activities.evidence.conflicts.agreement import groups_of_agreement
from tests.activities.evidence.test_conflicts import agree, claim, claims


def test_one_quote_can_carry_two_statements() -> None:
    quote = "Norled runs nine ferries from Tau and employs a crew of forty."
    one = claim(1, "Norled runs nine ferries from Tau.", quote)
    two = claim(2, "A crew of forty is employed by Norled.", quote)
    assert not agree(one, two)


def test_agreement_needs_the_same_numbers() -> None:
    one, two, three = claims(
        "The ferry programme costs 1.84 billion kroner.",
        "The ferry programme will cost about 1.8 billion kroner.",
        "The ferry programme costs 1.52 billion kroner.",
    )
    assert agree(one, two)
    assert not agree(one, three)
    assert groups_of_agreement([one, two, three]) == [[0, 1], [2]]


def test_denial_is_not_agreement() -> None:
    one, two = claims("The quay in Tau has been built.", "The quay in Tau has not been built.")
    assert not agree(one, two)


def test_an_edited_copy_is_no_second_witness() -> None:
    one, two = claims(
        "The Tau harbour board decided that monthly reports are sent out.",
        "The Tau harbour board decided that weekly bulletins are sent out.",
    )
    assert not agree(one, two)


def test_a_claim_about_another_place_is_not_joined() -> None:
    one, two = claims(
        "The ferry carried 400 passengers.", "The ferry carried 400 passengers from Tau."
    )
    assert not agree(one, two)
