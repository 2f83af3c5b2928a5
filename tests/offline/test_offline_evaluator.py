"""What the evaluator finds lacking, and that it finds nothing where nothing is."""

from __future__ import annotations

from typing import Any

import pytest
from activities.offline.language import content_terms

from activities.agent.schemas import EvaluationAnswer
from activities.offline.conversation import Conversation, JsonObject
from activities.offline.evaluator import evaluate

QUESTION = "What is the state of the Tarn tram network, including punctuality and fares?"


def facet(name: str, question: str, **more: Any) -> JsonObject:
    return {"id": name.lower(), "title": name, "question": question, "status": "found", **more}


def claim(facet_id: str, text: str, *cite: int, verdict: str = "supported") -> JsonObject:
    return {
        "id": f"{facet_id}-{abs(hash(text))}",
        "facet_id": facet_id,
        "text": text,
        "verdict": verdict,
        "relevance": 0.9,
        "cite": list(cite),
    }


PUNCTUALITY = facet("Punctuality", "What is known about punctuality in the Tarn tram network?")
FARES = facet("Fares", "How do things stand with fares in the Tarn tram network?")
COVERED = [
    claim("punctuality", "Punctuality of the Tarn trams was 91 percent in 2024.", 1),
    claim("punctuality", "Punctuality fell in winter because of ice on the wires.", 2),
    claim("punctuality", "A second depot improved punctuality on the harbour line.", 3),
    claim("fares", "A single fare costs two crowns.", 4),
    claim("fares", "Fares are free for children under ten.", 5),
]


def judged(facets: list[JsonObject], claims: list[JsonObject], **more: Any) -> EvaluationAnswer:
    brief = {
        "question": QUESTION,
        "kind": "overview",
        "facets": facets,
        "claims": claims,
        "contradictions": [],
        "report": "",
        "gaps": [],
        "pass": 0,
        **more,
    }
    answer = evaluate(Conversation("EvaluationAnswer", brief, frozenset())).answer
    return EvaluationAnswer.model_validate(answer)


def test_a_covered_question_has_no_gaps() -> None:
    answer = judged([PUNCTUALITY, FARES], COVERED)
    assert answer.gaps == []
    assert [j.depth for j in answer.judgements] == ["adequate", "adequate"]


def test_a_facet_without_claims_is_missing() -> None:
    answer = judged([PUNCTUALITY, FARES], COVERED[:3])
    (gap,) = answer.gaps
    assert (gap.facet_id, gap.kind) == ("fares", "missing")
    assert "Fares" in gap.question
    assert "Tarn tram network" in gap.question
    assert [j.addressed for j in answer.judgements] == [True, False]


def test_claims_that_do_not_stand_do_not_count() -> None:
    refuted = [{**c, "verdict": "contradicted"} for c in COVERED if c["facet_id"] == "fares"]
    answer = judged([PUNCTUALITY, FARES], COVERED[:3] + refuted)
    assert [gap.facet_id for gap in answer.gaps] == ["fares"]


def test_a_point_the_researcher_missed_is_asked_for_unless_another_found_it() -> None:
    asked = f"{PUNCTUALITY['question'][:-1]}, and of roadworks and the second depot?"
    reported = {**PUNCTUALITY, "question": asked, "missing": ["roadworks", "the second depot"]}
    (gap,) = judged([reported, FARES], COVERED).gaps
    assert gap.kind == "thin"
    assert "roadworks" in gap.question


def test_a_gap_reads_as_a_sentence() -> None:
    asked = f"{PUNCTUALITY['question'][:-1]}, and of roadworks and platform limits?"
    reported = {**PUNCTUALITY, "question": asked, "missing": ["Roadworks and Limits"]}
    (gap,) = judged([reported, FARES], COVERED).gaps
    assert gap.text == "On “Punctuality” nothing was found about roadworks and limits."
    assert gap.question.startswith("What is known about roadworks and limits")


@pytest.mark.parametrize("missing", ["punct", "the weather of Mars"])
def test_a_word_cut_short_or_never_asked_for_is_no_gap(missing: str) -> None:
    reported = {**PUNCTUALITY, "missing": [missing]}
    assert judged([reported, FARES], COVERED).gaps == []


def test_a_sub_point_of_the_plan_that_no_claim_covers_is_asked_for_in_its_words() -> None:
    asked = f"{PUNCTUALITY['question'][:-1]}, in particular roadworks and ice?"
    (gap,) = judged([{**PUNCTUALITY, "question": asked}, FARES], COVERED).gaps
    assert "roadworks" in gap.question
    assert "ice" not in content_terms(gap.question)  # a claim speaks of it
    assert "Tarn tram network" in gap.question


def test_half_of_a_joint_facet_is_not_enough() -> None:
    both = facet("Fares and season tickets", "How are fares and season tickets priced?")
    claims = [{**c, "facet_id": both["id"]} for c in COVERED if c["facet_id"] == "fares"]
    (gap,) = judged([PUNCTUALITY, both], COVERED[:3] + claims).gaps
    assert gap.question.startswith("What is known about season tickets")


def test_a_facet_far_behind_the_others_is_searched_for_in_more_words() -> None:
    safety = facet("Safety", "How safe is the Tarn tram network?")
    claims = [claim("safety", "Trams are safe.", 1), claim("safety", "Safety was reviewed.", 2)]
    many = [
        claim(home, f"{home} at stop {n} in winter.", n)
        for home in ("fares", "punctuality")
        for n in range(5, 12)
    ]
    (gap,) = judged([safety, FARES, PUNCTUALITY], claims + many).gaps
    assert gap.facet_id == "safety"
    assert {"accid", "fire", "injuri"} <= set(content_terms(gap.question))


def test_a_single_source_counts_only_where_others_speak_of_the_same() -> None:
    lone = [{**c, "cite": [4]} for c in COVERED if c["facet_id"] == "fares"]
    facets = [PUNCTUALITY, FARES]
    assert judged(facets, COVERED[:3] + lone).gaps == []
    echo = claim("punctuality", "Children under ten slow boarding, and punctuality suffers.", 7)
    (gap,) = judged(facets, [*COVERED[:3], echo, *lone]).gaps
    assert (gap.kind, gap.facet_id) == ("thin", "fares")
    assert "children" in gap.question.lower()
    assert judged(facets, [*COVERED[:3], echo, *lone], **{"pass": 1}).gaps == []


def test_an_unexplained_contradiction_is_asked_about_and_an_explained_one_is_not() -> None:
    open_one = {
        "id": "x1",
        "about": "punctuality in 2024",
        "cause": "unexplained",
        "explanation": "",
        "facet_ids": ["punctuality"],
    }
    settled = {**open_one, "id": "x2", "cause": "period", "explanation": "Different years."}
    (gap,) = judged([PUNCTUALITY, FARES], COVERED, contradictions=[open_one, settled]).gaps
    assert gap.kind == "unexplained"
    assert "punctuality in 2024" in gap.question


def test_what_claims_keep_naming_and_never_explain_is_adjacent() -> None:
    named = [
        claim("fares", f"Fares on line {n} are collected by Skarnpay terminals.", n)
        for n in range(5, 11)
    ]
    more = [claim("punctuality", f"Punctuality on line {n} is good.", n) for n in range(5, 9)]
    gaps = judged([PUNCTUALITY, FARES], COVERED + named + more).gaps
    assert [(gap.kind, "Skarnpay" in gap.question) for gap in gaps] == [("adjacent", True)]


def test_no_gap_is_asked_twice_whatever_became_of_it() -> None:
    (first,) = judged([PUNCTUALITY, FARES], COVERED[:3]).gaps
    for status in ("open", "closed", "absent", "failed"):
        known = [{**first.model_dump(), "status": status}]
        assert judged([PUNCTUALITY, FARES], COVERED[:3], gaps=known).gaps == []


def test_a_facet_known_to_be_absent_is_left_alone() -> None:
    known = [
        {"facet_id": "fares", "kind": "missing", "question": "Ticket prices?", "status": "absent"}
    ]
    assert judged([PUNCTUALITY, FARES], COVERED[:3], gaps=known).gaps == []


def test_gaps_are_so_few_that_a_pass_costs_less_than_a_third() -> None:
    names = ("Depots", "Bridges", "Stops", "Lines", "Drivers", "Tunnels", "Staff", "Noise")
    facets = [facet(name, f"What of {name}?") for name in names]
    claims = [claim("depots", "Depots are built.", 1), claim("depots", "They are.", 2)]
    gaps = judged(facets, claims).gaps
    assert len(gaps) == 2
    assert len({gap.facet_id for gap in gaps}) == 2
