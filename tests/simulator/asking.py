"""How the tests ask: the installed SDK in front of a simulator, and the smallest valid request."""

from __future__ import annotations

from typing import Any, cast

from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

from tests.simulator.simulator import Simulator
from tests.simulator.transport import SimulatorTransport

JsonObject = dict[str, Any]

OPUS, SONNET, HAIKU = "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"
SEARCH: JsonObject = {
    "name": "search",
    "description": "Search the documents.",
    "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}},
}
WEB_SEARCH: JsonObject = {"type": "web_search_20260318", "name": "web_search"}
WEB_FETCH: JsonObject = {"type": "web_fetch_20260318", "name": "web_fetch"}


def client_of(simulator: Simulator, key: str = "test-key") -> AsyncAnthropic:
    return AsyncAnthropic(
        api_key=key,
        base_url="http://simulator.invalid",
        max_retries=0,
        http_client=DefaultAsyncHttpxClient(transport=SimulatorTransport(simulator)),
        open_telemetry=False,
    )


def user(*content: str | JsonObject) -> JsonObject:
    blocks = [{"type": "text", "text": c} if isinstance(c, str) else c for c in content]
    return {"role": "user", "content": blocks}


def assistant(*content: str | JsonObject) -> JsonObject:
    return {**user(*content), "role": "assistant"}


def result(use_id: str, words: str = "found") -> JsonObject:
    return {"type": "tool_result", "tool_use_id": use_id, "content": words}


def asking(*messages: JsonObject, **more: Any) -> JsonObject:
    return {
        "model": OPUS,
        "max_tokens": 1000,
        "messages": list(messages) or [user("What is known?")],
        **more,
    }


def asking_in_batch(*messages: JsonObject) -> MessageCreateParamsNonStreaming:
    return cast(MessageCreateParamsNonStreaming, asking(*messages))


def schema_format(schema: JsonObject) -> JsonObject:
    return {"format": {"type": "json_schema", "schema": schema}}
