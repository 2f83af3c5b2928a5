"""Errors of the provider: who deals with each, how long to wait, and no key in any message."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import httpx2
import pytest
from temporalio.api.failure.v1 import Failure
from temporalio.converter import default
from temporalio.exceptions import ApplicationError

from activities.llm.client import Models
from activities.llm.errors import BY_STATUS, BY_TYPE, redact, retry_after, to_activity_error
from tests.activities.scripted import JsonObject, ScriptedTransport, failure
from workflows.config.model_catalog import MEDIUM
from workflows.config.policies import NEEDS_OPERATOR

KEY = "sk-ant-api03-secret-0123456789"
ASKED: JsonObject = {
    "model": MEDIUM,
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "hello"}],
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


async def raised_by(answer: httpx2.Response | Exception) -> ApplicationError:
    wire = ScriptedTransport([answer])
    with pytest.raises(ApplicationError) as raised:
        await Models(wire).ask(ASKED)
    assert len(wire.requests) == 1, "nothing is retried here"
    return raised.value


def test_what_an_operator_mends_is_never_retried_and_the_rest_always_is() -> None:
    outcome = {"too_large"}
    for fault in (*BY_STATUS.values(), *BY_TYPE.values()):
        assert fault.retry is (fault.type not in {*NEEDS_OPERATOR, *outcome}), fault


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "0"}, 0),
        ({"retry-after": "30"}, 30),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:20 GMT"}, 20),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "inf"}, 3600),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_what_the_provider_asked_for(
    headers: dict[str, str], seconds: float | None
) -> None:
    now = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
    assert retry_after(headers, now) == seconds


async def test_a_rate_limit_without_a_wait_gets_one() -> None:
    error = await raised_by(failure(429, "rate_limit_error"))
    assert error.details[0] > 0
    assert error.next_retry_delay is not None


async def test_an_overload_is_waited_for_as_long_as_was_asked() -> None:
    error = await raised_by(failure(529, "overloaded_error", retry_after="3"))
    assert error.next_retry_delay is not None
    assert error.next_retry_delay.total_seconds() == 3


async def test_the_provider_may_say_not_to_retry() -> None:
    error = await raised_by(failure(500, "api_error", x_should_retry="false"))
    assert error.non_retryable


async def test_the_provider_may_say_to_retry_what_is_otherwise_final() -> None:
    error = await raised_by(failure(400, "invalid_request_error", x_should_retry="true"))
    assert not error.non_retryable
    assert error.type not in NEEDS_OPERATOR


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("prompt is too long: 1200000 tokens > 1000000 maximum", "too_large"),
        ("Your credit balance is too low to access the API", "spend_limit"),
        ("messages: roles must alternate", "bad_request"),
    ],
)
async def test_a_bad_request_is_looked_at_more_closely(said: str, kind: str) -> None:
    error = await raised_by(failure(400, "invalid_request_error", said))
    assert error.type == kind
    assert error.non_retryable


async def test_a_page_of_a_proxy_is_an_error_like_any_other() -> None:
    error = await raised_by(httpx2.Response(502, text="<html>Bad gateway</html>"))
    assert error.type == "server_error"
    assert not error.non_retryable


async def test_an_address_that_is_none_is_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "localhost:8080")
    with pytest.raises(ApplicationError) as raised:
        await Models().ask(ASKED)
    assert raised.value.type == "bad_input"
    assert "ANTHROPIC_BASE_URL" in str(raised.value)


def test_the_request_id_is_in_the_message_for_whoever_asks_the_provider() -> None:
    import anthropic

    response = httpx2.Response(
        500, headers={"request-id": "req_42"}, request=httpx2.Request("POST", "http://x.invalid")
    )
    error = anthropic.InternalServerError("broken", response=response, body=None)
    assert "req_42" in str(to_activity_error(error))


# Keys


@pytest.mark.parametrize(
    "text",
    [
        f"invalid x-api-key {KEY}",
        "header Authorization: Bearer abcdefghijklmnop",
        '{"authorization": "Basic dXNlcjpwYXNzd29yZA=="}',
        "x-api-key: abcdef123456",
        "could not reach https://me:passw0rd-here@proxy.example/v1/messages",
        "token tok-en-of-mine-123 expired",
        "the password is passw0rd-here",
        "key sk-proj-anothers0123456",
    ],
)
def test_nothing_that_looks_like_a_key_is_left(text: str) -> None:
    env = {
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_AUTH_TOKEN": "tok-en-of-mine-123",
        "ANTHROPIC_BASE_URL": "https://me:passw0rd-here@proxy.example",
    }
    clean = redact(text, env)
    assert "[hidden]" in clean
    for secret in (KEY, "abcdefghijklmnop", "dXNlcjpw", "abcdef123456", "passw0rd", "tok-en",
                   "anothers"):  # fmt: skip
        assert secret not in clean


def test_ordinary_words_are_left_alone() -> None:
    said = "messages.1.content: a task-based request to https://example.org/a@b is no basic need"
    assert redact(said, {"ANTHROPIC_API_KEY": "need"}) == said


async def test_no_key_reaches_the_history(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The history holds the error, its causes and their traces."""
    caplog.set_level(logging.WARNING)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://me:passw0rd-here@proxy.invalid")
    leaks: list[httpx2.Response | Exception] = [
        failure(401, "authentication_error", f"the key {KEY} is not valid"),
        failure(400, "invalid_request_error", f"thinking: not supported for {KEY}"),
        httpx2.ConnectError(f"refused http://me:passw0rd-here@proxy.invalid with {KEY}"),
        httpx2.ReadError(f"x-api-key: {KEY}"),
        ValueError(f"cannot parse {KEY}"),
    ]
    for leak in leaks:
        error = await raised_by(leak)
        failed = Failure()
        default().failure_converter.to_failure(error, default().payload_converter, failed)
        kept = str(failed) + caplog.text
        assert KEY not in kept
        assert "passw0rd" not in kept
