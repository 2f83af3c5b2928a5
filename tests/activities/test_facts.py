"""The provider's lists of errors, stop reasons and traps: one test for each line, by its name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import get_args

import anthropic
import httpx2
import pytest
from anthropic.types import StopReason
from temporalio.exceptions import ApplicationError

from activities.llm.client import Models
from activities.llm.errors import RATE_LIMITED
from tests.activities.scripted import JsonObject, ScriptedTransport, failure, message, text, use
from tests.simulator.streaming import body, events, streamed
from workflows.config.model_catalog import MEDIUM

ASKED: JsonObject = {
    "model": MEDIUM,
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "hello"}],
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key-0123456789")


async def raised_by(answer: httpx2.Response | Exception, **asked: object) -> ApplicationError:
    wire = ScriptedTransport([answer])
    with pytest.raises(ApplicationError) as raised:
        await Models(wire).ask({**ASKED, **asked})
    assert len(wire.requests) == 1, "nothing is retried here"
    return raised.value


def test_the_installed_client_is_the_one_the_facts_are_about() -> None:
    assert anthropic.__version__ == "2.8.0"


# Errors

ERRORS: dict[str, tuple[httpx2.Response | Exception, str, bool]] = {
    "400 bad request": (failure(400, "invalid_request_error"), "bad_request", True),
    "401 authentication": (failure(401, "authentication_error"), "authentication", True),
    "403 permission denied": (failure(403, "permission_error"), "authentication", True),
    "404 unknown model": (failure(404, "not_found_error"), "bad_request", True),
    "408 request timeout": (failure(408, "timeout_error"), "timeout_error", False),
    "409 conflict": (failure(409, "conflict_error"), "conflict_error", False),
    "413 content too large": (failure(413, "request_too_large"), "too_large", True),
    "422 unprocessable": (failure(422, "invalid_request_error"), "bad_request", True),
    "429 rate limit": (failure(429, "rate_limit_error", retry_after="7"), RATE_LIMITED, False),
    "500 internal server": (failure(500, "api_error"), "api_error", False),
    "503 unavailable": (failure(503, "api_error"), "api_error", False),
    "504 deadline": (failure(504, "timeout_error"), "timeout_error", False),
    "529 overloaded": (failure(529, "overloaded_error"), "overloaded_error", False),
    "500 that names a client's fault": (failure(500, "not_found_error"), "server_error", False),
    "402 billing": (failure(402, "billing_error"), "spend_limit", True),
    "connection": (httpx2.ConnectError("no route"), "connection", False),
    "timeout": (httpx2.ReadTimeout("slow"), "connection", False),
}


@pytest.mark.parametrize("name", ERRORS)
async def test_error(name: str) -> None:
    answer, kind, final = ERRORS[name]
    error = await raised_by(answer)
    assert (error.type, error.non_retryable) == (kind, final)


async def test_error_429_carries_the_wait() -> None:
    error = await raised_by(failure(429, "rate_limit_error", retry_after_ms="2500"))
    assert error.details[0] == 2.5
    assert error.next_retry_delay is not None
    assert error.next_retry_delay.total_seconds() == 2.5


async def test_error_429_enforced_spend_limit_is_for_the_operator() -> None:
    limit = {"type": "rate_limit_error", "message": "limit reached",
             "details": {"error_code": "enforced_spend_limit_reached"}}  # fmt: skip
    error = await raised_by(httpx2.Response(429, json={"type": "error", "error": limit}))
    assert (error.type, error.non_retryable) == ("spend_limit", True)


# Stop reasons

STOPS: dict[str, JsonObject] = {
    "end_turn": message(text("done")),
    "max_tokens": message(text("do"), stop="max_tokens"),
    "stop_sequence": message(text("done"), stop="stop_sequence", stop_sequence="END"),
    "tool_use": message(use("search", query="a"), stop="tool_use"),
    "pause_turn": message(text("wait"), stop="pause_turn"),
    "refusal": message(
        stop="refusal", stop_details={"type": "refusal", "category": None, "explanation": "no"}
    ),
    "model_context_window_exceeded": message(text("…"), stop="model_context_window_exceeded"),
}


def test_every_stop_reason_of_the_client_has_its_line() -> None:
    assert set(STOPS) == set(get_args(StopReason))


@pytest.mark.parametrize("reason", STOPS)
@pytest.mark.parametrize("way", ["stream", "one piece"])
async def test_stop_reason_comes_back_with_the_message(reason: str, way: str) -> None:
    sent = STOPS[reason]
    answer = streamed(sent) if way == "stream" else httpx2.Response(200, json=sent)
    got = await Models(ScriptedTransport([answer])).ask(ASKED)
    assert got["stop_reason"] == reason
    assert got["content"] == sent["content"]
    assert got.get("stop_sequence") == sent["stop_sequence"]
    assert got.get("stop_details") == sent.get("stop_details")


# Traps


def sse(parts: Iterable[JsonObject]) -> httpx2.Response:
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body(parts))


@pytest.mark.parametrize(
    ("kind", "expected", "final"),
    [
        ("overloaded_error", "overloaded_error", False),
        ("api_error", "api_error", False),
        ("rate_limit_error", RATE_LIMITED, False),
        ("timeout_error", "timeout_error", False),
        ("invalid_request_error", "bad_request", True),
        ("authentication_error", "authentication", True),
        ("something_new", "something_new", False),
    ],
)
async def test_trap_an_error_in_mid_stream_has_status_200_and_is_known_by_its_type(
    kind: str, expected: str, final: bool
) -> None:
    begun = list(events(message(text("half of it"))))[:4]
    broken = sse([*begun, {"type": "error", "error": {"type": kind, "message": "sorry"}}])
    error = await raised_by(broken)
    assert (error.type, error.non_retryable) == (expected, final)


async def test_trap_a_dropped_stream_is_retried() -> None:
    class Dropped(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield body(list(events(message(text("half of it"))))[:4])
            raise httpx2.ReadError("connection reset")

    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Dropped())
    error = await raised_by(answer)
    assert error.type == "broken_answer"
    assert not error.non_retryable


@pytest.mark.parametrize("kept", [1, 2, 3, 4])
async def test_trap_a_stream_that_ends_early_is_retried(kept: int) -> None:
    error = await raised_by(sse(list(events(message(text("half of it"))))[:kept]))
    assert error.type == "broken_answer"
    assert not error.non_retryable


async def test_trap_a_long_answer_is_no_value_error() -> None:
    """In one piece, the client refuses more than 21,333 tokens before it asks anyone."""
    wire = ScriptedTransport([streamed(message(text("long")))])
    assert await Models(wire).ask({**ASKED, "max_tokens": 128_000})


async def test_trap_a_long_answer_in_one_piece_is_no_value_error() -> None:
    refusal = failure(400, "invalid_request_error", "stream: streaming is not supported")
    wire = ScriptedTransport([refusal, message(text("long"))])
    assert await Models(wire).ask({**ASKED, "max_tokens": 128_000})
    assert "stream" not in wire.requests[1]


async def test_trap_missing_credentials_are_for_the_operator(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    wire = ScriptedTransport([])
    with pytest.raises(ApplicationError) as raised:
        await Models(wire).ask(ASKED)
    assert (raised.value.type, raised.value.non_retryable) == ("authentication", True)
    assert "ANTHROPIC_API_KEY" in str(raised.value)
    assert wire.requests == []


async def test_trap_a_field_the_client_does_not_know_is_a_bad_request() -> None:
    with pytest.raises(ApplicationError) as raised:
        await Models(ScriptedTransport([])).ask({**ASKED, "temperature": 1.0})
    assert (raised.value.type, raised.value.non_retryable) == ("bad_request", True)


async def test_trap_tool_input_that_is_no_json_is_kept_as_it_was_written() -> None:
    whole = events(message(use("search", query="a"), stop="tool_use"))
    parts = [part for part in whole if part["type"] != "content_block_delta"]
    started = [part["type"] for part in parts].index("content_block_start")
    delta = {"type": "input_json_delta", "partial_json": '{"query": nonsense'}
    parts.insert(started + 1, {"type": "content_block_delta", "index": 0, "delta": delta})
    answer = await Models(ScriptedTransport([sse(parts)])).ask(ASKED)
    assert answer["content"][0]["input"] == '{"query": nonsense', "the turn loop answers it"
