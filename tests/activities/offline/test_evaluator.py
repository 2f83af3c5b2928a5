"""The offline evaluator: a facet is adequate where a passage of the right kind answers it."""

from __future__ import annotations

from typing import Any

from activities.agent.schemas import EvaluationAnswer
from activities.offline.judge import evaluate
from activities.offline.request import Conversation, JsonObject
from tests.activities.offline.reports import facet

ANSWERED = facet("a", "When was the tower built?")
RELATED = facet("b", "Who built it?", missing=["a direct answer to “Who built it”"])
ABSENT = facet("c", "Who sails there?", "absent", reason="No document holds it.")


def claims(*facet_ids: str, **more: Any) -> list[JsonObject]:
    return [{"facet_id": name, "verdict": "supported", **more} for name in facet_ids]


def evaluated(**brief: Any) -> EvaluationAnswer:
    given = {"facets": [ANSWERED, RELATED, ABSENT], "gaps": [], "pass": 0, **brief}
    answer = evaluate(Conversation("EvaluationAnswer", given, frozenset())).answer
    return EvaluationAnswer.model_validate(answer)


def depths(answer: EvaluationAnswer) -> dict[str, str]:
    return {judged.facet_id: judged.depth for judged in answer.judgements}


def test_an_answer_is_adequate_related_passages_are_thin_and_nothing_is_absent() -> None:
    answer = evaluated(claims=claims("a", "b", "b"))
    assert depths(answer) == {"a": "adequate", "b": "thin", "c": "absent"}
    assert answer.judgements[1].reason.startswith("2 related passages")
    assert answer.judgements[2].reason == "No document holds it."


def test_related_passages_are_a_gap_that_asks_the_facets_question() -> None:
    (gap,) = evaluated(claims=claims("a", "b")).gaps
    assert (gap.facet_id, gap.kind, gap.question) == ("b", "thin", "Who built it?")
    assert "related passages only" in gap.text


def test_a_gap_is_opened_once() -> None:
    assert evaluated(claims=claims("b"), gaps=[{"facet_id": "b"}]).gaps == []
    assert evaluated(claims=claims("b"), **{"pass": 1}).gaps == []


def test_a_failed_claim_answers_nothing() -> None:
    assert depths(evaluated(claims=claims("a", verdict="failed")))["a"] == "absent"


def test_a_claim_of_another_facet_counts_where_it_also_serves() -> None:
    assert depths(evaluated(claims=claims("a", also_for=["c"])))["c"] == "adequate"
