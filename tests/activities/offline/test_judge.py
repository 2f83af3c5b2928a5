"""The offline judge of findings: what it measures says whether an answer is enough."""

from __future__ import annotations

import json
from typing import Any

from activities.agent.schemas import EntailmentAnswer
from activities.offline.judge import judge_claims
from activities.offline.request import Reply, read_request
from workflows.contracts.state import FindingsJudgement

ASK = "How many passengers did the harbour line carry in 2024?"
TOLD = "The harbour line carried 412,000 passengers in 2024."


def judged(*texts: str, confidence: float = 0.9, **said: Any) -> FindingsJudgement | None:
    claims = [
        {"id": f"c{n}", "text": text, "confidence": confidence, "relevance": 0.9,
         "quotes": [{"source_id": "s", "kind": "report", "text": text}]}
        for n, text in enumerate(texts)
    ]  # fmt: skip
    brief = {
        "question": "What is known about the harbour line?",
        "claims": claims,
        "asked": {"ask": ASK, "facet": {"question": ASK},
                  "said": {"critical": [], **said}, "other_claims": []},
    }  # fmt: skip
    body = {
        "output_config": {"format": {"schema": {"title": "EntailmentAnswer"}}},
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": f"<brief>{json.dumps(brief)}</brief>"}]}],
    }  # fmt: skip
    reply = judge_claims(read_request(body))
    assert isinstance(reply, Reply)
    return EntailmentAnswer.model_validate(reply.answer).findings


def test_claims_with_the_words_of_the_ask_answer_it() -> None:
    assert judged(TOLD) == FindingsJudgement(answers=True, proceed=True)


def test_claims_about_something_else_do_not() -> None:
    found = judged("Batteries are replaced after ten years.")
    assert found
    assert not found.answers
    assert "passengers" in found.reason


def test_weak_claims_are_not_proceeded_on_and_holes_are_named() -> None:
    found = judged(TOLD, confidence=0.2, critical=["x"])
    assert found
    assert (found.answers, found.proceed, found.critical) == (True, False, ("x",))
