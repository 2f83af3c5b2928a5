"""The offline verifier: sides are kept, reasons are quoted, no winner is picked."""

from __future__ import annotations

import json
from typing import Any

from activities.agent.schemas import GroupAnswer, VerifierAnswer
from activities.offline.conversation import JsonObject, read_request
from activities.offline.verifier import verify


def claim(cid: str, text: str, after: str = "", date: str = "2024-01-01") -> JsonObject:
    return {
        "id": cid,
        "text": text,
        "facet_id": "f1",
        "quotes": [
            {
                "source_id": f"s-{cid}",
                "title": f"Paper {cid}",
                "date": date,
                "kind": "report",
                "text": text,
                "context": f"{text} {after}".strip(),
            }
        ],
    }


def judge(*claims: JsonObject, question: str = "What is known?", **group: Any) -> GroupAnswer:
    brief = {"question": question, "groups": [{**group, "claims": list(claims)}]}
    body = {
        "model": "offline",
        "output_config": {"format": {"schema": {"title": "VerifierAnswer"}}},
        "messages": [{"role": "user", "content": f"<brief>{json.dumps(brief)}</brief>"}],
    }
    return VerifierAnswer.model_validate(verify(read_request(body)).answer).groups[0]


def verdicts(group: GroupAnswer) -> dict[str, str]:
    return {ruling.claim_id: ruling.verdict.value for ruling in group.rulings}


def test_different_values_are_a_contradiction_with_both_sides() -> None:
    group = judge(
        claim("a", "The Orla bridge cost EUR 41 million."),
        claim("b", "The Orla bridge cost EUR 58 million."),
        kind="number",
        about="Orla bridge cost",
    )
    assert group.relation == "contradicts"
    assert [side.claim_ids for side in group.sides] == [["a"], ["b"]]
    assert ["41" in group.sides[0].value, "58" in group.sides[1].value] == [True, True]
    assert group.about == "Orla bridge cost"


def test_what_nothing_explains_is_contradicted_and_says_so() -> None:
    group = judge(
        claim("a", "The Orla bridge opened to traffic with 12 lanes."),
        claim("b", "The Orla bridge opened to traffic with 8 lanes."),
        kind="number",
    )
    assert group.cause == "unexplained"
    assert "no reason" in group.explanation
    assert verdicts(group) == {"a": "contradicted", "b": "contradicted"}


def test_a_difference_the_words_explain_qualifies_both() -> None:
    group = judge(
        claim("a", "The Orla bridge cost EUR 41 million.", "This excludes the approach roads."),
        claim("b", "The Orla bridge cost EUR 58 million.", "The sum includes the approach roads."),
        kind="number",
    )
    assert group.cause == "definition"
    assert "excludes" in group.explanation
    assert "includes" in group.explanation
    assert verdicts(group) == {"a": "qualified", "b": "qualified"}
    assert "excludes" in group.sides[0].definition
    assert "includes" in group.sides[1].definition


def test_a_later_source_is_named_and_not_preferred() -> None:
    group = judge(
        claim("a", "The Orla bridge cost EUR 41 million.", date="2019-03-01"),
        claim("b", "The Orla bridge cost EUR 58 million.", date="2024-03-01"),
        kind="number",
    )
    assert group.cause == "superseded"
    assert [side.date for side in group.sides] == ["2019-03-01", "2024-03-01"]
    assert set(verdicts(group).values()) == {"qualified"}


def test_a_common_word_on_one_side_explains_nothing() -> None:
    group = judge(
        claim("a", "The Orla ferry was out of service for 47 days after the fire."),
        claim("b", "The Orla ferry was out of service for 63 days after the fire.",
              "People took the old ferry instead."),
        kind="number",
    )  # fmt: skip
    assert group.relation == "contradicts"
    assert group.cause == "unexplained"
    assert "no reason" in group.explanation


def test_three_sides_are_all_kept() -> None:
    group = judge(
        claim("a", "The Orla bridge cost EUR 41 million."),
        claim("b", "The Orla bridge cost EUR 58 million."),
        claim("c", "The Orla bridge cost EUR 73 million."),
        kind="number",
    )
    assert len(group.sides) == 3
    assert {cid for side in group.sides for cid in side.claim_ids} == {"a", "b", "c"}


def test_claims_that_say_the_same_are_supported() -> None:
    group = judge(
        claim("a", "The Orla bridge cost EUR 41 million."),
        claim("b", "The Orla bridge cost EUR 41 million in all."),
        kind="number",
    )
    assert group.relation == "agreement"
    assert set(verdicts(group).values()) == {"supported"}


def test_what_cannot_be_compared_is_unclear() -> None:
    group = judge(
        claim("a", "The Orla bridge cost EUR 41 million."),
        claim("b", "The Orla bridge carries 9,000 cars a day."),
        kind="number",
    )
    assert group.relation == "unclear"
    assert set(verdicts(group).values()) == {"unverified"}
    assert group.sides == []


def test_a_group_without_kind_and_subject_is_judged_by_the_question() -> None:
    group = judge(
        claim("a", "Nils Berg drew the Orla bridge."),
        claim("b", "The Orla bridge was drawn by Ida Moe."),
        question="Who drew the Orla bridge?",
    )
    assert {ruling.claim_id for ruling in group.rulings} == {"a", "b"}
    assert group.relation == "contradicts"
    assert [side.value for side in group.sides] == ["Nils Berg", "Ida Moe"]


def test_every_claim_gets_a_ruling_and_the_answer_is_stable() -> None:
    claims = [
        claim("a", "Orla bridge traffic fell in 2023."),
        claim("b", "Orla bridge traffic rose in 2023."),
    ]
    one, other = judge(*claims, kind="polarity"), judge(*claims, kind="polarity")
    assert one == other
    assert set(verdicts(one)) == {"a", "b"}


def test_the_relation_and_the_sides_of_the_finder_are_answered() -> None:
    group = judge(
        claim("a", "Orla exported 41 tonnes in 2022."),
        claim("b", "Orla exported 58 tonnes in 2023."),
        kind="number",
        about="Orla exports",
        relation="other_period",
        sides=[
            {"claim_ids": ["a"], "value": "41 tonnes", "date": ""},
            {"claim_ids": ["b"], "value": "58 tonnes", "date": "2023-05-01"},
        ],
    )
    assert group.relation == "other_period"
    assert [side.value for side in group.sides] == ["41 tonnes", "58 tonnes"]
    assert [side.date for side in group.sides] == ["2022", "2023-05-01"]
    assert set(verdicts(group).values()) == {"qualified"}


def test_a_claim_without_a_side_is_supported() -> None:
    group = judge(
        claim("a", "The Orla bridge cost EUR 41 million."),
        claim("b", "The Orla bridge cost EUR 58 million."),
        claim("c", "The Orla bridge is green."),
        kind="number",
    )
    assert verdicts(group)["c"] == "supported"
