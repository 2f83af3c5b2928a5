"""What the evaluator finds lacking, and that it finds nothing where nothing is."""

from __future__ import annotations

from typing import Any

from activities.answers import EvaluationAnswer
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
    reported = {**PUNCTUALITY, "missing": ["delays caused by roadworks", "the second depot"]}
    (gap,) = judged([reported, FARES], COVERED).gaps
    assert gap.kind == "thin"
    assert "roadworks" in gap.question


def test_an_example_from_the_plan_is_no_hole_in_a_well_answered_facet() -> None:
    hinted = {
        **PUNCTUALITY,
        "question": f"{PUNCTUALITY['question'][:-1]}, in particular roadworks and signals?",
        "missing": ["roadworks"],
    }
    more = claim("punctuality", "Punctuality is measured at terminal stops.", 6)
    assert judged([hinted, FARES], [*COVERED, more]).gaps == []


def test_a_single_source_calls_for_confirmation_on_the_first_pass_only() -> None:
    lone = [{**c, "cite": [4]} for c in COVERED if c["facet_id"] == "fares"]
    facets = [PUNCTUALITY, FARES]
    (gap,) = judged(facets, COVERED[:3] + lone).gaps
    assert (gap.kind, gap.facet_id) == ("thin", "fares")
    assert "independent" in gap.question
    assert judged(facets, COVERED[:3] + lone, **{"pass": 1}).gaps == []


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
    gaps = judged([PUNCTUALITY, FARES], COVERED + named).gaps
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


def test_gaps_are_few_and_spread() -> None:
    facets = [
        facet(name, f"What of {name}?", missing=["signals", "rails", "wires", "masts"])
        for name in ("Depots", "Bridges", "Stops", "Lines", "Drivers", "Tunnels", "Staff", "Noise")
    ]
    gaps = judged(
        facets, [claim("depots", "Depots are built.", 1), claim("depots", "They are.", 2)]
    ).gaps
    assert len(gaps) == 6
    assert max(sum(g.facet_id == f["id"] for g in gaps) for f in facets) <= 2
