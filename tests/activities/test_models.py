"""Asking a model: streamed answers are put together whole, and what they cost is counted right."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_args

import httpx2
import pytest
from temporalio.exceptions import ApplicationError

from activities.llm.client import Models, spend_of
from tests.activities.scripted import JsonObject, ScriptedTransport, message, text, use
from tests.simulator.streaming import body, events, streamed
from workflows.config.model_catalog import (
    DEFAULT_CLAUDE,
    LARGE,
    MEDIUM,
    MIXED,
    MODELS,
    SMALL,
    WEB_SEARCH_USD,
    card,
)
from workflows.config.settings import Provider
from workflows.contracts.request import OFFLINE

ASKED: JsonObject = {
    "model": MEDIUM,
    "max_tokens": 64_000,
    "messages": [{"role": "user", "content": "hello"}],
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key-0123456789")


def without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_none(item) for key, item in value.items() if item is not None}
    return [without_none(item) for item in value] if isinstance(value, list) else value


EVERY_BLOCK = message(
    {"type": "thinking", "thinking": "let me see " * 90, "signature": "abc="},
    {"type": "text", "text": "Grüße — “quoted”\n" * 60, "citations": [
        {"type": "char_location", "cited_text": "x", "document_index": 0, "document_title": "t",
         "start_char_index": 0, "end_char_index": 1, "file_id": None},
    ]},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
        {"type": "web_search_result", "url": "https://a.example", "title": "A",
         "encrypted_content": "zzz", "page_age": None},
    ]},
    use("search", "t1", query="a" * 900, deep={"list": [1, 2.5, None, True]}),
    use("search", "t2"),
    stop="tool_use",
    usage={"input_tokens": 7, "output_tokens": 9, "cache_read_input_tokens": 3,
           "cache_creation_input_tokens": 2,
           "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0}},
)  # fmt: skip


async def test_a_streamed_message_is_put_together_as_it_was() -> None:
    got = await Models(ScriptedTransport([streamed(EVERY_BLOCK)])).ask(ASKED)
    assert without_none(got) == without_none(EVERY_BLOCK)


async def test_every_turn_is_asked_for_as_a_stream() -> None:
    wire = ScriptedTransport([streamed(message(text("hi")))])
    await Models(wire).ask(ASKED)
    assert wire.requests[0]["stream"] is True
    assert wire.requests[0]["max_tokens"] == 64_000


async def test_a_proxy_that_answers_in_one_piece_is_understood() -> None:
    whole = message(text("hi"))
    assert await Models(ScriptedTransport([whole])).ask(ASKED) == whole


async def test_an_error_in_one_piece_with_status_200_is_an_error() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}
    with pytest.raises(ApplicationError) as raised:
        await Models(ScriptedTransport([httpx2.Response(200, json=error)])).ask(ASKED)
    assert raised.value.type == "overloaded_error"
    assert not raised.value.non_retryable


@pytest.mark.parametrize("answer", [
    httpx2.Response(200, text="<html>welcome</html>", headers={"content-type": "text/html"}),
    httpx2.Response(200, json=["no", "message"]),
    httpx2.Response(200, content=b"{", headers={"content-type": "application/json"}),
    httpx2.Response(200, content=b"", headers={"content-type": "text/event-stream"}),
    httpx2.Response(200, content=b"event: message_start\ndata: {oh\n\n",
                    headers={"content-type": "text/event-stream"}),
], ids=["page", "list", "half", "nothing", "garbled"])  # fmt: skip
async def test_what_is_no_message_is_asked_for_again(answer: httpx2.Response) -> None:
    with pytest.raises(ApplicationError) as raised:
        await Models(ScriptedTransport([answer])).ask(ASKED)
    assert raised.value.type == "broken_answer"
    assert not raised.value.non_retryable


@asynccontextmanager
async def local_endpoint(*parts: bytes) -> AsyncIterator[str]:
    """The address of a server that sends these parts of an answer and falls silent."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for part in parts:
            writer.write(part)
            await writer.drain()
        await reader.read()  # until the client leaves
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
SENT = [body([part]) for part in events(message(text("at last")))]


@pytest.mark.parametrize("parts", [(), (HEAD, *SENT[:1])], ids=["at once", "in mid-stream"])
async def test_an_endpoint_that_falls_silent_is_given_up_and_retried(
    parts: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with local_endpoint(*parts) as address:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
        models = Models(idle_seconds=0.5)
        with pytest.raises(ApplicationError) as raised:
            await models.ask(ASKED)
        await models.close()
        await asyncio.sleep(0.1)  # the server closes its side
    assert raised.value.type in ("connection", "broken_answer")
    assert not raised.value.non_retryable


async def test_the_client_asks_once_and_sends_no_trace_headers() -> None:
    seen: list[httpx2.Request] = []

    class Failing(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            seen.append(request)
            return httpx2.Response(500, json={})

    with pytest.raises(ApplicationError):
        await Models(Failing()).ask(ASKED)
    assert len(seen) == 1
    assert "traceparent" not in seen[0].headers


# Providers


@pytest.mark.parametrize("provider", ["bedrock", "vertex"])
async def test_a_provider_whose_package_is_missing_says_what_to_install(
    provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.llm.providers._installed", lambda _: False)
    with pytest.raises(ApplicationError) as raised:
        await Models(provider=provider).ask(ASKED)
    assert raised.value.type == "bad_input"
    assert raised.value.non_retryable
    assert f'pip install "anthropic[{provider}]"' in str(raised.value)


@pytest.mark.parametrize(
    ("provider", "remedy"),
    [("bedrock", "AWS_REGION"), ("vertex", "CLOUD_ML_REGION"),
     ("foundry", "ANTHROPIC_FOUNDRY_API_KEY")],
)  # fmt: skip
async def test_a_provider_whose_settings_are_missing_says_which(
    provider: Any, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.llm.providers._installed", lambda _: True)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "CLOUD_ML_REGION",
                 "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_BEDROCK_MANTLE_BASE_URL",
                 "ANTHROPIC_FOUNDRY_API_KEY"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ApplicationError) as raised:
        await Models(provider=provider).ask(ASKED)
    assert raised.value.type == "bad_input"
    assert remedy in str(raised.value)


@pytest.mark.parametrize("provider", get_args(Provider))
async def test_every_provider_is_asked_in_the_same_way(
    provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if provider == "vertex":
        pytest.importorskip("google.auth")
    monkeypatch.setattr("activities.llm.providers._installed", lambda _: True)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "token-of-bedrock")
    monkeypatch.setenv("ANTHROPIC_FOUNDRY_API_KEY", "key-of-foundry")
    monkeypatch.setenv("ANTHROPIC_FOUNDRY_RESOURCE", "mine")
    wire = ScriptedTransport([streamed(message(text("hi")))])
    models = Models(wire, provider=provider)
    assert (await models.ask(ASKED))["content"][0]["text"] == "hi"
    await models.close()


# Batches


class Batches(httpx2.AsyncBaseTransport):
    """One batch: in the works at first, then ended with this result."""

    def __init__(self, result: JsonObject) -> None:
        self.placed: JsonObject = {}
        self.ended = False
        self._result = result

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        if path.endswith("/results"):
            line = json.dumps({"custom_id": "turn", "result": self._result})
            return httpx2.Response(200, text=line + "\n")
        if request.method == "POST":
            self.placed = json.loads(await request.aread())
        return httpx2.Response(200, json={
            "id": "msgbatch_1", "type": "message_batch",
            "processing_status": "ended" if self.ended else "in_progress",
            "results_url": "https://api.anthropic.com/v1/messages/batches/msgbatch_1/results",
        })  # fmt: skip


async def test_a_batch_is_placed_waited_for_and_read() -> None:
    wire = Batches({"type": "succeeded", "message": message(text("cheap"))})
    models = Models(wire)
    placed = await models.create_batch(ASKED)
    assert placed == "msgbatch_1"
    assert wire.placed["requests"][0]["params"] == ASKED
    assert await models.fetch_batch(placed) is None
    wire.ended = True
    answer = await models.fetch_batch(placed)
    assert answer is not None
    assert answer["content"] == [text("cheap")]


@pytest.mark.parametrize(
    ("result", "kind", "final"),
    [
        ({"type": "expired"}, "batch_lost", False),
        ({"type": "canceled"}, "batch_lost", False),
        ({"type": "errored", "error": {"type": "error", "error": {
            "type": "invalid_request_error", "message": "no"}}}, "bad_request", True),
        ({"type": "errored", "error": {"type": "error", "error": {
            "type": "api_error", "message": "oh"}}}, "batch_lost", False),
        ({"type": "errored", "error": {"type": "error", "error": {
            "type": "billing_error", "message": "oh"}}}, "batch_lost", False),
    ],
)  # fmt: skip
async def test_a_batch_without_an_answer_says_why(
    result: JsonObject, kind: str, final: bool
) -> None:
    wire = Batches(result)
    wire.ended = True
    with pytest.raises(ApplicationError) as raised:
        await Models(wire).fetch_batch("msgbatch_1")
    assert (raised.value.type, raised.value.non_retryable) == (kind, final)


async def test_the_offline_model_has_no_batches() -> None:
    with pytest.raises(ApplicationError) as raised:
        await Models().create_batch({**ASKED, "model": OFFLINE})
    assert raised.value.type == "bad_input"


# Prices


def test_a_turn_costs_what_its_usage_says() -> None:
    usage = {
        "input_tokens": 1_000_000,
        "output_tokens": 100_000,
        "cache_read_input_tokens": 2_000_000,
        "cache_creation_input_tokens": 300_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 200_000,
                           "ephemeral_1h_input_tokens": 100_000},
        "server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 5},
    }  # fmt: skip
    spend = spend_of(LARGE, {"usage": usage})
    tokens = 4 + 2 + 0.4 + 0.2 * 4 * 1.25 + 0.1 * 4 * 2
    assert spend.usd == pytest.approx(tokens + 3 * WEB_SEARCH_USD)
    assert spend.input_tokens == 3_300_000
    assert spend.output_tokens == 100_000
    assert spend.cache_read_tokens == 2_000_000
    assert spend.turns == 1
    halved = spend_of(LARGE, {"usage": usage}, batch=True)
    assert halved.usd == pytest.approx(tokens / 2 + 3 * WEB_SEARCH_USD)


def test_the_small_model_costs_more_above_a_hundred_thousand_prompt_tokens() -> None:
    short = {"input_tokens": 100_000, "output_tokens": 1000}
    long = {"input_tokens": 40_000, "cache_read_input_tokens": 60_001, "output_tokens": 1000}
    assert spend_of(SMALL, {"usage": short}).usd == pytest.approx(0.01 + 0.0005)
    assert spend_of(SMALL, {"usage": long}).usd == pytest.approx(
        (40_000 * 0.5 + 60_001 * 0.05 + 1000 * 2.5) / 1e6
    )


def test_a_message_without_usage_and_a_model_without_a_price_cost_nothing() -> None:
    assert spend_of(MEDIUM, {}).usd == 0
    searched = {"usage": {"input_tokens": 5, "output_tokens": 5,
                          "server_tool_use": {"web_search_requests": 2}}}  # fmt: skip
    assert spend_of("a-model-of-ones-own", searched).usd == 0


def test_every_model_of_the_default_has_a_card_and_the_default_a_statement() -> None:
    assert DEFAULT_CLAUDE == MIXED
    assert set(MODELS) == {OFFLINE, LARGE, MEDIUM, SMALL}
    assert "each role its own" in card(MIXED).statement
    assert all(found.statement for found in MODELS.values())
