"""Questions to a finished report, answered from its passages."""

from __future__ import annotations

import pytest

from tests.activities.offline.library import start


async def answered(question: str, sentence: str) -> str:
    evidence = {"n": 1, "title": "Notes", "section": "", "kind": "page", "quotes": [sentence]}
    brief = {"question": question, "frequency": {}, "sources": 1, "evidence": [evidence]}
    dialogue = await start("AskAnswer", brief).run()
    return str(dialogue.answer["status"])


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
    assert await answered("Who operates the ferries?", sentence) == status
