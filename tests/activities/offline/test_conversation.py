"""A Messages API request as the offline model reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from activities.agent import messages
from activities.agent.request_template import schema
from activities.offline.request import Conversation, JsonObject, read_request
from activities.offline.transport import SKILLS
from workflows.config.roles import ANSWERER, CLAIM_VERIFIER, CLARIFIER, GAP_VERIFIER, ROLES

USE = {"type": "tool_use", "id": "u1", "name": "search", "input": {"query": "tower"}}
REPORT = {
    "cycle": 1,
    "cycles_left": 2,
    "terms": {"tower": 1},
    "hits": [{"source_id": "d1", "title": "Guide", "date": "2024-05-01", "kind": "note"}],
}
HIT = {
    "type": "search_result",
    "source": "d1",
    "title": "Guide › Towers",
    "content": [{"type": "text", "text": "## Height"}, {"type": "text", "text": "It is tall."}],
}


def read(*later: JsonObject, **more: Any) -> Conversation:
    return read_request(
        {
            "output_config": {"format": {"schema": {"title": "ResearchAnswer"}}},
            "messages": [messages.opening({"question": "How tall?"}), *later],
            **more,
        }
    )


def said(*blocks: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": list(blocks)}


def answered(**answer: Any) -> JsonObject:
    return said(messages.text(json.dumps(answer)))


def test_every_answer_that_a_role_is_asked_for_has_a_skill() -> None:
    roles = (*ROLES.values(), CLARIFIER, CLAIM_VERIFIER, GAP_VERIFIER, ANSWERER)
    assert {schema(role)["title"] for role in roles} == set(SKILLS)


def test_a_hit_keeps_its_document_headings_and_blocks() -> None:
    result = {"content": [messages.text(json.dumps(REPORT)), HIT]}
    (call,) = read(said(USE), messages.results([USE], [result])).searches()
    (hit,) = call.hits
    assert (hit.source_id, hit.title, hit.section) == ("d1", "Guide", "Towers")
    assert hit.date == "2024-05-01"
    assert hit.blocks == ("## Height", "It is tall.")
    assert call.report["terms"] == {"tower": 1}


def test_a_tool_that_failed_is_an_error_without_hits() -> None:
    result = {"is_error": True, "content": [messages.text("all cycles are used up")]}
    (call,) = read(said(USE), messages.results([USE], [result])).calls
    assert (call.error, call.hits) == ("all cycles are used up", ())


def test_notes_and_a_final_answer_request_are_no_complaints() -> None:
    result = {"content": [messages.text(json.dumps(REPORT))]}
    given = messages.results([USE], [result])
    given["content"] += [
        messages.text(messages.note("Look at 2024.")),
        messages.text(messages.final_answer_request("finish")),
    ]
    conversation = read(said(USE), given)
    assert conversation.notes == ("Look at 2024.",)
    assert conversation.last_call
    assert conversation.complaints == ()


def test_a_follow_up_settles_complaints_and_a_final_answer_request() -> None:
    late = messages.user(messages.text(messages.final_answer_request("finish")))
    conversation = read(
        answered(summary="one"),
        messages.complaint(["wrong"]),
        answered(summary="two"),
        late,
        answered(summary="three"),
        messages.follow_up("And how old?"),
    )
    assert conversation.follow_ups == ("And how old?",)
    assert conversation.complaints == ()
    assert not conversation.last_call
    assert conversation.since == 3
    assert [answer["summary"] for answer in conversation.answers] == ["one", "two", "three"]


def test_an_answer_that_is_no_json_object_is_no_answer() -> None:
    for broken in ("not JSON", "[1]"):
        conversation = read(said(messages.text(broken)), messages.complaint(["wrong"]))
        assert conversation.answers == ()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"output_config": {}}, "output schema"),
        ({"messages": [{"role": "user", "content": "Hello"}]}, "no <brief>"),
    ],
)
def test_a_request_without_schema_or_brief_is_refused(change: JsonObject, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read(**change)
