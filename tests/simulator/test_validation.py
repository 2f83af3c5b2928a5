"""A request the API would refuse is refused here, in the API's own form."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from tests.simulator.asking import (
    HAIKU,
    OPUS,
    SEARCH,
    SONNET,
    WEB_FETCH,
    WEB_SEARCH,
    JsonObject,
    asking,
    assistant,
    client_of,
    result,
    schema_format,
    user,
)
from tests.simulator.errors import ApiError
from tests.simulator.models import MODELS
from tests.simulator.signatures import Signer
from tests.simulator.simulator import Call, Settings, Simulator
from tests.simulator.validation import check_request

USE = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"query": "a"}}
OTHER = {**USE, "id": "toolu_2"}
CITED = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"},
         "citations": {"enabled": True}}  # fmt: skip
PLAIN = {"type": "object", "properties": {}, "additionalProperties": False}
SEARCHED = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
            "input": {"query": "a"}}  # fmt: skip
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
MARK = {"cache_control": {"type": "ephemeral"}}


def marked(times: int) -> list[JsonObject]:
    return [{"type": "text", "text": f"part {n}", **MARK} for n in range(times)]


def check(body: Any) -> None:
    check_request(body, MODELS, Signer(b"test"))


REFUSED: dict[str, tuple[JsonObject, str]] = {
    "no max_tokens": ({"model": OPUS, "messages": [user("a")]}, "max_tokens: Field required"),
    "no messages": ({"model": OPUS, "max_tokens": 1}, "messages: Field required"),
    "empty messages": (asking(messages=[]), "at least one message"),
    "unknown field": (asking(top="x"), "top: Extra inputs are not permitted"),
    "too many tokens": (asking(max_tokens=128_001), "128001 > 128000"),
    "negative tokens": (asking(max_tokens=-1), "greater than or equal to 0"),
    "assistant first": (asking(assistant("a"), user("b")), 'must use the "user" role'),
    "two users": (asking(user("a"), user("b")), 'multiple "user" roles'),
    "two assistants": (
        asking(user("a"), assistant("b"), assistant("c"), user("d")),
        'multiple "assistant" roles',
    ),
    "system role": (asking({"role": "system", "content": "a"}), "Unexpected role"),
    "empty text": (asking(user("")), "must be non-empty"),
    "blank text": (asking(user(" \n")), "non-whitespace"),
    "empty content": (asking(user("a"), assistant(), user("b")), "non-empty content"),
    "empty system text": (asking(system=[{"type": "text", "text": ""}]), "must be non-empty"),
    "extra field in a block": (
        asking(user({"type": "text", "text": "a", "parsed_output": None})),
        "parsed_output: Extra inputs",
    ),
    "no result": (asking(user("a"), assistant(USE), user("b")), "without `tool_result`"),
    "one result of two": (
        asking(user("a"), assistant(USE, OTHER), user(result("toolu_1"))),
        "toolu_2",
    ),
    "results over two messages": (
        asking(user("a"), assistant(USE, OTHER), user(result("toolu_1")), user(result("toolu_2"))),
        'multiple "user" roles',
    ),
    "result after text": (
        asking(user("a"), assistant(USE), user("b", result("toolu_1"))),
        "must come first",
    ),
    "unknown result": (
        asking(user("a"), assistant("b"), user(result("toolu_9"))),
        "unexpected `tool_use_id`",
    ),
    "result twice": (
        asking(user("a"), assistant(USE), user(result("toolu_1"), result("toolu_1"))),
        "single result",
    ),
    "id used twice": (
        asking(user("a"), assistant(USE), user(result("toolu_1")), assistant(USE),
               user(result("toolu_1"))),
        "must be unique",
    ),
    "empty error": (
        asking(user("a"), assistant(USE), user({**result("toolu_1", ""), "is_error": True})),
        "content cannot be empty",
    ),
    "server result from the user": (
        asking(user("a"), assistant("b", SEARCHED), user(FOUND)),
        "does not match any of the expected tags",
    ),
    "server result before its use": (
        asking(user("a"), assistant(FOUND, SEARCHED), user("b")),
        "unexpected `tool_use_id`",
    ),
    "server use without result": (
        asking(user("a"), assistant(SEARCHED), user("b")),
        "without a corresponding result",
    ),
    "prefill": (asking(user("a"), assistant("The answer is")), "prefill"),
    "prefill with a foreign search": (
        asking(user("a"), assistant(SEARCHED, FOUND)),
        "prefill",
    ),
    "forged thinking": (
        asking(user("a"), assistant({"type": "thinking", "thinking": "x", "signature": "y"}, "b"),
               user("c")),
        "Invalid `signature`",
    ),
    "forced tool": (asking(tools=[SEARCH], tool_choice={"type": "any"}), "forced tool use"),
    "named tool": (
        asking(model=SONNET, tools=[SEARCH], tool_choice={"type": "tool", "name": "search"}),
        "forced tool use",
    ),
    "choice without tools": (asking(tool_choice={"type": "auto"}), "while providing tools"),
    "budget": (
        asking(thinking={"type": "enabled", "budget_tokens": 2000}),
        "thinking.type.enabled",
    ),
    "thinking off": (asking(thinking={"type": "disabled"}), "thinking.type.disabled"),
    "thinking off on sonnet": (
        asking(model=SONNET, thinking={"type": "disabled"}),
        "thinking.type.disabled",
    ),
    "temperature": (asking(temperature=0.2), "`temperature` is not supported"),
    "top_p": (asking(top_p=0.2), "`top_p` is not supported"),
    "top_k": (asking(top_k=2), "`top_k` is not supported"),
    "effort": (asking(output_config={"effort": "extreme"}), "output_config.effort"),
    "citations with format": (
        asking(user(CITED, "a"), output_config=schema_format(PLAIN)),
        "citations cannot be enabled",
    ),
    "cited search result in a tool result": (
        asking(user("a"), assistant(USE), user({**result("toolu_1"), "content": [
            {"type": "search_result", "source": "s", "title": "t", "citations": {"enabled": True},
             "content": [{"type": "text", "text": "a"}]}]}),
            output_config=schema_format(PLAIN)),
        "citations cannot be enabled",
    ),
    "schema with a bound": (
        asking(output_config=schema_format(
            {"type": "object", "additionalProperties": False,
             "properties": {"n": {"type": "integer", "minimum": 1}}})),
        "minimum are not supported",
    ),
    "five markers": (asking(user(*marked(3)), system=marked(2)), "Found 5"),
    "five with the automatic one": (
        asking(user(*marked(2), "end"), system=marked(2), cache_control={"type": "ephemeral"}),
        "Found 5",
    ),
    "short before long": (
        asking(user({"type": "text", "text": "a",
                     "cache_control": {"type": "ephemeral", "ttl": "1h"}}), system=marked(1)),
        "ttl='1h'",
    ),
    "same tool twice": (asking(tools=[SEARCH, SEARCH]), "must be unique"),
    "tool name": (asking(tools=[{**SEARCH, "name": "look up"}]), "should match pattern"),
    "tool schema": (asking(tools=[{**SEARCH, "input_schema": {"type": "string"}}]), "'object'"),
    "old server tool": (
        asking(tools=[{"type": "web_search_20250305", "name": "web_search"}]),
        "does not match any",
    ),
    "server tool name": (asking(tools=[{**WEB_SEARCH, "name": "web"}]), "'web_search'"),
    "server tool field": (asking(tools=[{**WEB_SEARCH, "use_cache": True}]), "use_cache: Extra"),
    "both domain lists": (
        asking(tools=[{**WEB_FETCH, "allowed_domains": ["a.org"], "blocked_domains": ["b.org"]}]),
        "only one of",
    ),
    "too long": (asking(user("word " * 900_000)), "prompt is too long"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_api_refuses_is_refused(name: str) -> None:
    body, reason = REFUSED[name]
    with pytest.raises(ApiError) as refused:
        check(body)
    assert refused.value.status == 400
    assert refused.value.kind == "invalid_request_error"
    assert reason in refused.value.message


ACCEPTED: dict[str, JsonObject] = {
    "text": asking({"role": "user", "content": "a"}),
    "a warm-up": asking(max_tokens=0),
    "the longest answer": asking(max_tokens=128_000),
    "tools of the past": asking(user("a"), assistant(USE), user(result("toolu_1"), "go on")),
    "parallel tools": asking(
        user("a"), assistant("b", USE, OTHER), user(result("toolu_2"), result("toolu_1"))
    ),
    "a search of the past": asking(user("a"), assistant(SEARCHED, FOUND, "b"), user("c")),
    "server tools": asking(
        tools=[
            {**WEB_SEARCH, "max_uses": 3, "allowed_domains": ["a.org"],
             "user_location": {"type": "approximate", "country": "DE"},
             "response_inclusion": "full"},
            {**WEB_FETCH, "max_content_tokens": 500, "use_cache": False, "blocked_domains": ["b"],
             "citations": {"enabled": True}},
            {"type": "code_execution_20260521", "name": "code_execution"},
            SEARCH,
        ],
        tool_choice={"type": "auto"},
    ),
    "small model": asking(
        model=HAIKU, tools=[SEARCH], tool_choice={"type": "any"}, thinking={"type": "disabled"}
    ),
    "between tools": asking(model=SONNET, thinking={"type": "between_tools"}),
    "four markers": asking(user(*marked(2)), system=marked(1), tools=[{**SEARCH, **MARK}]),
    "citations alone": asking(user(CITED, "a")),
    "old model": asking(
        model="claude-sonnet-4-5", max_tokens=4000, temperature=0.2,
    ),
    **{f"effort {name}": asking(output_config={"effort": name})
       for name in ("low", "medium", "high", "xhigh", "max")},
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_api_takes_is_taken(name: str) -> None:
    check(ACCEPTED[name])


def body_of(error: anthropic.APIError) -> JsonObject:
    assert isinstance(error.body, dict)
    return error.body


async def test_the_sdk_raises_its_own_errors_with_the_request_id() -> None:
    client = client_of(Simulator())
    with pytest.raises(anthropic.NotFoundError) as unknown:
        await client.messages.create(**asking(model="claude-none"))
    assert unknown.value.type == "not_found_error"
    assert unknown.value.request_id
    assert unknown.value.request_id == body_of(unknown.value)["request_id"]
    with pytest.raises(anthropic.BadRequestError):
        await client.messages.create(**asking(user("")))


async def test_a_wrong_key_is_refused_and_the_right_one_is_not() -> None:
    simulator = Simulator(settings=Settings(api_keys=frozenset({"right"})))
    with pytest.raises(anthropic.AuthenticationError):
        await client_of(simulator, key="wrong").messages.create(**asking())
    assert [(r.status, r.outcome) for r in simulator.messages] == [(401, "authentication_error")]
    assert (await client_of(simulator, key="right").messages.create(**asking())).content
    bearer = {"authorization": "Bearer right", "anthropic-version": "2023-06-01"}
    assert (await simulator.handle(Call("GET", "/v1/models", bearer, b""))).status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 401), ({"x-api-key": "k"}, 400), ({"x-api-key": "k", "anthropic-version": "1"}, 400)],
)
async def test_missing_headers_are_refused(headers: dict[str, str], status: int) -> None:
    reply = await Simulator().handle(Call("POST", "/v1/messages", headers, b"{}"))
    assert reply.status == status


async def test_a_request_over_the_size_limit_is_too_large() -> None:
    client = client_of(Simulator(settings=Settings(max_bytes=1000)))
    with pytest.raises(anthropic.ContentTooLargeError) as large:
        await client.messages.create(**asking(user("word " * 300)))
    assert body_of(large.value)["error"]["type"] == "request_too_large"


async def test_a_body_that_is_no_json_is_refused() -> None:
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    simulator = Simulator()
    assert (await simulator.handle(Call("POST", "/v1/messages", headers, b"{"))).status == 400
    assert (await simulator.handle(Call("POST", "/v1/messages", headers, b"[]"))).status == 400
    assert [record.status for record in simulator.messages] == [400, 400]
