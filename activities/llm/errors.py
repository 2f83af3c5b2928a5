"""What can go wrong at the provider, and who is to deal with it.

    a wait mends it         rate limit, overload, server error, lost connection, broken stream
    an operator mends it    authentication, bad request, spend limit, bad input
    the subagent deals      too_large: the conversation has outgrown the model or the request
    nothing to mend         refusal, truncation: these are stop reasons, and come back as outcomes

The client itself never retries; Temporal does, after the wait the provider asked for. No message
that leaves here holds a key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
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
    """The provider's answer ended before it said why."""


class BatchLost(Exception):
    """A batch came to an end without an answer to its request."""


@dataclass(frozen=True)
class Fault:
    """How one kind of error is dealt with: the type Temporal and the coordinator see."""

    type: str
    retry: bool = False
    says: str = "the provider refused the request"


_AUTHENTICATION = Fault("authentication", says="the provider does not accept the credentials")
_BAD_REQUEST = Fault("bad_request")
_SPEND_LIMIT = Fault("spend_limit", says="the provider's spend limit is reached")
_TOO_LARGE = Fault(TOO_LARGE, says="the request is larger than the model takes")
_RATE_LIMITED = Fault(RATE_LIMITED, retry=True)
_FAILED = "the provider failed"

# By the error's own type: the only thing that tells where a stream broke off with status 200.
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

# By status, which comes first where there is one that says anything.
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

# A bad request by name that is something else by its words.
_BY_WORDS = (
    (re.compile(r"prompt is too long|exceeds? (the )?(maximum )?context|context (window|length)",
                re.I), _TOO_LARGE),
    (re.compile(r"credit balance|spend limit|usage limit", re.I), _SPEND_LIMIT),
)  # fmt: skip


def client_errors() -> tuple[type[Exception], ...]:
    """What asking a model may raise."""
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
    """The provider's error as Temporal wants it: its kind, whether to retry, how long to wait."""
    match error:
        case ApplicationError():
            return error
        case anthropic.APIStatusError():
            return _from_status(error)
        case anthropic.APIConnectionError() if _misspelt(error):
            return bad_input(f"the endpoint's address cannot be used ({_told(error.__cause__)}):"
                             " correct ANTHROPIC_BASE_URL")  # fmt: skip
        case anthropic.APIConnectionError() | httpx2.ConnectError() | httpx2.TimeoutException():
            # The client's own words say only that there was an error; its cause says which.
            return ApplicationError(
                f"the model could not be reached: {_told(error.__cause__ or error)}",
                type="connection",
            )
        case TimeoutError():
            return ApplicationError("the model took too long to answer", type="turn_timeout")
        case anthropic.CredentialsError():
            return _no_credentials(_told(error))
        case TypeError() | RuntimeError():
            return _from_sdk(error)
        case httpx2.InvalidURL():
            return bad_input(f"the endpoint's address cannot be used ({_told(error)}): correct"
                             " ANTHROPIC_BASE_URL")  # fmt: skip
        case BatchLost():
            return ApplicationError(_told(error), type="batch_lost")
        case anthropic.AnthropicError() if not isinstance(error, anthropic.APIError):
            return bad_input(_told(error))
    return _broken_answer(error)


def _from_sdk(error: TypeError | RuntimeError) -> ApplicationError:
    """An error of the SDK itself, before or after the request."""
    if _speaks_of_credentials(error):
        # The SDK raises this when no credentials were found at the time of the call.
        return _no_credentials()
    if isinstance(error, TypeError):
        return _non_retryable("bad_request", f"the request cannot be sent: {_told(error)}")
    if re.search(r"project_id|region", str(error)):
        return bad_input(_told(error))
    return _broken_answer(error)


def _broken_answer(error: Exception) -> ApplicationError:
    """A stream that was dropped, has no end or makes no sense: Temporal retries."""
    return ApplicationError(f"the model's answer broke off: {_told(error)}", type="broken_answer")


def from_type(kind: str, message: str) -> ApplicationError:
    """An error that came as data and not as a status: in a batch's results, or a 200 answer."""
    return _raised(_by_words(BY_TYPE.get(kind, BY_TYPE["api_error"]), message), message, None)


def bad_input(message: str) -> ApplicationError:
    return _non_retryable("bad_input", redact(message))


def _from_status(error: anthropic.APIStatusError) -> ApplicationError:
    said = error.api_message or error.message
    if error.request_id:
        said = f"{said} (request {error.request_id})"
    wait = retry_after(error.response.headers)
    if isinstance(error, anthropic.EnforcedSpendLimitReachedError):
        return _raised(_SPEND_LIMIT, said, None)
    kind = str(error.type or "")
    fault = _by_words(_fault(error.status_code, kind), said)
    told = error.response.headers.get("x-should-retry")
    if told == "false" and fault.retry:
        fault = Fault(fault.type, says=fault.says)
    elif told == "true" and fault in (_BAD_REQUEST, _AUTHENTICATION):
        # Under its own name: the operator's types are never retried.
        fault = Fault(kind or "server_error", retry=True, says=_FAILED)
    return _raised(fault, said, wait)


def _fault(status: int, kind: str) -> Fault:
    fault = BY_STATUS.get(status) or BY_TYPE.get(kind)
    if status >= 500 and not (fault and fault.retry):
        return Fault("server_error", retry=True, says=_FAILED)
    if fault is None:
        unnamed = Fault(kind or "server_error", retry=True, says=_FAILED)
        return unnamed if status < 400 else _BAD_REQUEST
    return fault


def _by_words(fault: Fault, said: str) -> Fault:
    if fault is _BAD_REQUEST:
        return next((other for words, other in _BY_WORDS if words.search(said)), fault)
    return fault


def _raised(fault: Fault, said: str, wait: float | None) -> ApplicationError:
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


def _non_retryable(kind: str, message: str) -> ApplicationError:
    return ApplicationError(message, type=kind, non_retryable=True)


def _no_credentials(why: str = "set ANTHROPIC_API_KEY for the workers") -> ApplicationError:
    return _non_retryable("authentication", f"no credentials for the model: {why}")


def _speaks_of_credentials(error: Exception) -> bool:
    return bool(re.search(r"authentication|credential|API token", str(error)))


def _misspelt(error: Exception) -> bool:
    return isinstance(error.__cause__, httpx2.UnsupportedProtocol | httpx2.InvalidURL)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The wait the provider asked for, in seconds: milliseconds, seconds or an HTTP date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    value = headers.get("retry-after")
    if value is None:
        return None
    seconds = _number(value)
    if seconds is not None:
        return _bounded(seconds)
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return _bounded((until - (now or datetime.now(UTC))).total_seconds())


def _bounded(seconds: float) -> float:
    return min(max(0.0, seconds), _LONGEST_WAIT)


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value else None
    except ValueError:
        return None
    return number if number is not None and number == number else None


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
    """The text without any key: those of the environment, and whatever looks like one."""
    env = os.environ if env is None else env
    known = {env.get(name, "").strip() for name in _SECRETS}
    for name in _ENDPOINTS:
        try:
            address = urlsplit(env.get(name, ""))
            known |= {address.password or "", address.username or ""}
        except ValueError:
            continue
    for secret in sorted(known, key=len, reverse=True):
        # Shorter than this it is no key, and would be found within ordinary words.
        if len(secret) >= 6:
            text = text.replace(secret, _HIDDEN)
    for pattern, instead in _LOOKS_SECRET:
        text = pattern.sub(instead, text)
    return text


def _told(error: BaseException | None) -> str:
    return _short(redact(str(error) or type(error).__name__))


def _short(text: str) -> str:
    return text if len(text) <= _MESSAGE_CHARACTERS else text[:_MESSAGE_CHARACTERS] + " …"
