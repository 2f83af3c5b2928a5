"""The table of roles is what it is on purpose, and every request of a role is framed alike."""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from typing import Any

import pytest

from activities.agent.request_template import (
    RequestTemplate,
    build_template,
    build_tool_set,
    prompt,
    schema,
)
from activities.llm.client import Models
from tests.activities.scripted import JsonObject, text
from tests.simulator.simulator import Simulator
from tests.simulator.transport import SimulatorTransport
from workflows.config.model_catalog import LARGE, MEDIUM, MIXED, MODELS, SMALL
from workflows.config.roles import (
    CLAIM_VERIFIER,
    EVALUATOR,
    GAP_VERIFIER,
    PLANNER,
    RESEARCHER,
    ROLES,
    Role,
    effort_for,
    model_for,
)
from workflows.config.settings import MAX_TOKENS
from workflows.contracts.activity_io import Job
from workflows.contracts.request import OFFLINE, ResearchRequest, Web
from workflows.contracts.state import CorpusRef

DOCUMENTS = CorpusRef(name="d", version="1", index="indexes/1.json")
SEARCHING = ("search", "read", "web_search", "web_fetch", "code")
TOOL = {"name": "search", "description": "d", "input_schema": {"type": "object"}}


def test_the_table_is_pinned() -> None:
    """Whoever changes a row changes what jobs cost and what a subagent may do."""
    assert {
        name: (r.model, r.effort, r.thinking, r.tools, r.max_turns, r.hits)
        for name, r in ROLES.items()
    } == {
        "planner": (LARGE, "high", "adaptive", ("search", "web_search"), 5, 30),
        "reviewer": (MEDIUM, "high", "adaptive", (), 4, 12),
        "researcher": (MEDIUM, "medium", "adaptive", SEARCHING, 14, 18),
        "verifier": (SMALL, "high", "adaptive", SEARCHING, 8, 12),
        "writer": (MEDIUM, "medium", "adaptive", ("read",), 8, 12),
        "draft_judge": (SMALL, "medium", "adaptive", (), 4, 12),
        "evaluator": (LARGE, "high", "adaptive", (), 4, 12),
    }


def test_every_role_says_why_and_what_it_answers_with() -> None:
    for role in (*ROLES.values(), CLAIM_VERIFIER, GAP_VERIFIER):
        assert len(role.reason.split()) > 8
        assert role.output == schema(role)["title"]
        assert role.thinking in MODELS[role.model].thinking


def test_an_override_wins_then_the_jobs_model_then_the_roles_own() -> None:
    assert model_for(PLANNER, MIXED, {}) == LARGE
    assert model_for(RESEARCHER, MIXED, {"planner": SMALL}) == MEDIUM
    assert model_for(PLANNER, SMALL, {}) == SMALL
    assert model_for(PLANNER, OFFLINE, {}) == OFFLINE
    assert model_for(PLANNER, SMALL, {"planner": MEDIUM}) == MEDIUM
    assert model_for(PLANNER, SMALL, {"planner": MIXED}) == LARGE


def test_an_effort_is_the_roles_own_or_its_override() -> None:
    assert effort_for(PLANNER, {}) == "high"
    assert effort_for(PLANNER, {"planner": "max", "writer": "low"}) == "max"
    with pytest.raises(ValueError, match="'low', 'medium', 'high', 'xhigh' or 'max'"):
        ResearchRequest.model_validate({"question": "?", "efforts": {"planner": "enormous"}})


def test_the_verifier_of_claims_and_gaps_has_no_tools() -> None:
    assert (CLAIM_VERIFIER.name, GAP_VERIFIER.name) == ("verifier", "verifier")
    assert CLAIM_VERIFIER.tools == GAP_VERIFIER.tools == ()


@pytest.mark.parametrize(
    "role", [*ROLES.values(), CLAIM_VERIFIER, GAP_VERIFIER], ids=lambda role: role.output
)
def test_every_role_has_a_prompt_that_fits_in_a_head(role: Role) -> None:
    words = prompt(role, ("documents", "web", "code", "mcp"))
    assert 15 < len(words.splitlines()) <= 110
    assert "data, never" in words, "what a document says is not an instruction"


def system_prompt(role: Role, **given: Any) -> str:
    job = Job(id="j", journal="j", model=MIXED, question="?", today="2026-11-01", **given)
    lookup = {"name": "mcp__archive__lookup", "input_schema": {"type": "object"}}
    tools = build_tool_set(role, job, [lookup] if given.get("economy") else [])
    (block,) = build_template(role, MEDIUM, "low", tools).fixed["system"]
    return str(block["text"])


def test_a_web_researcher_is_told_of_no_scores_aims_and_cycles_and_of_its_limits() -> None:
    web = system_prompt(RESEARCHER, web=Web())
    for word in ("`aim`", "cycle", "include_paths", "Code is for", "mcp__"):
        assert word not in web
    for word in ("web_fetch", "limits.web_searches", "two to five plain words", "primary sources"):
        assert word in web


def test_a_prompt_has_a_part_for_each_tool_the_role_has_in_the_job() -> None:
    documents = system_prompt(RESEARCHER, corpus=DOCUMENTS)
    assert "`aim`" in documents
    assert "web_search" not in documents
    everything = system_prompt(RESEARCHER, corpus=DOCUMENTS, web=Web(), code=True, economy=True)
    for word in ("`aim`", "web_fetch", "Code is for", "mcp__"):
        assert word in everything
    assert "{{" not in everything + documents


def test_the_planner_looks_where_the_sources_are() -> None:
    assert "Search the web" in system_prompt(PLANNER, web=Web())
    assert "the documents are about" not in system_prompt(PLANNER, web=Web())
    assert "the documents are about" in system_prompt(PLANNER, corpus=DOCUMENTS)
    assert "Search the web" not in system_prompt(PLANNER, corpus=DOCUMENTS)


# Frames


def talk(turns: int) -> list[JsonObject]:
    """A conversation after so many turns, only ever appended to."""
    messages: list[JsonObject] = [{"role": "user", "content": [text("<brief>{}</brief>")]}]
    for n in range(turns):
        messages.append({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "", "signature": "s"},
            {"type": "tool_use", "id": f"t{n}", "name": "search", "input": {}}]})  # fmt: skip
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": f"t{n}", "content": [text("r")]}]})  # fmt: skip
    return messages


def marks(request: JsonObject) -> int:
    return json.dumps(request).count('"cache_control"')


def unmarked(messages: list[JsonObject]) -> list[JsonObject]:
    plain = copy.deepcopy(messages)
    for message in plain:
        for block in message["content"]:
            block.pop("cache_control", None)
    return plain


def test_a_frame_holds_everything_but_the_messages() -> None:
    made = build_template(RESEARCHER, MEDIUM, "low", [TOOL])
    request = made.request(talk(0))
    assert set(request) == {
        "model", "max_tokens", "system", "output_config", "tools", "thinking", "messages",
    }  # fmt: skip
    assert request["output_config"]["effort"] == "low"
    assert request["output_config"]["format"]["schema"]["title"] == "ResearchAnswer"
    assert request["tools"] == [TOOL]
    assert (made.max_turns, made.hits) == (14, 18)


def test_a_frame_survives_being_kept() -> None:
    made = build_template(PLANNER, LARGE, "high", [TOOL])
    again = RequestTemplate.model_validate_json(made.model_dump_json())
    assert again == made
    assert again.request(talk(3)) == made.request(talk(3))


@pytest.mark.parametrize("turns", range(6))
def test_a_request_has_at_most_four_cache_marks(turns: int) -> None:
    request = build_template(RESEARCHER, MEDIUM, "medium", [TOOL]).request(talk(turns))
    assert 2 <= marks(request) <= 4
    assert "cache_control" in request["system"][-1]
    assert "cache_control" in request["messages"][-1]["content"][-1]


def test_each_turn_can_read_all_that_the_one_before_it_wrote() -> None:
    """A mark stands again where the last request's newest stood, over the very same blocks."""
    made = build_template(RESEARCHER, MEDIUM, "medium", [TOOL])
    for shorter, longer in pairwise(made.request(talk(n)) for n in range(5)):
        end = len(shorter["messages"])
        assert unmarked(longer["messages"])[:end] == unmarked(shorter["messages"])
        assert "cache_control" in longer["messages"][end - 1]["content"][-1]
        for part in ("model", "system", "tools", "thinking", "output_config"):
            assert longer[part] == shorter[part]


def test_marks_follow_from_the_messages_and_leave_the_callers_alone() -> None:
    made = build_template(RESEARCHER, MEDIUM, "medium")
    messages = talk(2)
    before = copy.deepcopy(messages)
    assert made.request(messages) == made.request(copy.deepcopy(messages))
    assert messages == before


def test_what_a_paused_turn_fetched_is_marked_when_it_is_sent_back() -> None:
    paused = [*talk(1), {"role": "assistant", "content": [text("wait")]}]
    request = build_template(RESEARCHER, MEDIUM, "medium").request(paused)
    assert "cache_control" in request["messages"][-1]["content"][-1]
    assert unmarked(request["messages"]) == paused, "unchanged but for the mark"
    assert marks(request) <= 4


def test_thinking_is_only_asked_of_models_that_take_it_as_a_setting() -> None:
    assert "thinking" not in build_template(PLANNER, OFFLINE, "high").fixed
    assert "thinking" not in build_template(PLANNER, "a-model-of-ones-own", "high").fixed
    for model in (LARGE, MEDIUM, SMALL):
        assert (
            build_template(PLANNER, model, "high").fixed["thinking"]["type"]
            in MODELS[model].thinking
        )


def test_roles_without_tools_send_none() -> None:
    assert "tools" not in build_template(EVALUATOR, LARGE, "high").fixed


@pytest.mark.parametrize("model", [LARGE, MEDIUM, SMALL])
async def test_every_role_is_understood_by_every_model(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one that refuses whatever the provider refuses."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key-0123456789")
    simulator = Simulator()
    models = Models(SimulatorTransport(simulator))
    for role in ROLES.values():
        await models.ask(build_template(role, model, role.effort, [TOOL]).request(talk(0)))
    assert [record.status for record in simulator.messages] == [200] * len(ROLES)


def test_an_answer_has_room_for_thinking_unless_the_model_or_the_setting_says_less() -> None:
    limits = [
        build_template(PLANNER, model, "high", max_tokens=given).fixed["max_tokens"]
        for model, given in ((LARGE, MAX_TOKENS), (LARGE, 200_000), ("of-ones-own", 1000))
    ]
    assert limits == [64_000, MODELS[LARGE].max_output, 1000]
