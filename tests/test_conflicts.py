"""Conflicts: every kind is found, every decoy is left alone, order and size do not matter."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.evidence.conflicts import Candidate, agree, candidates, groups_of_agreement
from activities.evidence.conflicts.comparison import Comparison
from activities.evidence.conflicts.values import Value
from workflows.contracts.evidence import Claim, Quote


def claim(n: int, text: str, quote: str = "", facet: str = "f") -> Claim:
    return Claim(
        id=f"c{n:04d}", facet_id=facet, text=text,
        quotes=(Quote(source_id=f"s{n}", text=quote or text),),
    )  # fmt: skip


def claims(*texts: str) -> list[Claim]:
    return [claim(n, text) for n, text in enumerate(texts)]


def sides(candidate: Candidate) -> list[tuple[tuple[str, ...], str]]:
    return [(side.claim_ids, side.value) for side in candidate.sides]


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (
            "number",
            (
                "The Stavanger route carried 412,000 passengers in 2023.",
                "The Stavanger route carried 367,500 passengers in 2023.",
            ),
        ),
        (
            "number",
            (
                "The programme cost is 1.84 billion kroner including shore works.",
                "The programme cost is 1.52 billion kroner.",
            ),
        ),
        (
            "number",
            (
                "Charging takes 8–10 minutes at the Tau quay.",
                "Charging at the Tau quay takes 22 minutes.",
            ),
        ),
        (
            "number",
            (
                "Battery capacity of the ferry is 4,200 kWh.",
                "The ferry has a battery capacity of 3.6 MWh.",
            ),
        ),
        (
            "date",
            (
                "The first ferry was delivered on 12 March 2024.",
                "The first ferry was delivered on 3 May 2024.",
            ),
        ),
        ("name", ("Route 12 is operated by Norled.", "Route 12 is operated by Fjord1.")),
        (
            "polarity",
            (
                "The charging station in Tau has been built.",
                "The charging station in Tau has not been built.",
            ),
        ),
        (
            "polarity",
            (
                "The council approved the charging station in Tau.",
                "The council rejected the charging station in Tau.",
            ),
        ),
    ],
)
def test_each_kind_is_found(kind: str, texts: Sequence[str]) -> None:
    (found,) = candidates(claims(*texts))
    assert found.kind == kind
    assert [side.claim_ids for side in found.sides] == [("c0000",), ("c0001",)]
    assert found.about


@pytest.mark.parametrize(
    "texts",
    [
        # another year of a series
        (
            "The Stavanger route carried 412,000 passengers in 2023.",
            "The Stavanger route carried 367,500 passengers in 2022.",
        ),
        # another entity, by name and by number
        (
            "The Stavanger route carried 412,000 passengers in 2023.",
            "The Bergen route carried 367,500 passengers in 2023.",
        ),
        (
            "Route 12 carried 412,000 passengers in 2023.",
            "Route 14 carried 367,500 passengers in 2023.",
        ),
        # rounding, other units, paraphrase
        ("The programme costs 1.84 billion kroner.", "The programme costs about 1.8 bn kroner."),
        (
            "Battery capacity of the ferry is 4,200 kWh.",
            "The ferry has a battery capacity of 4.2 MWh.",
        ),
        # another measure, another unit
        ("The ferry is 84 m long.", "The ferry is 17 m wide."),
        ("The ferry programme has 9 routes.", "The ferry programme has 14 vessels."),
        # a rounder date
        (
            "The first ferry was delivered on 12 March 2024.",
            "The first ferry was delivered in March 2024.",
        ),
        # a contrast named on both sides
        (
            "An adult ticket on the Tau ferry costs 60 kroner.",
            "A child ticket on the Tau ferry costs 30 kroner.",
        ),
        # one claim holds both values
        (
            "The programme cost rose from 1.5 billion kroner to 1.84 billion kroner.",
            "The programme cost is 1.84 billion kroner.",
        ),
        # denial of something else
        ("The ferry in Tau is electric.", "The ferry in Tau is not late."),
    ],
)
def test_decoys_are_left_alone(texts: Sequence[str]) -> None:
    assert candidates(claims(*texts)) == ()


def test_claims_that_agree_join_one_side() -> None:
    (found,) = candidates(
        claims(
            "The ferry programme costs 1.84 billion kroner including shore works.",
            "The ferry programme costs 1.52 billion kroner.",
            "The ferry programme costs about 1.8 billion kroner.",
        )
    )
    assert sides(found) == [
        (("c0000", "c0002"), "1.84 billion kroner"),
        (("c0001",), "1.52 billion kroner"),
    ]


def test_three_values_make_three_sides() -> None:
    (found,) = candidates(
        claims(*(f"The Tau quay cost {n} million kroner to build." for n in (40, 55, 71)))
    )
    assert len(found.sides) == 3
    assert found.claim_ids == ("c0000", "c0001", "c0002")


def test_a_value_without_entity_does_not_tie_two_entities_together() -> None:
    found = candidates(
        claims(
            "The Bergen route carried 412,000 passengers.",
            "The Stavanger route carried 367,500 passengers.",
            "The route carried 500,000 passengers.",
        )
    )
    for candidate in found:
        assert not {"c0000", "c0001"} <= set(candidate.claim_ids)


def test_a_stale_source_is_a_candidate_and_shows_its_date() -> None:
    (found,) = candidates(
        claims("The Tau quay costs 40 million kroner.", "The Tau quay costs 55 million kroner."),
        dates={"s0": "2021-02-01", "s1": "2024-06-30"},
    )
    assert [side.date for side in found.sides] == ["2021-02-01", "2024-06-30"]


def test_a_denial_and_all_who_join_it_make_one_candidate() -> None:
    (found,) = candidates(
        claims(
            "The quay in Tau has been built.",
            "The quay in Tau has not been built.",
            "The quay in Tau has not been built yet.",
        )
    )
    assert [side.claim_ids for side in found.sides] == [("c0000",), ("c0001", "c0002")]


def test_an_edited_copy_is_a_conflict_and_no_second_witness() -> None:
    one, two = claims(
        "The Tau harbour board decided in its spring meeting that monthly reports are sent out.",
        "The Tau harbour board decided in its spring meeting that weekly bulletins are sent out.",
    )
    (found,) = candidates([one, two])
    assert found.kind == "name"
    assert [side.value for side in found.sides] == ["monthly reports", "weekly bulletins"]
    assert not agree(one, two)


def test_the_question_tells_which_value_is_the_answer() -> None:
    found = candidates(
        claims(
            "The Tau quay opened in 1998 after long debate, and was rebuilt in 2011.",
            "Opened to traffic in 2001, the Tau quay replaced an older pier.",
        ),
        questions={"f": "When was the Tau quay opened?"},
    )
    assert [side.value for side in found[0].sides] == ["1998", "2001"]
    assert found[0].kind == "date"


def test_an_answer_about_another_entity_is_not_compared() -> None:
    found = candidates(
        claims("The Tau quay opened in 1998.", "The Moss pier opened in 2001."),
        questions={"f": "When was the Tau quay opened?"},
    )
    assert found == ()


def test_answers_for_different_years_are_not_compared() -> None:
    found = candidates(
        claims(
            "As of 2010 the population of Tau was 3,559.",
            "In 2020 Tau had a population of 3,902.",
        ),
        questions={"f": "What is the population of Tau?"},
    )
    assert found == ()


@pytest.mark.parametrize(
    "question",
    [
        "What are the costs of the Tau programme?",
        "Why is the Tau quay late?",
        "How does the Tau quay compare with the Moss pier?",
        "What does it cost?",
    ],
)
def test_a_broad_question_does_not_make_its_claims_comparable(question: str) -> None:
    found = candidates(
        claims(
            "Shore power at Tau costs 40 million kroner.",
            "The Tau programme office employs twelve people and costs 9 million kroner.",
        ),
        questions={"f": question},
    )
    assert found == ()


def test_a_crowd_about_one_thing_is_still_compared() -> None:
    costs = (40 + n % 3 * 9 for n in range(90))
    (found,) = candidates(
        claims(*(f"The ferry programme cost is {n} million kroner." for n in costs))
    )
    assert [len(side.claim_ids) for side in found.sides] == [30, 30, 30]


entities = st.sampled_from(["Tau", "Bergen", "Moss", "the harbour"])
measures = st.sampled_from(["quay cost {} million kroner", "ferry carried {} passengers"])
years = st.sampled_from(["", " in 2022", " in 2023"])
texts = st.builds(
    lambda who, what, n, when: f"The {who.removeprefix('the ')} {what.format(n)}{when}.",
    entities, measures, st.integers(10, 40), years,
)  # fmt: skip


@given(st.lists(texts, max_size=8), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_order_of_claims_does_not_matter(found: list[str], random: object) -> None:
    original = claims(*found)
    shuffled = list(original)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert candidates(original) == candidates(shuffled)
    named = [{original[n].id for n in group} for group in groups_of_agreement(original)]
    again = [{shuffled[n].id for n in group} for group in groups_of_agreement(shuffled)]
    assert sorted(map(sorted, named)) == sorted(map(sorted, again))


@given(texts)
@settings(deadline=None)
def test_nothing_conflicts_with_itself(text: str) -> None:
    assert candidates(claims(text, text)) == ()
    assert agree(*claims(text, text))


@given(texts, texts)
@settings(deadline=None)
def test_agreement_is_symmetric_and_never_a_conflict(a: str, b: str) -> None:
    one, two = claims(a, b)
    assert agree(one, two) == agree(two, one)
    if agree(one, two):
        assert candidates([one, two]) == ()


def test_work_grows_with_the_claims_not_with_their_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    real = Comparison.same_thing

    def counted(self: Comparison, a: Value, b: Value) -> bool:
        nonlocal calls
        calls += 1
        return real(self, a, b)

    monkeypatch.setattr(Comparison, "same_thing", counted)
    syllables = ["ba", "ke", "lo", "mi", "nu", "ra", "se", "ti", "vo", "du"]

    def word(n: int) -> str:
        return "".join(syllables[int(digit)] for digit in f"{n:04d}")

    def many(count: int) -> list[Claim]:
        return claims(
            *(
                f"The {word(n // 2)} harbour programme cost {10 + n % 7} million kroner for "
                f"{word(5000 + n // 3)} quays."
                for n in range(count)
            )
        )

    work = []
    for count in (500, 2000):
        calls = 0
        candidates(many(count))
        work.append(calls)
    assert work[1] < 8 * work[0]
    assert work[1] < 2000 * 40


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Quiet Crossing is run by Norrey Lines (formerly Coastal Ferries) since 2019.",
         "Quiet Crossing is run by Norrey Lines (see annex) since 2019."),
        ("Quiet Crossing is run by Norrey Lines (formerly Coastal Ferries).",
         "Quiet Crossing is run by Coastal Ferries (now Norrey Lines)."),
        ("The Harlow Bridge was designed by Anna Bell (born in Leeds).",
         "The Harlow Bridge was designed by Anna Bell (with Tom Reed as engineer)."),
        ("The ferry Tern cost 4.2 million kroner (its charger cost 1.1 million kroner).",
         "The ferry Tern cost 4.2 million kroner (an early estimate was 3.9 million kroner)."),
    ],
)  # fmt: skip
def test_what_stands_in_brackets_is_no_side(one: str, other: str) -> None:
    assert candidates(claims(one, other)) == ()


def test_a_figure_in_brackets_still_differs_from_one_that_is_stated() -> None:
    told = claims(
        "The Tern route (opened in 1985) runs along the coast of Norrey.",
        "The Tern route opened in 1987.",
    )
    (found,) = candidates(told, questions={told[0].facet_id: "When was the Tern route opened?"})
    assert [side.value for side in found.sides] == ["1985", "1987"]
