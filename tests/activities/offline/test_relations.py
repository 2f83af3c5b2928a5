"""Relations judged offline: sides are kept, reasons are quoted, no winner is picked."""

from __future__ import annotations

import json
from typing import Any

from activities.agent.schemas import GroupAnswer, RelationsAnswer
from activities.evidence.conflicts.finder import candidates
from activities.offline.judge import judge_relations
from activities.offline.request import JsonObject, Reply, read_request
from workflows.contracts.evidence import Claim


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


def answer(claims: tuple[JsonObject, ...], question: str, group: JsonObject) -> list[GroupAnswer]:
    found = candidates(
        [Claim.model_validate(entry) for entry in claims],
        questions={"f1": question},
        dates={quote["source_id"]: quote["date"] for c in claims for quote in c["quotes"]},
    )
    by_code = found[0].model_dump(mode="json") if found else {"sides": [], "about": ""}
    asked = {**by_code, **group, "group": "g1", "claim_ids": [c["id"] for c in claims]}
    brief = {"question": question, "claims": list(claims), "groups": [asked]}
    body = {
        "model": "offline",
        "output_config": {"format": {"schema": {"title": "RelationsAnswer"}}},
        "messages": [{"role": "user", "content": f"<brief>{json.dumps(brief)}</brief>"}],
    }
    reply = judge_relations(read_request(body))
    assert isinstance(reply, Reply)
    return RelationsAnswer.model_validate(reply.answer).groups


def judge(*claims: JsonObject, question: str = "What is known?", **group: Any) -> GroupAnswer:
    """What the engine says of a group, which has the sides that the finder gave it."""
    (found,) = answer(claims, question, group)
    return found


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


def test_claims_in_which_the_finder_sees_no_difference_get_no_entry() -> None:
    cost = claim("a", "The Orla bridge cost EUR 41 million.")
    assert answer((cost, claim("b", "The Orla bridge carries 9,000 cars a day.")), "?", {}) == []
    assert answer((cost, claim("b", "The Orla bridge cost EUR 41 million in all.")), "?", {}) == []


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
        claim("a", "Traffic on the Orla bridge fell in 2023."),
        claim("b", "Traffic on the Orla bridge rose in 2023."),
    ]
    sides = [{"claim_ids": [cid], "value": "", "date": ""} for cid in ("a", "b")]
    opposed: JsonObject = {"kind": "polarity", "relation": "contradicts", "sides": sides}
    one, other = judge(*claims, **opposed), judge(*claims, **opposed)
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
