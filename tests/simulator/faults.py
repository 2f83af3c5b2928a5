"""What goes wrong, and when: a schedule of faults, each for the requests it describes.

    an error status     status, rate_limit, spend_limit, overloaded, server_error, unavailable,
                        gateway_timeout, timeout, conflict, too_large
    a broken answer     stream_error, stream_ends, stream_hangs, drop, drop_mid, hang
    another ending      refusal, max_tokens, context_window, pause_turn
    a slow answer       latency (adds up, and goes together with one of the others)

A request that is not streamed has no stream to break: `stream_error` is then a plain error status,
`stream_ends` a connection dropped in mid-body, `stream_hangs` a body that stops half way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from tests.simulator.errors import ApiError

JsonObject = dict[str, Any]

STATUSES = {
    "status": (500, "Internal server error"),
    "rate_limit": (429, "This request would exceed your organization's rate limit."),
    "spend_limit": (429, "Your organization has reached its monthly API usage threshold."),
    "overloaded": (529, "Overloaded"),
    "server_error": (500, "Internal server error"),
    "unavailable": (503, "Service unavailable"),
    "gateway_timeout": (504, "Request timed out"),
    "timeout": (408, "Request timed out"),
    "conflict": (409, "Conflict"),
    "too_large": (413, "Request exceeds the maximum size"),
    "stream_error": (529, "Overloaded"),
}
DELIVERIES = {"stream_error", "stream_ends", "stream_hangs", "drop", "drop_mid", "hang"}
ENDINGS = {"refusal", "max_tokens", "context_window", "pause_turn"}
_KINDS = STATUSES.keys() | DELIVERIES | ENDINGS | {"latency"}


@dataclass
class Fault:
    """One rule. All that it says about a request must hold for the fault to strike."""

    kind: str
    request: int | None = None
    """The n-th request for a message, from 1."""
    title: str | None = None
    """The title of the schema the answer must follow."""
    contains: str | None = None
    """A piece of the request's JSON."""
    model: str | None = None
    stream: bool | None = None
    where: Callable[[JsonObject], bool] | None = None
    skip: int = 0
    """So many matching requests go unharmed first."""
    times: int | None = 1
    """So many are struck then; None is all."""

    status: int | None = None
    message: str | None = None
    error_type: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    retry_after: float | None = None
    retry_after_date: float | None = None
    """Seconds from now, sent as an HTTP date."""
    retry_after_ms: int | None = None
    events: int | None = None
    """How many events go out before the stream breaks; half of them unless said."""
    seconds: float | None = None
    """How long a hang or a latency lasts; a hang without it lasts until the client goes."""
    category: str | None = None
    explanation: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ValueError(f"no fault {self.kind!r}; there are {', '.join(sorted(_KINDS))}")

    @classmethod
    def described(cls, description: JsonObject) -> Fault:
        """A fault from JSON. Raises ValueError that names what is not understood."""
        known = {f.name for f in fields(cls)} - {"where"}
        unknown = description.keys() - known
        if unknown or "kind" not in description:
            raise ValueError(f"a fault has a kind and of {sorted(known)} what it needs, not "
                             f"{sorted(unknown)}")  # fmt: skip
        return cls(**description)

    def concerns(self, number: int, body: JsonObject) -> bool:
        schema = ((body.get("output_config") or {}).get("format") or {}).get("schema") or {}
        return (
            self.request in (None, number)
            and self.title in (None, schema.get("title"))
            and self.model in (None, body.get("model"))
            and self.stream in (None, bool(body.get("stream")))
            and (self.contains is None or self.contains in json.dumps(body, ensure_ascii=False))
            and (self.where is None or self.where(body))
        )

    def error(self) -> ApiError:
        """The status error this fault stands for."""
        status, message = STATUSES[self.kind]
        headers = dict(self.headers)
        if self.retry_after is not None:
            headers["retry-after"] = f"{self.retry_after:g}"
        if self.retry_after_date is not None:
            moment = datetime.now(UTC).timestamp() + self.retry_after_date
            until = datetime.fromtimestamp(moment, UTC)
            headers["retry-after"] = format_datetime(until, usegmt=True)
        if self.retry_after_ms is not None:
            headers["retry-after-ms"] = str(self.retry_after_ms)
        # The client tells a spend limit from a busy hour by this code alone.
        limit = {"error_code": "enforced_spend_limit_reached"}
        return ApiError(
            self.status or status,
            self.message or message,
            kind=self.error_type,
            headers=headers,
            details=limit if self.kind == "spend_limit" else None,
        )


class Schedule:
    """The faults still to come. The first that concerns a request strikes it."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._faults: list[Fault] = []
        self.add(*faults)

    def add(self, *faults: Fault) -> None:
        # Copies: the schedule counts down, and the caller may use its faults again.
        self._faults.extend(replace(fault) for fault in faults)

    def clear(self) -> None:
        self._faults.clear()

    def strike(self, number: int, body: JsonObject) -> tuple[Fault | None, float]:
        """The fault for this request, and the seconds that latencies add to it."""
        struck: Fault | None = None
        delay = 0.0
        for fault in self._faults:
            if (struck and fault.kind != "latency") or fault.times == 0:
                continue
            if not fault.concerns(number, body):
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            if fault.times is not None:
                fault.times -= 1
            if fault.kind == "latency":
                delay += fault.seconds or 0.0
            else:
                struck = fault
        return struck, delay
