"""Timeouts and retries, one policy per kind of call, and what is not worth retrying.

Heartbeats are short so that a killed worker's subagent is taken over within seconds; what it had
done by then is in the journal, not in the heartbeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from temporalio.common import RetryPolicy

# Error types an activity raises for what asking again cannot mend; an operator can.
NEEDS_OPERATOR = ("authentication", "bad_request", "spend_limit", "bad_input", "storage")

HEARTBEAT = timedelta(seconds=4)


@dataclass(frozen=True)
class Policy:
    """How long one call may take, in all and per try, and how often it is tried."""

    attempt: timedelta
    overall: timedelta
    attempts: int

    @property
    def retry(self) -> RetryPolicy:
        return RetryPolicy(
            initial_interval=timedelta(seconds=1),
            backoff_coefficient=2.0,
            maximum_interval=timedelta(minutes=1),
            maximum_attempts=self.attempts,
            non_retryable_error_types=list(NEEDS_OPERATOR),
        )


MECHANICAL = Policy(timedelta(minutes=10), timedelta(minutes=40), attempts=5)
"""Indexing, pooling, publishing: no model, cheap to repeat."""

THINKING = Policy(timedelta(minutes=15), timedelta(minutes=60), attempts=6)
"""Planning, reviewing, verifying, writing, judging."""


def researching(seconds: float) -> Policy:
    """A subagent ends by itself at its soft deadline; the minute above it is for handing over."""
    attempt = timedelta(seconds=seconds + 60)
    return Policy(attempt, 8 * attempt, attempts=6)
