"""Plainly stated conflicts in many wordings are found; what only looks like one is left alone.

`conflict_shapes.json` holds the pairs, by shape: the same event on another date; a number whose
clause is the same and whose sentence is not; another name in a role only one can fill; a statement
and its denial; one row with two values. `left_alone` has rows of other things, other periods,
recurring events, heads of letters and unrelated counts.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from activities.evidence.conflicts import Candidate, candidates
from tests.test_conflicts import claims
from workflows.contracts.evidence import Claim, Quote

HERE = Path(__file__).parent
SHAPES: dict[str, list[list[str]]] = json.loads((HERE / "conflict_shapes.json").read_text("utf-8"))
Texts = list[str]


def only(texts: Texts) -> Candidate:
    (found,) = candidates(claims(*texts))
    return found


@pytest.mark.parametrize("texts", SHAPES["another_date"], ids=lambda texts: texts[0])
def test_the_same_event_on_another_date(texts: Texts) -> None:
    found = only(texts)
    assert found.kind == "date"
    assert "when " in found.about


@pytest.mark.parametrize("texts", SHAPES["long_tails"], ids=lambda texts: texts[0])
def test_another_number_in_a_clause_with_another_tail(texts: Texts) -> None:
    assert only(texts).kind == "number"


@pytest.mark.parametrize("texts", SHAPES["by_whom"], ids=lambda texts: texts[0])
def test_another_name_in_the_same_role(texts: Texts) -> None:
    assert only(texts).kind == "name"


@pytest.mark.parametrize("texts", SHAPES["denials"], ids=lambda texts: texts[0])
def test_a_statement_and_its_denial(texts: Texts) -> None:
    found = only(texts)
    assert found.kind == "polarity"
    assert found.about.startswith("whether ")


@pytest.mark.parametrize("texts", SHAPES["same_row"], ids=lambda texts: texts[0])
def test_one_row_with_two_values(texts: Texts) -> None:
    assert only(texts).kind in ("number", "date")


@pytest.mark.parametrize("texts", SHAPES["left_alone"], ids=lambda texts: texts[0])
def test_what_is_no_conflict_is_left_alone(texts: Texts) -> None:
    assert candidates(claims(*texts)) == ()


@pytest.mark.parametrize(
    ("texts", "about", "values"),
    [
        (SHAPES["long_tails"][0], "Alder bakery: shut after the flood", ["12 days", "21 days"]),
        (SHAPES["long_tails"][5], "Oberon satellite: weight at launch", ["412 kg", "512 kg"]),
        (SHAPES["long_tails"][8], "new library: cost", ["EUR 9.4 million", "EUR 12.1 million"]),
        (SHAPES["long_tails"][7], "Bramwell College: teachers", ["210 teachers", "168 teachers"]),
        (SHAPES["another_date"][2], "when the Pella museum opened",
         ["12 June 2014", "2 September 2014"]),
        (SHAPES["by_whom"][2], "who built the Ostrava stadium", ["Nordhaus", "Kepler Bau"]),
        (SHAPES["by_whom"][6], "chief engineer of the Danube Works",
         ["Zoltan Biro", "Piroska Nagy"]),
        (SHAPES["denials"][2], "whether a permit was required for the Quarry Road works",
         ["not required", "required"]),
        (SHAPES["same_row"][0], "MV Ibis: car spaces", ["84", "72"]),
        (SHAPES["same_row"][1], "Norra, Roof: cost", ["EUR 3.1 million", "EUR 4.0 million"]),
    ],
)  # fmt: skip
def test_a_conflict_is_named_as_a_reader_would(texts: Texts, about: str, values: list[str]) -> None:
    found = only(texts)
    assert found.about == about
    assert [side.value for side in found.sides] == values


def test_a_question_states_nothing() -> None:
    asked, said = "Did Elm Park cost EUR 3 million?", "Elm Park cost EUR 4 million."
    assert candidates(claims(asked, said)) == ()


def test_one_source_that_lists_two_figures_does_not_contradict_itself() -> None:
    texts = "The average trip needs 240 kWh of power.", "The average trip needs 310 kWh of power."
    both = [
        claim.model_copy(update={"quotes": (Quote(source_id="s", text=claim.text),)})
        for claim in claims(*texts)
    ]
    assert candidates(both) == ()


def test_the_planted_contradictions_of_the_sample_are_found_and_no_decoy() -> None:
    """Verbatim sentences of the sample corpus, all in one pool."""
    truth = json.loads((HERE / "sample_truth.json").read_text("utf-8"))
    known: dict[tuple[str, str], Claim] = {}

    def stated(side: dict[str, str]) -> str:
        key = side["file"], side["quote"]
        quote = Quote(source_id=key[0], text=key[1])
        claim = Claim(id=f"c{len(known):03d}", facet_id="f", text=key[1], quotes=(quote,))
        return known.setdefault(key, claim).id

    planted = [
        [(side["value"], stated(side)) for side in conflict["sides"]]
        for conflict in truth["contradictions"]
    ]
    decoys = [[stated(quote) for quote in decoy["quotes"]] for decoy in truth["decoys"]]
    parted = {
        frozenset((x, y))
        for found in candidates(list(known.values()))
        for one in found.sides
        for other in found.sides
        if one is not other
        for x in one.claim_ids
        for y in other.claim_ids
    }
    missed = [
        (a, b)
        for sides in planted
        for value, a in sides
        for other, b in sides
        if value != other and frozenset((a, b)) not in parted
    ]
    assert missed == []
    assert not [d for d in decoys for a in d for b in d if frozenset((a, b)) in parted]
