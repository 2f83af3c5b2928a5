"""Errors of the provider as Temporal's ApplicationError, by who handles them.

    Temporal retries        server error, lost connection, broken stream
    the workflow waits      rate limit, overload
    an operator repairs     authentication, bad request, spend limit, bad input
    the subagent handles    too_large: the conversation is larger than the model or the request
    not an error            refusal, truncation: these are stop reasons and become outcomes

The client itself never retries, and a wait that the provider asked for goes with the error. No
message that leaves here holds a key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from math import isnan
from urllib.parse import urlsplit

import httpx2
from temporalio.exceptions import ApplicationError

from activities.llm.lazy_sdk import anthropic

RATE_LIMITED = "rate_limited"
TOO_LARGE = "too_large"
_DEFAULT_WAIT = 20.0
_LONGEST_WAIT = 3600.0
_MESSAGE_CHARACTERS = 600


class StreamCut(Exception):
    """The answer ended without a stop reason."""


class BatchLost(Exception):
    """A batch ended without an answer to its request."""


@dataclass(frozen=True)
class Fault:
    """One kind of error: its type for Temporal and the coordinator, and whether it is retried."""

    type: str
    retry: bool = False
    says: str = "the provider refused the request"


_AUTHENTICATION = Fault("authentication", says="the provider does not accept the credentials")
_BAD_REQUEST = Fault("bad_request")
_SPEND_LIMIT = Fault("spend_limit", says="the provider's spend limit is reached")
_TOO_LARGE = Fault(TOO_LARGE, says="the request is larger than the model takes")
_RATE_LIMITED = Fault(RATE_LIMITED, retry=True)
_FAILED = "the provider failed"

# By the error's own type, which is all there is where a stream breaks off with status 200.
BY_TYPE: dict[str, Fault] = {
    "invalid_request_error": _BAD_REQUEST,
    "authentication_error": _AUTHENTICATION,
    "permission_error": _AUTHENTICATION,
    "not_found_error": _BAD_REQUEST,
    "request_too_large": _TOO_LARGE,
    "billing_error": _SPEND_LIMIT,
    "rate_limit_error": _RATE_LIMITED,
    "timeout_error": Fault("timeout_error", retry=True, says=_FAILED),
    "conflict_error": Fault("conflict_error", retry=True, says=_FAILED),
    "api_error": Fault("api_error", retry=True, says=_FAILED),
    "overloaded_error": Fault("overloaded_error", retry=True, says=_FAILED),
}

# By status, which comes before the type.
BY_STATUS: dict[int, Fault] = {
    400: _BAD_REQUEST,
    401: _AUTHENTICATION,
    402: _SPEND_LIMIT,
    403: _AUTHENTICATION,
    404: _BAD_REQUEST,
    408: BY_TYPE["timeout_error"],
    409: BY_TYPE["conflict_error"],
    413: _TOO_LARGE,
    422: _BAD_REQUEST,
    429: _RATE_LIMITED,
    529: BY_TYPE["overloaded_error"],
}

_BAD_ADDRESS = (httpx2.UnsupportedProtocol, httpx2.InvalidURL)

# Bad requests whose message says that they are something else.
_BY_MESSAGE = (
    (re.compile(r"prompt is too long|exceeds? (the )?(maximum )?context"
                r"|context (window|length|size|limit)", re.I), _TOO_LARGE),
    (re.compile(r"credit balance|spend limit|usage limit", re.I), _SPEND_LIMIT),
)  # fmt: skip


def client_errors() -> tuple[type[Exception], ...]:
    """What a model call may raise."""
    return (
        anthropic.AnthropicError,
        httpx2.HTTPError,
        httpx2.InvalidURL,
        httpx2.StreamError,
        StreamCut,
        BatchLost,
        TimeoutError,
        TypeError,
        ValueError,
        RuntimeError,
    )


def to_activity_error(error: Exception) -> ApplicationError:
    """The error with its type, whether to retry it, and how long to wait."""
    # The SDK's message says only that a connection failed; the cause says how.
    cause = error.__cause__ or error
    match error:
        case ApplicationError():
            return error
        case anthropic.APIStatusError():
            return _from_status(error)
        case anthropic.APIConnectionError() | httpx2.InvalidURL() if isinstance(
            cause, _BAD_ADDRESS
        ):
            return bad_input(
                f"the endpoint's address cannot be used ({_describe(cause)}):"
                " correct ANTHROPIC_BASE_URL"
            )
        case anthropic.APIConnectionError() | httpx2.ConnectError() | httpx2.TimeoutException():
            return ApplicationError(
                f"the model could not be reached: {_describe(cause)}", type="connection"
            )
        case TimeoutError():
            return ApplicationError("the model took too long to answer", type="turn_timeout")
        case BatchLost():
            return ApplicationError(_describe(error), type="batch_lost")
        case anthropic.AnthropicError() | TypeError() | RuntimeError():
            return _from_sdk(error)
    return _broken_answer(error)


def _from_sdk(error: Exception) -> ApplicationError:
    """An error of the SDK itself, before or after the request."""
    is_credentials = isinstance(error, anthropic.CredentialsError)
    if is_credentials or (
        # Raised at the time of the call, where no credentials were found.
        isinstance(error, TypeError | RuntimeError)
        and re.search(r"authentication|credential|API token", str(error))
    ):
        why = _describe(error) if is_credentials else "set ANTHROPIC_API_KEY for the workers"
        return _refuse("authentication", f"no credentials for the model: {why}")
    if isinstance(error, TypeError):
        return _refuse("bad_request", f"the request cannot be sent: {_describe(error)}")
    if isinstance(error, anthropic.APIError) or (
        isinstance(error, RuntimeError) and not re.search(r"project_id|region", str(error))
    ):
        return _broken_answer(error)
    return bad_input(_describe(error))


def _broken_answer(error: Exception) -> ApplicationError:
    """A stream that was dropped, has no end or makes no sense: Temporal retries."""
    return ApplicationError(
        f"the model's answer broke off: {_describe(error)}", type="broken_answer"
    )


def from_type(kind: str, message: str) -> ApplicationError:
    """An error that came as data: in the results of a batch, or in an answer with status 200."""
    return _build_error(_by_message(BY_TYPE.get(kind, BY_TYPE["api_error"]), message), message)


def bad_input(message: str) -> ApplicationError:
    return _refuse("bad_input", redact(message))


def _refuse(kind: str, message: str) -> ApplicationError:
    return ApplicationError(message, type=kind, non_retryable=True)


def _from_status(error: anthropic.APIStatusError) -> ApplicationError:
    said = error.api_message or error.message
    if error.request_id:
        said = f"{said} (request {error.request_id})"
    if isinstance(error, anthropic.EnforcedSpendLimitReachedError):
        return _build_error(_SPEND_LIMIT, said)
    kind = str(error.type or "")
    fault = _by_message(_fault(error.status_code, kind), said)
    told = error.response.headers.get("x-should-retry")
    if told == "false" and fault.retry:
        fault = replace(fault, retry=False)
    elif told == "true" and fault in (_BAD_REQUEST, _AUTHENTICATION):
        # Under its own type: the types for operators are never retried.
        fault = Fault(kind or "server_error", retry=True, says=_FAILED)
    return _build_error(fault, said, retry_after(error.response.headers))


def _fault(status: int, kind: str) -> Fault:
    fault = BY_STATUS.get(status) or BY_TYPE.get(kind)
    if status >= 500 and not (fault and fault.retry):
        return Fault("server_error", retry=True, says=_FAILED)
    if fault is None:
        unnamed = Fault(kind or "server_error", retry=True, says=_FAILED)
        return unnamed if status < 400 else _BAD_REQUEST
    return fault


def _by_message(fault: Fault, said: str) -> Fault:
    if fault is _BAD_REQUEST:
        return next((other for words, other in _BY_MESSAGE if words.search(said)), fault)
    return fault


def _build_error(fault: Fault, said: str, wait: float | None = None) -> ApplicationError:
    if fault.type == RATE_LIMITED:
        seconds = _DEFAULT_WAIT if wait is None else wait
        return ApplicationError(
            f"the provider asked to wait {seconds:g} s",
            seconds,
            type=RATE_LIMITED,
            non_retryable=not fault.retry,
            next_retry_delay=timedelta(seconds=seconds),
        )
    return ApplicationError(
        f"{fault.says}: {_short(redact(said))}",
        type=fault.type,
        non_retryable=not fault.retry,
        next_retry_delay=timedelta(seconds=wait) if fault.retry and wait is not None else None,
    )


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The wait the provider asked for, in seconds: milliseconds, seconds or an HTTP date."""
    now = now or datetime.now(UTC)
    for name, read in (
        ("retry-after-ms", lambda value: float(value) / 1000),
        ("retry-after", float),
        ("retry-after", lambda value: _seconds_until(value, now)),
    ):
        with suppress(ValueError, KeyError):
            seconds = read(headers[name])
            if not isnan(seconds):
                return min(max(0.0, seconds), _LONGEST_WAIT)
    return None


def _seconds_until(http_date: str, now: datetime) -> float:
    until = parsedate_to_datetime(http_date)
    return ((until if until.tzinfo else until.replace(tzinfo=UTC)) - now).total_seconds()


_SECRETS = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_FOUNDRY_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
)  # fmt: skip
_ENDPOINTS = (
    "ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_BEDROCK_MANTLE_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_FOUNDRY_BASE_URL",
)  # fmt: skip
_HIDDEN = "[hidden]"
_LOOKS_SECRET = (
    (re.compile(r"\bsk-[A-Za-z0-9_-]{8,}"), _HIDDEN),
    (re.compile(r"(://)[^/\s@]+@"), rf"\1{_HIDDEN}@"),
    (re.compile(r"""((?:x-)?api-key|(?:proxy-)?authorization)(["']?\s*[:=]\s*["']?)"""
                r"""(?:(?:Bearer|Basic)\s+)?[^\s"',}]+""", re.I), rf"\1\2{_HIDDEN}"),
    (re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}"), rf"\1 {_HIDDEN}"),
)  # fmt: skip


def redact(text: str, env: Mapping[str, str] | None = None) -> str:
    """The text without keys: those of the environment, and what looks like one."""
    env = os.environ if env is None else env
    known = {env.get(name, "").strip() for name in _SECRETS}
    for name in _ENDPOINTS:
        try:
            address = urlsplit(env.get(name, ""))
            known |= {address.password or "", address.username or ""}
        except ValueError:
            continue
    for secret in sorted(known, key=len, reverse=True):
        # A shorter one is no key, and would occur in ordinary words.
        if len(secret) >= 6:
            text = text.replace(secret, _HIDDEN)
    for pattern, instead in _LOOKS_SECRET:
        text = pattern.sub(instead, text)
    return text


def _describe(error: BaseException | None) -> str:
    return _short(redact(str(error) or type(error).__name__))


def _short(text: str) -> str:
    return text if len(text) <= _MESSAGE_CHARACTERS else text[:_MESSAGE_CHARACTERS] + " …"
