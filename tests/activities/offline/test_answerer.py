"""Questions to a finished report, answered from its passages."""

from __future__ import annotations

import pytest

from activities.offline.request import JsonObject
from tests.activities.offline.library import start


async def asked(question: str, *sentences: str) -> JsonObject:
    evidence = [
        {"n": n, "title": "Notes", "section": "", "kind": "page", "quotes": [sentence]}
        for n, sentence in enumerate(sentences, 1)
    ]
    brief = {"question": question, "frequency": {}, "sources": len(evidence), "evidence": evidence}
    return (await start("AskAnswer", brief).run()).answer


@pytest.mark.parametrize(
    ("sentence", "status"),
    [
        ("Gull Lines operates the ferries of the county.", "answered"),
        ("The ferries are operated by Gull Lines.", "answered"),
        ("The ferries were converted to battery operation by Brekkan Yard.", "not_held"),
        ("The ferries operate on the long route to Outer Skarn.", "not_held"),
    ],
)
async def test_a_who_is_answered_by_whoever_does_what_is_asked(sentence: str, status: str) -> None:
    assert (await asked("Who operates the ferries?", sentence))["status"] == status


async def test_half_a_text_does_not_open_an_answer() -> None:
    half = "By doing this, you can fill the lamp oil of the tower."
    whole = "In every tower, oil of a lamp can be had with a pump that you fill."
    answer = await asked("How do I fill the lamp oil of the tower?", half, whole)
    assert answer["text"].startswith(whole[:-1])
