"""The offline researcher after an answer: follow-ups, complaints, a final-answer request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.agent import messages
from activities.offline.request import read_request
from tests.activities.offline.library import Dialogue, Library, library, research_brief, start

FILES = {
    "tower.md": "# Venby tower\n\nThe board built the tower in 1871.\n\n## Colour\n\n"
    "The tower is red.\n",
    "fees.md": "# Fees\n\nA visit costs three crowns.\n",
    "trams.md": "# Trams\n\nTrams run every ten minutes.\n",
}
QUESTION = "When was the tower built?"


@pytest.fixture
def documents(tmp_path: Path) -> Iterator[Library]:
    with library(tmp_path, FILES) as opened:
        yield opened


def claims(dialogue: Dialogue) -> list[str]:
    return [claim["text"] for claim in dialogue.answer["claims"]]


async def test_a_follow_up_is_searched_for_and_answered_in_its_own_words(
    documents: Library,
) -> None:
    dialogue = await documents.research(QUESTION)
    searched = len(dialogue.searches)
    await dialogue.reply("<follow-up>\nHow much does a visit cost?\n</follow-up>")
    assert dialogue.searches[searched]["query"] == "How much does a visit cost?"
    assert claims(dialogue)[0] == "A visit costs three crowns."


async def test_a_follow_up_repeats_nothing_that_was_answered_before(documents: Library) -> None:
    dialogue = await documents.research(QUESTION)
    before = claims(dialogue)
    await dialogue.reply(f"<follow-up>\n{QUESTION}\n</follow-up>")
    assert before
    assert not set(before) & set(claims(dialogue))


async def test_claims_known_from_another_researcher_are_not_told_again(
    documents: Library,
) -> None:
    known = claims(await documents.research(QUESTION))
    again = await documents.research(QUESTION, known_claims=known)
    assert known
    assert claims(again) == []


async def test_a_quote_that_was_sent_back_takes_its_claim_with_it(documents: Library) -> None:
    dialogue = await documents.research("What is known about the tower?")
    before = claims(dialogue)
    refused = dialogue.answer["claims"][0]["quotes"][0]["text"]
    await dialogue.reply(f"this quote does not stand in d1, copy it exactly: {refused}")
    assert claims(dialogue) == before[1:]
    assert len(before) > 1


async def test_a_final_answer_request_is_answered_without_another_search(
    documents: Library,
) -> None:
    dialogue = start("ResearchAnswer", research_brief(QUESTION))
    dialogue.tools = (await documents.research(QUESTION)).tools
    called = {"type": "text", "text": messages.final_answer_request("finish")}
    dialogue.messages[0]["content"].append(called)
    await dialogue.run()
    assert dialogue.searches == []
    assert claims(dialogue) == []
    assert dialogue.answer["missing"]


def test_the_messages_of_the_agent_are_understood() -> None:
    brief = research_brief(QUESTION)
    body = {
        "output_config": {"format": {"schema": {"title": "ResearchAnswer"}}},
        "messages": [
            messages.opening(brief),
            {"role": "assistant", "content": json.dumps({"summary": "x", "claims": []})},
            messages.complaint(["one thing is wrong"]),
        ],
    }
    conversation = read_request(body)
    assert conversation.brief == brief
    assert "one thing is wrong" in conversation.complaints[0]
    assert conversation.answers[-1] == {"summary": "x", "claims": []}
