"""Endpoints that cannot do everything: learnt once, worked round, and said."""

from __future__ import annotations

import copy
import json
import logging
from typing import Any

import httpx2
import pytest
from temporalio.exceptions import ApplicationError

from activities.llm.answers import normalize
from activities.llm.capabilities import CAPABILITIES, adapt
from activities.llm.client import Models
from tests.activities.scripted import JsonObject, ScriptedTransport, failure, message, text

SERVER_TOOL = {"type": "web_search_20260318", "name": "web_search", "max_uses": 3}
OWN_TOOL = {"name": "search", "description": "d", "input_schema": {"type": "object"}}
RESULT = {
    "type": "search_result",
    "source": "doc-1",
    "title": "A title",
    "content": [text("One sentence."), text("Another.")],
}
ASKED: JsonObject = {
    "model": "a-model-of-ones-own",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "Prompt.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": [text("hello")]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "search", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [RESULT],
             "cache_control": {"type": "ephemeral"}}]},
    ],
    "output_config": {
        "effort": "high",
        "format": {"type": "json_schema", "schema": {"title": "PlanReview", "type": "object"}},
    },
    "thinking": {"type": "adaptive"},
    "tools": [OWN_TOOL, SERVER_TOOL],
}  # fmt: skip
GOOD = message(text('{"changes": []}'))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key-0123456789")


def no(said: str, status: int = 400) -> httpx2.Response:
    return failure(status, "invalid_request_error", said)


REFUSALS = {
    "output_config.format: Extra inputs are not permitted": {"schema"},
    "output_config: Extra inputs are not permitted": {"schema", "effort"},
    "json_schema output is not supported by this model": {"schema"},
    "This model does not support the effort parameter.": {"effort"},
    "output_config.effort: Extra inputs are not permitted": {"effort"},
    "tools.1: Input tag 'web_search_20260318' found using 'type' does not match": {"server_tools"},
    "tools.1.input_schema: Field required": {"server_tools"},
    "tools.1.custom.input_schema: Field required": {"server_tools"},
    "web_search is not enabled for this organization": {"server_tools"},
    "thinking: Extra inputs are not permitted": {"thinking"},
    '"thinking.type.adaptive" is not supported for this model. Use "output_config.effort"': {
        "thinking"
    },
    "system.0.cache_control: Extra inputs are not permitted": {"cache_control"},
    "messages.2.content.0.tool_result.cache_control: Extra inputs not permitted": {"cache_control"},
    "messages.2.content.0.content.0: unknown type 'search_result'": {"search_results"},
    "streaming is not supported by this server": {"stream"},
}


@pytest.mark.parametrize("said", REFUSALS)
async def test_what_is_refused_by_name_is_left_out_and_the_rest_stays(said: str) -> None:
    wire = ScriptedTransport([no(said), GOOD])
    before = copy.deepcopy(ASKED)
    answer = await Models(wire).ask(ASKED)
    assert answer == GOOD
    assert before == ASKED, "the journal knows the turn by the request as it was asked"
    first, second = wire.requests
    expected = adapt(ASKED, frozenset(REFUSALS[said]))  # type: ignore[arg-type]
    assert {k: v for k, v in second.items() if k != "stream"} == expected
    assert ("stream" in second) is (REFUSALS[said] != {"stream"})
    assert first["stream"] is True


def test_each_way_round_leaves_no_trace_of_what_is_not_taken() -> None:
    bare = json.dumps(adapt(ASKED, frozenset(CAPABILITIES)))
    for gone in ("output_config", "cache_control", '"thinking"', "web_search_2026", "max_uses",
                 '"search_result"'):  # fmt: skip
        assert gone not in bare
    assert "PlanReview" in bare
    assert "Not available here, whatever is said above: web_search." in bare
    assert "[doc-1] A title\\nOne sentence.\\nAnother." in bare
    assert json.loads(bare)["tools"] == [OWN_TOOL]


async def test_it_is_learnt_once_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    wire = ScriptedTransport([no("thinking: Extra inputs are not permitted"), GOOD, GOOD])
    models = Models(wire)
    with caplog.at_level(logging.WARNING):
        await models.ask(ASKED)
        await models.ask(ASKED)
    assert ["thinking" in request for request in wire.requests] == [True, False, False]
    told = [record.message for record in caplog.records if "thinking" in record.message]
    assert len(told) == 1


async def test_another_model_of_the_same_endpoint_is_asked_in_full() -> None:
    wire = ScriptedTransport([no("thinking: Extra inputs are not permitted"), GOOD, GOOD])
    models = Models(wire)
    await models.ask(ASKED)
    await models.ask({**ASKED, "model": "another"})
    assert "thinking" in wire.requests[2]


async def test_several_refusals_are_learnt_one_after_the_other() -> None:
    wire = ScriptedTransport([
        no("output_config: Extra inputs are not permitted"),
        no("thinking: Extra inputs are not permitted", status=422),
        no("tools.1.type: unknown tool type"),
        message(text('Here it is:\n```json\n{"changes": []}\n```')),
    ])  # fmt: skip
    answer = await Models(wire).ask(ASKED)
    assert answer["content"] == [text('{"changes": []}')]
    assert set(wire.requests[3]) == {
        "model", "max_tokens", "system", "messages", "tools", "tool_choice", "stream",
    }  # fmt: skip


@pytest.mark.parametrize(
    "said",
    [
        "messages.1: `tool_use` ids were found without `tool_result` blocks",
        "messages.1.content.0: `thinking` blocks in the latest assistant message cannot be changed",
        "output_config.format: citations cannot be enabled together with a format",
        "max_tokens: 99 > 10, which is the maximum allowed",
        "model: not a valid model",
    ],
)
async def test_another_bad_request_is_not_taken_for_a_missing_ability(said: str) -> None:
    wire = ScriptedTransport([no(said)])
    with pytest.raises(ApplicationError) as raised:
        await Models(wire).ask(ASKED)
    assert raised.value.type == "bad_request"
    assert len(wire.requests) == 1


async def test_what_did_not_help_is_not_remembered() -> None:
    said = "thinking: Extra inputs are not permitted"
    wire = ScriptedTransport([no(said), no("no luck either"), GOOD])
    models = Models(wire)
    with pytest.raises(ApplicationError):
        await models.ask(ASKED)
    await models.ask(ASKED)
    assert "thinking" in wire.requests[2]


async def test_an_endpoint_that_refuses_whatever_is_left_out_is_not_asked_for_ever() -> None:
    said = "stream, thinking, effort, format, cache_control: all unknown"
    wire = ScriptedTransport([no(said)] * 20)
    with pytest.raises(ApplicationError):
        await Models(wire).ask(ASKED)
    assert len(wire.requests) <= len(CAPABILITIES) + 1


REQUIRED = {
    "title": "PlanReview",
    "type": "object",
    "properties": {"changes": {"type": "array", "items": {"type": "string"}}},
    "required": ["changes"],
}
WANTED = {**ASKED, "output_config": {"format": {"type": "json_schema", "schema": REQUIRED}}}
ANSWERED = message(
    {"type": "tool_use", "id": "t9", "name": "answer", "input": {"changes": []}}, stop="tool_use"
)


@pytest.fixture
def own_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://localhost:1")


@pytest.mark.usefixtures("own_endpoint")
@pytest.mark.parametrize(
    "ignoring",
    ["Certainly! I think …", '{"function": "search", "arguments": {"query": "a"}}', '{"a": 1}'],
    ids=["prose", "a tool call as text", "other JSON"],
)
async def test_an_endpoint_that_ignores_the_schema_is_noticed_and_given_an_answer_tool(
    ignoring: str,
) -> None:
    wire = ScriptedTransport([message(text(ignoring)), ANSWERED, ANSWERED])
    models = Models(wire)
    for _ in range(2):
        answer = await models.ask(WANTED)
        assert (answer["stop_reason"], answer["content"]) == ("end_turn", [text('{"changes": []}')])
    assert len(wire.requests) == 3, "noticed once, and remembered"
    for request in wire.requests[1:]:
        assert "output_config" not in request
        assert request["tool_choice"] == {"type": "any"}
        assert request["tools"][-1]["name"] == "answer"
        assert request["tools"][-1]["input_schema"] == REQUIRED
        assert OWN_TOOL in request["tools"], "its own tools are still there"


@pytest.mark.usefixtures("own_endpoint")
async def test_a_model_behind_ones_own_endpoint_reads_search_results_as_text() -> None:
    wire = ScriptedTransport([GOOD])
    await Models(wire).ask(ASKED)
    (request,) = wire.requests
    assert '"search_result"' not in json.dumps(request), "servers drop these in silence"
    assert "One sentence." in json.dumps(request)
    assert all("type" not in tool for tool in request["tools"])


@pytest.mark.parametrize("refusal", ["tool_choice", "answer tool"])
async def test_an_endpoint_without_schema_and_forced_tools_is_asked_as_it_can(
    refusal: str,
) -> None:
    wire = ScriptedTransport([
        no("output_config: Extra inputs are not permitted"),
        no("tool_choice: forced tool use is not supported" if refusal == "tool_choice"
           else "this model does not support tools"),
        GOOD,
    ])  # fmt: skip
    assert await Models(wire).ask({**ASKED, "tools": []}) == GOOD
    last = wire.requests[-1]
    assert "tool_choice" not in last
    assert ("tools" in last) is (refusal == "tool_choice")
    assert ("follow this JSON schema" in last["system"][0]["text"]) is (refusal != "tool_choice")


@pytest.mark.parametrize(
    "said",
    [
        '{"function": "search", "arguments": {"query": "a"}}',
        '{"name": "search", "parameters": {"query": "a"}}',
        '{"function": {"name": "search", "arguments": "{\\"query\\": \\"a\\"}"}}',
        '<tool_call>\n{"name": "search", "arguments": {"query": "a"}}\n</tool_call>',
        'I will search.\n```json\n{"tool": "search", "input": {"query": "a"}}\n```',
    ],
)
def test_a_tool_call_written_as_text_is_told_from_an_answer(said: str) -> None:
    read = normalize(message(text(said)), ASKED)
    assert read["stop_reason"] == "tool_use"
    (block,) = read["content"]
    assert (block["name"], block["input"]) == ("search", {"query": "a"})


@pytest.mark.parametrize(
    "said",
    ['{"name": "Ada", "arguments": "for and against"}', '{"summary": "search", "claims": []}'],
)
def test_an_answer_that_resembles_a_tool_call_stays_an_answer(said: str) -> None:
    assert normalize(message(text(said)), ASKED)["content"] == [text(said)]


def test_an_answer_beside_other_calls_waits_for_their_results() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "search", "input": {"query": "a"}}
    both = message(use, *ANSWERED["content"], stop="tool_use")
    assert normalize(both, ASKED)["content"] == [use]


LIMITS = {
    "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens": 8192,
    "max_tokens must be less than or equal to 4096": 4096,
    "'max_tokens' is too large: 64000. This model's maximum context length is 8192 tokens and "
    "your request has 1000 input tokens": 8192 - 1000 - 64,
    "input length and `max_tokens` exceed context limit: 1500 + 64000 > 20000, decrease it": 18436,
}


@pytest.mark.parametrize("said", LIMITS)
async def test_a_smaller_output_limit_is_learnt_from_the_error(said: str) -> None:
    wire = ScriptedTransport([no(said), GOOD, GOOD])
    models = Models(wire)
    for _ in range(2):
        await models.ask({**ASKED, "max_tokens": 64_000})
    asked = [request["max_tokens"] for request in wire.requests]
    assert asked[:2] == [64_000, LIMITS[said]]
    assert asked[2] <= LIMITS[said], "and remembered"


@pytest.mark.parametrize(
    ("said", "window"),
    [
        ("request (21028 tokens) exceeds the available context size (4096 tokens), try more", 4096),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("This model's maximum context length is 8192 tokens. Your prompt has 9000 tokens", 8192),
    ],
)
async def test_a_window_is_learnt_from_the_error(said: str, window: int) -> None:
    models = Models(ScriptedTransport([no(said)]))
    with pytest.raises(ApplicationError) as raised:
        await models.ask(ASKED)
    assert raised.value.type == "too_large"
    assert models.context_window(ASKED["model"]) == window


async def test_the_providers_own_endpoint_keeps_the_schema_whatever_the_model_says() -> None:
    wire = ScriptedTransport([message(text("prose")), GOOD])
    models = Models(wire)
    await models.ask(ASKED)
    await models.ask(ASKED)
    assert wire.requests[0] == wire.requests[1]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('```\n{"a": "`x`"}\n```', '{"a": "`x`"}'),
        ('Sure.\n\n```json\n{"a": 1}\n```\nAnything else?', '{"a": 1}'),
        ('{"a": "```json\\n{}\\n```"}', '{"a": "```json\\n{}\\n```"}'),
        ("```json\n{broken\n```", "```json\n{broken\n```"),
        ("no json at all", "no json at all"),
    ],
)
def test_fences_around_an_answer_are_taken_off(said: str, meant: str) -> None:
    got: Any = normalize(message(text(said)), ASKED)
    assert got["content"] == [text(meant)]
