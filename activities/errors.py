"""What can go wrong at the provider, and who is to deal with it.

    a wait mends it         rate limit, overload, server error, lost connection, broken stream
    an operator mends it    authentication, bad request, spend limit
    nothing to mend         refusal, truncation: these are stop reasons, and come back as outcomes

The client itself never retries; Temporal does, after the wait the provider asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import anthropic
import httpx2
from temporalio.exceptions import ApplicationError

_OPERATOR = {
    400: "bad_request",
    401: "authentication",
    403: "authentication",
    404: "bad_request",
    413: "bad_request",
    422: "bad_request",
}
_OPERATOR_TYPES = {
    "authentication_error": "authentication",
    "permission_error": "authentication",
    "invalid_request_error": "bad_request",
    "not_found_error": "bad_request",
    "request_too_large": "bad_request",
}
RATE_LIMITED = "rate_limited"
_DEFAULT_WAIT = 20.0


class StreamCut(Exception):
    """The provider's answer ended before it said why."""


def as_activity_error(error: Exception) -> ApplicationError:
    """The provider's error as Temporal wants it: its kind, whether to retry, how long to wait."""
    if isinstance(error, anthropic.APIStatusError):
        return _from_status(error)
    if isinstance(error, TypeError):
        # The SDK raises this when no credentials were found at the time of the call.
        return ApplicationError("no credentials for the model", type="authentication",
                                non_retryable=True)  # fmt: skip
    name = "connection" if isinstance(error, anthropic.APIConnectionError) else "broken_answer"
    return ApplicationError(f"the model could not be reached: {error}", type=name)


RETRYABLE = (anthropic.APIError, httpx2.HTTPError, StreamCut)


def _from_status(error: anthropic.APIStatusError) -> ApplicationError:
    # A mid-stream error carries status 200, so its type is looked at first.
    kind = str(error.type or "")
    if isinstance(error, anthropic.EnforcedSpendLimitReachedError):
        return ApplicationError(error.message, type="spend_limit", non_retryable=True)
    wait = retry_after(error.response.headers)
    if error.status_code == 429 or kind == "rate_limit_error":
        seconds = wait if wait is not None else _DEFAULT_WAIT
        return ApplicationError(
            f"the provider asked to wait {seconds:g} s",
            seconds,
            type=RATE_LIMITED,
            next_retry_delay=timedelta(seconds=seconds),
        )
    operator = _OPERATOR_TYPES.get(kind) or _OPERATOR.get(error.status_code)
    if operator:
        return ApplicationError(
            f"the provider refused the request: {error.message}", type=operator, non_retryable=True
        )
    return ApplicationError(
        f"the provider failed: {error.message}",
        type=kind or "server_error",
        next_retry_delay=None if wait is None else timedelta(seconds=wait),
    )


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The wait the provider asked for, in seconds: milliseconds, seconds or an HTTP date."""
    if milliseconds := _number(headers.get("retry-after-ms")):
        return milliseconds / 1000
    value = headers.get("retry-after")
    if value is None:
        return None
    seconds = _number(value)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        return float(value) if value else None
    except ValueError:
        return None
