"""Timeouts and retries of activities, and which errors are not retried.

Each stage declares the policies of its own activities. The heartbeat timeout is a setting of the
worker that runs the workflow (`Timing`); completed turns are in the journal, not in the heartbeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from temporalio.common import RetryPolicy

SUBAGENT_QUEUE = "research-subagents"
"""The task queue of the subagents, unless the worker takes both from one queue."""

PAUSED = "paused"
"""The error type of a subagent that finds its job paused: it is called again after the pause."""

STORAGE = "storage"
"""The error type of a store that cannot be used: it is waited for."""

DAMAGED = "damaged"
"""The error type of a stored object that was changed: nothing can be done without it."""

OVERLOAD = ("rate_limited", "overloaded_error")
"""Error types of a provider that cannot take more requests now: it is waited for, for hours.

Temporal's retries are for other errors, which are few; the workflow waits for this one.
"""

NEEDS_OPERATOR = ("authentication", "bad_request", "spend_limit", "bad_input", DAMAGED, PAUSED)
"""Error types that a retry cannot repair."""


@dataclass(frozen=True)
class ActivityPolicy:
    """How long an activity may take, per attempt and in all, and how often it is attempted."""

    start_to_close: timedelta
    schedule_to_close: timedelta
    attempts: int
    queue: Literal["subagents", "coordinator"] = "subagents"

    @property
    def retry_policy(self) -> RetryPolicy:
        return RetryPolicy(
            initial_interval=timedelta(seconds=0.5),
            backoff_coefficient=2.0,
            maximum_interval=timedelta(seconds=20),
            maximum_attempts=self.attempts,
            non_retryable_error_types=[*NEEDS_OPERATOR, *OVERLOAD],
        )
